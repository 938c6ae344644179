/* aitherion export: this machine, or a cluster, in the files of other programs. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/clusters.h"
#include "cli/commands/commands.h"
#include "cli/output/export.h"
#include "cli/output/json_yaml.h"
#include "cli/placing.h"
#include "cluster/export/export.h"

enum { GPUS_MAX = 1 << 22 };

static const char default_image[] = "nvidia/cuda:12.4.1-base-ubuntu22.04";
static const uint64_t default_reserved = (uint64_t)1 << 30;

struct options {
    struct ath_cluster_options cluster;
    const char *gpus, *image, *reserved, *folder;
};

struct work {
    struct ath_cli *cli;
    const struct options *options;
    const struct ath_export_kind *kind;
    struct ath_cluster cluster;
    struct ath_export_request request;
    struct ath_export export;
    struct ath_exported exported;
};

static void work_free(struct work *work)
{
    ath_exported_free(&work->exported);
    ath_export_free(&work->export);
    ath_cluster_free(&work->cluster);
}

/* ---- the command line ---- */

static int refuse_option(const struct work *work, const char *option, struct ath_err *err)
{
    return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("%s has no meaning for '%s'"), option,
                       work->kind->name);
}

static int read_gpus(struct work *work, struct ath_err *err)
{
    const struct options *options = work->options;
    int value;

    if (!work->kind->takes_gpus)
        return options->gpus    ? refuse_option(work, "--gpus", err)
               : options->image ? refuse_option(work, "--image", err)
                                : 0;
    work->request.image = options->image ? options->image : default_image;
    if (options->gpus && !ath_parse_int(options->gpus, 1, GPUS_MAX, &value)) {
        work->request.gpus = (size_t)value;
        return 0;
    }
    if (options->gpus)
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no number for --gpus"), options->gpus);
    else
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the number of GPUs is missing"));
    return ath_err_hint(err, -EINVAL, "aitherion export %s --gpus 2", work->kind->name);
}

static int read_reserved(struct work *work, struct ath_err *err)
{
    const char *text = work->options->reserved;

    work->request.reserved_bytes = default_reserved;
    if (!text)
        return 0;
    if (!work->kind->takes_reserved)
        return refuse_option(work, "--reserved", err);
    if (!ath_parse_size(text, &work->request.reserved_bytes) && work->request.reserved_bytes)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no size for --reserved"), text);
    return ath_err_hint(err, -EINVAL, "--reserved 1G");
}

static int read_words(struct work *work, struct ath_err *err)
{
    work->kind = ath_export_kinds;
    while (strcmp(work->kind->name, work->cli->arguments[0]) != 0)
        work->kind++; /* the words of the argument are those of the table */
    int status = read_gpus(work, err);
    if (!status)
        status = read_reserved(work, err);
    if (!status && work->options->cluster.path &&
        (work->cli->globals.root || work->cli->globals.topology))
        status = ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' and '%s' exclude each other"),
                             "--cluster", work->cli->globals.root ? "--root" : "--topology");
    return status;
}

/* ---- reading ---- */

/* Makes a cluster of one machine. */
static int read_machine(struct work *work, struct ath_err *err)
{
    struct ath_machine machine = { 0 };
    const struct ath_idset busy = { 0 };

    int status = ath_cli_machine(work->cli, &machine, err);
    if (!status)
        status = ath_placing_read_cores(work->cli, &machine, err);
    if (status) {
        ath_machine_free(&machine);
        return status;
    }
    const char *name = machine.hostname && *machine.hostname ? machine.hostname : "localhost";
    size_t index = ath_cluster_add_node(&work->cluster, name);
    struct ath_cluster_node *node = &work->cluster.nodes[index];
    node->machine = ath_cluster_add_machine(&work->cluster, &machine);
    node->shape = ath_cluster_add_shape(&work->cluster, node->machine, &busy);
    work->request.is_machine = true;
    return ath_cluster_finish(&work->cluster, err);
}

/* ---- writing ---- */

static int content_of(const struct ath_export_file *file, char **out, struct ath_err *err)
{
    size_t length = 0;

    if (file->text) {
        *out = ath_xstrdup(file->text);
        return 0;
    }
    if (file->is_json) {
        ath_auto_free char *json = json_dumps(file->value, JSON_INDENT(2));
        *out = ath_xasprintf("%s\n", json ? json : "");
        return 0;
    }
    FILE *stream = open_memstream(out, &length);
    if (!stream)
        return ath_err_system(err, -errno, _("cannot write '%s'"), file->name);
    int status = ath_json_write_yaml(file->value, stream, err);
    return fclose(stream) && !status
               ? ath_err_system(err, -errno, _("cannot write '%s'"), file->name)
               : status;
}

static int fill(struct work *work, struct ath_err *err)
{
    int status = 0;

    for (size_t i = 0; !status && i < work->export.count; i++) {
        const struct ath_export_file *file = &work->export.files[i];
        struct ath_exported_file *shown =
            ath_push(&work->exported.files, &work->exported.count, sizeof *shown);
        shown->name = ath_xstrdup(file->name);
        status = content_of(file, &shown->content, err);
    }
    return status;
}

static int save(struct work *work, struct ath_err *err)
{
    const char *folder = work->options->folder;
    int status = 0;

    work->exported.folder = folder;
    work->exported.is_dry_run = work->cli->globals.is_dry_run;
    if (!folder || work->exported.is_dry_run)
        return 0;
    if (mkdir(folder, 0755) && errno != EEXIST)
        return ath_err_system(err, -errno, _("cannot make the folder '%s'"), folder);
    for (size_t i = 0; !status && i < work->exported.count; i++) {
        const struct ath_exported_file *file = &work->exported.files[i];
        ath_auto_free char *path = ath_xasprintf("%s/%s", folder, file->name);
        status = ath_file_save(path, file->content, strlen(file->content), err);
    }
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(work) work = { .cli = cli, .options = data };

    int status = read_words(&work, err);
    if (!status)
        status = work.options->cluster.path
                     ? ath_cli_cluster(cli, &work.options->cluster, &work.cluster, err)
                     : read_machine(&work, err);
    work.request.cluster = &work.cluster;
    if (!status)
        status = ath_export_make(work.kind, &work.request, &work.export, err);
    if (!status)
        status = fill(&work, err);
    if (!status)
        status = save(&work, err);
    if (status)
        return status;
    return work.options->folder
               ? ath_cli_show_done(cli, &ath_export_view, &work.exported, err)
               : ath_cli_show(cli, &ath_export_view, &work.exported, ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "KIND",
      .help = N_("what to write: labels, a configmap, a part of kubelet's configuration, a pod, "
                 "slurm's files, a NodeResourceTopology (nrt), a resourceslice, a hypernode for "
                 "each switch (Volcano), topograph's model"),
      .choices = ath_export_words,
      .unknown = N_("unknown kind of export") },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "cluster",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, cluster.path),
      .help = N_(
          "a description of a cluster, as for 'aitherion cluster' (default: this machine alone)") },
    { .name = "gpus",
      .type = ATH_OPTION_TEXT,
      .metavar = "K",
      .offset = offsetof(struct options, gpus),
      .help = N_("pod: how many GPUs") },
    { .name = "image",
      .type = ATH_OPTION_TEXT,
      .metavar = "IMAGE",
      .offset = offsetof(struct options, image),
      .help = N_("pod: the container's image") },
    { .name = "reserved",
      .type = ATH_OPTION_TEXT,
      .metavar = "SIZE",
      .offset = offsetof(struct options, reserved),
      .help = N_("kubelet: memory that each NUMA node keeps for the system (default: 1G)") },
    { .name = "output",
      .letter = 'o',
      .type = ATH_OPTION_TEXT,
      .metavar = "FOLDER",
      .completion = ATH_COMPLETE_FOLDER,
      .offset = offsetof(struct options, folder),
      .help = N_("write the files into FOLDER; each is replaced completely or not at all") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion export labels | kubectl apply --server-side -f -", N_("label this node") },
    { "aitherion export slurm --root ac922-4gpu", N_("Slurm's files for an AC922") },
    { "aitherion export slurm --cluster cluster.yaml -o slurm", N_("and for a whole cluster") },
    { "aitherion export pod --gpus 2", N_("a pod for two GPUs of this machine") },
    { .command = NULL },
};

const struct ath_command ath_command_export = {
    .name = "export",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("write this machine or a cluster for Kubernetes, Slurm, Volcano or topograph"),
    .description =
        N_("Writes what is known of this machine, or of a cluster, in the form of another program. "
           "Nothing is sent and nothing is changed.\n\n"
           "The command refuses KIND kubelet, with the reason, if kubelet could not use the "
           "result: kubelet knows NUMA nodes only up to number 63 (an AC922 has 252 to 255), and "
           "its reserved memory must add up.\n\n"
           "Unknown facts are left out, never guessed. For Slurm, each NUMA node is written as a "
           "socket and GPU N as /dev/nvidiaN: compare with `slurmd -C` and `nvidia-smi -q`."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
