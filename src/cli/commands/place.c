/*
 * aitherion place: chooses the best GPUs for a job, with CPUs, memory and network ports, and runs a
 * program on them. The process becomes the program.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bind.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/measured.h"
#include "cli/output/machine/placed.h"
#include "cli/placing.h"
#include "cli/program.h"
#include "cli/report.h"
#include "cli/save.h"

/* As `aitherion run` has them. */
enum { EXIT_CANNOT_PLACE = 125, EXIT_CANNOT_RUN = 126, EXIT_NO_PROGRAM = 127 };

enum { MOST_GPUS = 65536 };

struct options {
    struct ath_save_options save;
    const char *groups, *near, *free_gpus, *avoided, *cpus;
    int policy;
    bool binds_memory;
};

struct work {
    struct ath_cli *cli;
    const struct options *options;
    struct ath_machine machine;
    struct ath_placing_request request;
    struct ath_placing placing;
    enum ath_format format;
};

static void work_free(struct work *work)
{
    ath_placing_free(&work->placing);
    ath_machine_free(&work->machine);
}

/* ---- reading the command line ---- */

/* Reads a number from 1 up. what: "--groups", or "K". */
static int read_number(const char *text, const char *what, size_t *out, struct ath_err *err)
{
    int value;
    if (ath_parse_int(text, 1, MOST_GPUS, &value)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no number for %s"), text, what);
        return ath_err_hint(err, -EINVAL, _("give a number from 1 to %d"), MOST_GPUS);
    }
    *out = (size_t)value;
    return 0;
}

static int read_request(struct work *work, struct ath_err *err)
{
    const struct options *options = work->options;
    struct ath_placing_request *request = &work->request;

    *request = (struct ath_placing_request){ .group_count = 1,
                                             .policy = (enum ath_place_policy)options->policy,
                                             .near = options->near,
                                             .free_gpus = options->free_gpus,
                                             .avoided = options->avoided,
                                             .binds_memory = options->binds_memory };
    int status = read_number(work->cli->arguments[0], "K", &request->size, err);
    if (!status && options->groups)
        status = read_number(options->groups, "--groups", &request->group_count, err);
    if (!status && options->cpus)
        status = read_number(options->cpus, "--cpus", &request->cpu_count, err);
    return status;
}

static bool has_program(const struct work *work)
{
    return work->cli->argument_count > 1;
}

static int check_program(const struct work *work, struct ath_err *err)
{
    const struct ath_save_options *save = &work->options->save;
    if (has_program(work) && (save->output || save->format) && !work->cli->globals.is_dry_run) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' and a program to run exclude each other"),
                    save->output ? "-o" : "--format");
        return ath_err_hint(err, -EINVAL, _("show or draw the choice by a command of its own"));
    }
    if (!has_program(work) || work->request.group_count == 1)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' can run on one group, and --groups chooses %zu"),
                work->cli->arguments[1], work->request.group_count);
    return ath_err_hint(err, -EINVAL, _("start a program with the command of each group"));
}

/* ---- running ---- */

/* A captured machine may be this one, or have the same CPUs: others cannot be used here. */
static int check_cpus(const struct ath_place_group *group, struct ath_err *err)
{
    ATH_AUTO(ath_idset) allowed = { 0 }, lacking = { 0 };

    if (ath_bind_allowed(&allowed))
        return 0;
    ath_idset_subtract(&group->cpus.cpus, &allowed, &lacking);
    if (!lacking.range_count)
        return 0;
    ath_auto_free char *cpus = ath_idset_format(&lacking);
    ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                _("the choice has CPUs that this process may not use: %s"), cpus);
    return ath_err_hint(err, -EINVAL,
                        _("without --root and --topology, place chooses for this machine"));
}

/* Docker's filter of system calls forbids memory policies (set_mempolicy(2)), and a kernel may lack
 * them. A program that only prefers a node runs without. */
static int bind_memory(const struct ath_place_group *group, struct ath_err *err)
{
    int status = ath_bind_memory(group->memory_policy, &group->policy_nodes);
    bool is_refused = status == -EPERM || status == -ENOSYS;

    if (!status)
        return 0;
    if (is_refused && group->memory_policy != ATH_MEMORY_BIND) {
        ath_log(ATH_LOG_NORMAL, _("warning: the system allows no memory policy: memory comes from "
                                  "any NUMA node"));
        return 0;
    }
    return ath_err_system(err, status, _("cannot set the memory policy of the choice"));
}

static int bind_to(const struct ath_place_group *group, struct ath_err *err)
{
    int status = check_cpus(group, err);
    if (status)
        return status;
    if (!group->variables[0].name || strncmp(group->variables[0].name, "CUDA", 4) != 0)
        return ath_err_set(err, -ENOTSUP, ATH_E_UNSUPPORTED,
                           _("no variable limits a program to GPUs of this vendor"));
    for (size_t i = 0; group->variables[i].name; i++)
        setenv(group->variables[i].name, group->variables[i].value, true);
    status = ath_bind_cpus(&group->cpus.cpus);
    if (status)
        return ath_err_system(err, status, _("cannot bind to the CPUs of the choice"));
    return group->word_count ? bind_memory(group, err) : 0;
}

static int become(const struct work *work)
{
    size_t count = work->cli->argument_count - 1;
    ath_auto_free const char **words = ath_xalloc((count + 1) * sizeof *words);
    struct ath_err err = { 0 };

    memcpy(words, work->cli->arguments + 1, count * sizeof *words);
    execvp(words[0], (char *const *)words);
    bool is_there = ath_program_refused(words[0], errno, &err);
    ath_report_error(work->cli, &err);
    return is_there ? EXIT_CANNOT_RUN : EXIT_NO_PROGRAM;
}

/* Prints an error of a program's start, and returns its exit code. Other errors are left to
 * main(). */
static int give_up(const struct work *work, int status, const struct ath_err *err)
{
    if (err->code == ATH_E_USAGE || !has_program(work) || work->cli->globals.is_dry_run)
        return status;
    ath_report_error(work->cli, err);
    return EXIT_CANNOT_PLACE;
}

static int show(struct work *work, struct ath_err *err)
{
    struct ath_place_report report = ath_placing_report(&work->placing);
    report.program = work->cli->arguments + 1;
    report.program_word_count = work->cli->argument_count - 1;
    struct ath_view view = ath_place_view;
    view.pictures = ath_placed_pictures;
    view.picture_count = ATH_PLACED_PICTURES;
    return ath_save_output(work->cli, &work->options->save, &view, &report, work->format, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(work) work = { .cli = cli, .options = data };
    int status = read_request(&work, err);

    if (!status)
        status = ath_save_format(cli, &work.options->save, &work.format, err);
    if (!status)
        status = check_program(&work, err);
    if (!status)
        status = ath_cli_machine(cli, &work.machine, err);
    if (!status)
        status = ath_placing_read_cores(cli, &work.machine, err);
    if (!status)
        status = ath_placing_make(&work.machine, &work.request, &work.placing, err);
    if (status)
        return give_up(&work, status, err);
    ath_measured_note(&work.machine);
    if (!has_program(&work) || cli->globals.is_dry_run)
        return show(&work, err);
    status = bind_to(&work.placing.groups[0], err);
    return status ? give_up(&work, status, err) : become(&work);
}

static const struct ath_argument arguments[] = {
    { .name = "K", .help = N_("how many GPUs") },
    { .name = "PROGRAM",
      .help = N_("after --: the program to run on the GPUs, and its arguments"),
      .is_optional = true,
      .is_repeated = true,
      .completion = ATH_COMPLETE_PROGRAM },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "groups",
      .type = ATH_OPTION_TEXT,
      .metavar = "G",
      .offset = offsetof(struct options, groups),
      .help = N_("choose G groups of K GPUs; the worst group is as good as possible") },
    { .name = "policy",
      .type = ATH_OPTION_CHOICE,
      .choices = ath_place_policies,
      .offset = offsetof(struct options, policy),
      .help = N_("best-effort (the default): any GPUs; restricted: on as few NUMA nodes as K GPUs "
                 "need on the whole machine; single-numa: on one NUMA node; none: the first free "
                 "GPUs") },
    { .name = "near",
      .type = ATH_OPTION_TEXT,
      .metavar = "PORT",
      .completion = ATH_COMPLETE_INTERFACE,
      .offset = offsetof(struct options, near),
      .help = N_("take GPUs as near as possible to this network port: a link, an RDMA device or a "
                 "PCI address") },
    { .name = "free",
      .type = ATH_OPTION_TEXT,
      .metavar = "GPU,...",
      .completion = ATH_COMPLETE_GPUS,
      .offset = offsetof(struct options, free_gpus),
      .help = N_("only these GPUs are free: numbers, PCI addresses or UUIDs (default: all)") },
    { .name = "avoid",
      .type = ATH_OPTION_TEXT,
      .metavar = "GPU,...",
      .completion = ATH_COMPLETE_GPUS,
      .offset = offsetof(struct options, avoided),
      .help = N_("these GPUs are not free") },
    { .name = "cpus",
      .type = ATH_OPTION_TEXT,
      .metavar = "N",
      .offset = offsetof(struct options, cpus),
      .help = N_("so many CPUs for each group, whole cores first (default: all CPUs of the GPUs' "
                 "NUMA nodes)") },
    { .name = "membind",
      .offset = offsetof(struct options, binds_memory),
      .help = N_("take memory from the GPUs' NUMA nodes only, and fail if they are full; by "
                 "default they are preferred") },
    ATH_SAVE_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion place 2", N_("show the best two GPUs of this machine") },
    { "aitherion place 2 -- python3 train.py", N_("run a program on them") },
    { "aitherion place 2 --root ac922-4gpu", N_("the best two of an AC922") },
    { "aitherion place 4 --groups 2 --json", N_("two groups of four, as data for programs") },
    { "aitherion place 4 -o placed.svg", N_("draw the machine with the best four GPUs marked") },
    { "aitherion place 1 --avoid 0 --near mlx5_0",
      N_("the GPU nearest to a port, when GPU0 is taken") },
    { .command = NULL },
};

const struct ath_command ath_command_place = {
    .name = "place",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("choose the best GPUs for a job, with CPUs, memory and network ports"),
    .description =
        N_("Chooses K of the free GPUs by an exact search, not by guessing. Sets are compared by "
           "the slowest link of the best ring through all their GPUs, because collective "
           "operations are as fast as that; then by the sum over their pairs; then by the sum over "
           "the GPUs that stay free, so that a small job does not break up what a larger one "
           "needs; then fewer NUMA nodes and lower numbers win. Bandwidths are those of one "
           "direction. An unknown "
           "bandwidth counts less than any known one, and the answer says so.\n\n"
           "The answer names the GPUs, their NUMA nodes, CPUs (one thread of each core before the "
           "second ones), the nearest network ports, the environment and the command that bind a "
           "program, the reasons, and the next best choice.\n\n"
           "With `-- PROGRAM` the command binds itself in this way and becomes the program: it "
           "sets CUDA_VISIBLE_DEVICES (by UUID, or by number with CUDA_DEVICE_ORDER if UUIDs are "
           "not known) and NCCL_IB_HCA, the CPUs, and the memory policy. Memory is preferred from "
           "a single NUMA node; on several nodes each page comes from the node of the CPU that "
           "touches it first. The exit code is the program's; 125 if there is no such choice, 126 "
           "if the program cannot be run, and 127 if it does not exist.\n\n"
           "Up to 20 free GPUs the answer is always exact. With more GPUs the search ends after a "
           "fixed number of steps; then the answer says that it may not be the best, and how good "
           "a better one could be at most.\n\n"
           "The command does not see which GPUs other programs use: name them with --avoid, or the "
           "free ones with --free."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
