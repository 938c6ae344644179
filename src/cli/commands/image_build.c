/* aitherion image build: packs the runtime with its libraries into an image, for Docker or as a
 * file. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/image_docker.h"
#include "cli/output/image.h"
#include "cli/watch.h"
#include "config/forms.h"
#include "container/image/load.h"
#include "container/plan/plan.h"

struct options {
    const char *tag, *output, *runtime, *sysroot;
};

static bool is_standard_output(const struct options *options)
{
    return options->output && !strcmp(options->output, "-");
}

static int check_options(const struct ath_cli *cli, const struct options *options,
                         struct ath_err *err)
{
    if (options->tag &&
        (!ath_form_fits(ATH_FORM_IMAGE, options->tag) || strchr(options->tag, '@'))) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--tag'"), options->tag);
        return ath_err_hint(err, -EINVAL, "%s", _(ath_form_allowed(ATH_FORM_IMAGE)));
    }
    if (!is_standard_output(options) || cli->globals.is_dry_run)
        return 0;
    if (ath_cli_format(cli) != ATH_FORMAT_TEXT)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("the archive and the result cannot both go to standard output"));
    if (isatty(STDOUT_FILENO)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("an archive cannot be written to a terminal"));
        return ath_err_hint(err, -EINVAL, "aitherion image build -o - | ssh HOST docker load");
    }
    return 0;
}

/* Docker needs the repository name in lower case, and would refuse it only at the end. The
 * registry's host before it and the tag after it may have capitals (distribution/reference). */
static int check_name(const char *name, struct ath_err *err)
{
    const char *slash = strchr(name, '/'), *last = strrchr(name, '/');
    size_t first = slash ? (size_t)(slash - name) : 0;
    bool has_host = slash && (strcspn(name, ".:") < first || ath_starts_with(name, "localhost/"));
    const char *repository = has_host ? slash + 1 : name;
    const char *end = strchr(last ? last : name, ':');
    ath_auto_free char *lower = ath_xstrdup(name);
    bool has_capitals = false;

    for (const char *c = repository; *c && c != end; c++) {
        has_capitals |= *c >= 'A' && *c <= 'Z';
        lower[c - name] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
    if (!has_capitals)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("invalid image name '%s': Docker needs it in lower case"), name);
    return ath_err_hint(err, -EINVAL, "aitherion image build --tag %s", lower);
}

/* Warns about a program that is not the runtime: containers with it would start and not serve. */
static void doubt_program(const struct ath_cli *cli, const char *path)
{
    enum { MOST_BYTES = 64 << 20 };
    ath_auto_free char *bytes = NULL;
    size_t length;

    if (!path || ath_file_read(path, MOST_BYTES, &bytes, &length, NULL) ||
        memmem(bytes, length, ATH_PLAN_RUNTIME, strlen(ATH_PLAN_RUNTIME)))
        return;
    ath_log(ath_cli_format(cli) == ATH_FORMAT_TEXT ? ATH_LOG_NORMAL : ATH_LOG_VERBOSE,
            _("'%s' does not look like %s: containers of this image will not serve"), path,
            ATH_PLAN_RUNTIME);
}

static int load(const struct ath_cli *cli, const struct ath_document *document,
                const struct ath_image_watch *watch, struct ath_image_report *report,
                struct ath_err *err)
{
    ath_auto_docker struct ath_docker *docker = NULL;
    bool is_current = false;

    int status = ath_image_docker(document, &docker, err);
    if (status)
        return status;
    report->docker = ath_xstrdup(ath_docker_where(docker));
    status = ath_image_is_current(docker, report->image, &is_current, err);
    report->outcome = is_current ? ATH_IMAGE_CURRENT : ATH_IMAGE_LOADED;
    if (status || is_current || cli->globals.is_dry_run)
        return status;
    return ath_image_load(docker, report->image, watch, err);
}

static int save(const struct ath_cli *cli, const struct options *options,
                const struct ath_image_watch *watch, struct ath_image_report *report,
                struct ath_err *err)
{
    report->file = options->output;
    report->outcome = ATH_IMAGE_SAVED;
    ath_stop_catch();
    return cli->globals.is_dry_run ? 0 : ath_image_save(report->image, options->output, watch, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_document) document = { 0 };
    ath_auto_image struct ath_image *image = NULL;
    ATH_AUTO(ath_image_report) report = { .is_dry_run = cli->globals.is_dry_run };
    struct ath_image_bar bar = { .bar = ath_cli_bar(cli), .is_file = options->output };
    const struct ath_image_watch watch = { .progress = ath_image_bar_show,
                                           .is_stopped = ath_stop_is_wanted,
                                           .context = &bar };

    int status = check_options(cli, options, err);
    if (!status)
        status = ath_image_document(cli, &document, err);
    if (status)
        return status;
    const struct ath_image_recipe recipe = { .program = options->runtime,
                                             .root = options->sysroot,
                                             .tag = ath_image_name(options->tag, &document) };
    status = check_name(recipe.tag, err);
    if (!status)
        status = ath_image_make(&recipe, &image, err);
    if (status)
        return status;
    doubt_program(cli, options->runtime);
    report.image = image;
    status = options->output ? save(cli, options, &watch, &report, err)
                             : load(cli, &document, &watch, &report, err);
    ath_bar_end(&bar.bar);
    if (status || (is_standard_output(options) && !cli->globals.is_dry_run))
        return status;
    return ath_cli_show_done(cli, &ath_image_build_view, &report, err);
}

static const struct ath_option option_table[] = {
    { .name = "tag",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .completion = ATH_COMPLETE_IMAGE,
      .offset = offsetof(struct options, tag),
      .help = N_("name of the image (default: engine.image of the document, else "
                 "aitherion-runtime:latest)") },
    { .name = "output",
      .letter = 'o',
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, output),
      .help = N_("write an archive for `docker load` instead of loading it into Docker; -: to "
                 "standard output") },
    { .name = "runtime",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, runtime),
      .help = N_("program to pack (default: the aitherion-runtime beside this aitherion)") },
    { .name = "sysroot",
      .type = ATH_OPTION_TEXT,
      .metavar = "DIR",
      .completion = ATH_COMPLETE_FOLDER,
      .offset = offsetof(struct options, sysroot),
      .help = N_("folder of its libraries (default: /), for a runtime of another architecture") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion image build", N_("load it into Docker; does nothing if Docker has it already") },
    { "aitherion image build --dry-run", N_("show what it would contain") },
    { "aitherion image build -o image.tar", N_("write a file, for: docker load -i image.tar") },
    { "aitherion image build -o - | ssh node2 docker load", N_("send it to another machine") },
    { .command = NULL },
};

const struct ath_command ath_command_image_build = {
    .name = "build",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("pack the runtime into an image, without a registry"),
    .description = N_(
        "Packs aitherion-runtime, its loader and the shared libraries that it needs, with a "
        "minimal /etc and without a shell, and loads the result into Docker. The libraries are "
        "found by reading the ELF files. The GPU driver's libraries are left out: they must have "
        "the version of the kernel module, so they come from the host when a container starts.\n\n"
        "The same files give the same image, so a second build does nothing. An older image that "
        "loses its name to the new one is removed, unless a container uses it."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
