/* aitherion health: what is wrong, with the cause and the mend; once, or again and again. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/nodes.h"
#include "cli/output/health.h"
#include "cli/terminal.h"

enum { WATCH_SECONDS_MAX = 86400 };

struct options {
    const char *watch;
};

/* All that one look reads, and what it found. */
struct look {
    char *path;
    struct ath_machine machine;
    struct ath_document document;
    struct ath_faults faults;
    struct ath_health_facts facts;
    struct ath_health_report report;
};

static void look_free(struct look *look)
{
    ath_health_report_free(&look->report);
    ath_health_facts_free(&look->facts);
    ath_document_free(&look->document);
    ath_faults_free(&look->faults);
    ath_machine_free(&look->machine);
    free(look->path);
}

static int look_at(const struct ath_cli *cli, struct look *look, struct ath_err *err)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    int status = ath_cli_machine(cli, &look->machine, err);
    if (!status)
        status = ath_cli_root(cli, &root, err);
    if (status)
        return status;
    look->path = ath_cli_document_path(cli);
    ath_health_facts_read(root.path ? &root : NULL, &look->machine, &look->facts);
    ath_health_facts_load(&look->facts, look->path, &look->document, &look->faults);
    ath_nodes_look(cli, &look->facts, &look->facts.runtimes);
    ath_health_run(&look->facts, &look->report);
    return 0;
}

static int exit_code(const struct look *look)
{
    return ath_health_has_faults(&look->report)  ? ATH_EXIT_FAULTS
           : ath_health_is_unsure(&look->report) ? ATH_EXIT_UNSURE
                                                 : ATH_EXIT_DONE;
}

static struct ath_health_output output_of(const struct ath_cli *cli, const struct look *look)
{
    bool is_verbose = cli->globals.verbosity > 0;
    return (struct ath_health_output){ .facts = &look->facts,
                                       .report = &look->report,
                                       .globals = &cli->globals,
                                       .shows_nodes = is_verbose,
                                       .shows_fine = is_verbose };
}

static int run_once(const struct ath_cli *cli, struct ath_err *err)
{
    struct look look __attribute__((cleanup(look_free))) = { 0 };
    int status = look_at(cli, &look, err);
    if (status)
        return status;
    struct ath_health_output output = output_of(cli, &look);
    status = ath_cli_show(cli, &ath_health_view, &output, ath_cli_format(cli), err);
    return status ? status : exit_code(&look);
}

/* ---- again and again ---- */

struct watch {
    const struct ath_cli *cli;
    int seconds;
    bool is_redrawn; /* on a terminal the old text is written over */
    sigset_t signals;
    char *last; /* what was shown, as data: what changed is told by it */
    int code;   /* of the last look */
};

static void watch_free(struct watch *watch)
{
    free(watch->last);
}

static int make(const struct watch *watch, const struct ath_health_output *output, char **out,
                struct ath_err *err)
{
    enum ath_format format = ath_cli_format(watch->cli);
    ath_auto_free char *text = NULL;
    size_t length = 0;

    if (format == ATH_FORMAT_JSON) { /* a line each, for programs that read line by line */
        *out = ath_health_to_line(output);
        return 0;
    }
    int status =
        ath_output_make(&ath_health_view, output, format, &watch->cli->style, &text, &length, err);
    if (status)
        return status;
    *out = format == ATH_FORMAT_YAML ? ath_xasprintf("---\n%s", text) : ath_steal(&text);
    return 0;
}

/* As many lines as fit: what matters most stands first. */
static size_t visible_length(const char *text, int rows)
{
    const char *at = text;
    for (; rows > 0 && *at; rows--)
        at += strcspn(at, "\n") + 1;
    return (size_t)(at - text);
}

static void redraw(const struct watch *watch, const char *text)
{
    char now[16];
    time_t seconds = time(NULL);
    struct tm local;
    int rows = ath_terminal_rows();
    size_t length = rows ? visible_length(text, rows > 2 ? rows - 2 : 1) : strlen(text);

    strftime(now, sizeof now, "%H:%M:%S", localtime_r(&seconds, &local));
    printf("\033[H\033[2J%.*s%s", (int)length, text, text[length] ? "...\n" : "");
    printf(_("%s, every %d s; Ctrl-C ends"), now, watch->seconds);
}

/* Only what differs from the last time, but on a terminal always: it shows that we are alive. */
static int show(struct watch *watch, const struct ath_health_output *output, struct ath_err *err)
{
    ath_auto_free char *state = ath_health_to_line(output);
    ath_auto_free char *text = NULL;
    bool is_first = !watch->last, is_changed = is_first || strcmp(state, watch->last) != 0;

    if (!is_changed && !watch->is_redrawn)
        return 0;
    int status = make(watch, output, &text, err);
    if (status)
        return status;
    free(watch->last);
    watch->last = ath_steal(&state);
    if (watch->is_redrawn)
        redraw(watch, text);
    else
        printf("%s%s", is_first || ath_cli_format(watch->cli) != ATH_FORMAT_TEXT ? "" : "\n", text);
    if (fflush(stdout) || ferror(stdout))
        return ath_err_system(err, -EIO, _("cannot write to standard output"));
    return 0;
}

static int watch_once(struct watch *watch, struct ath_err *err)
{
    struct look look __attribute__((cleanup(look_free))) = { 0 };
    int status = look_at(watch->cli, &look, err);
    if (status)
        return status;
    struct ath_health_output output = output_of(watch->cli, &look);
    watch->code = exit_code(&look);
    return show(watch, &output, err);
}

/* Signals are blocked and only taken while waiting, so that a look is never torn. A size that
 * changed is drawn at once. */
static bool wait_ends(const struct watch *watch)
{
    const struct timespec time = { .tv_sec = watch->seconds };
    int number = sigtimedwait(&watch->signals, NULL, &time);
    return number > 0 && number != SIGWINCH;
}

/* Those that whoever started us wants ignored (nohup, a shell's "&") stay so. */
static void take_signals(sigset_t *out)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };

    sigemptyset(out);
    for (size_t i = 0; i < ATH_COUNT(numbers); i++) {
        struct sigaction action;
        if (!sigaction(numbers[i], NULL, &action) && action.sa_handler != SIG_IGN)
            sigaddset(out, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, out, NULL);
}

static int run_watch(struct ath_cli *cli, int seconds, struct ath_err *err)
{
    struct watch watch __attribute__((cleanup(watch_free))) = {
        .cli = cli,
        .seconds = seconds,
        .is_redrawn = ath_cli_format(cli) == ATH_FORMAT_TEXT && ath_terminal_can_redraw(),
    };
    int status;

    take_signals(&watch.signals);
    do {
        if (watch.is_redrawn)
            cli->style.columns = ath_terminal_columns();
        status = watch_once(&watch, err);
    } while (!status && !wait_ends(&watch));
    if (watch.is_redrawn)
        putchar('\n');
    return status ? status : watch.code;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    int seconds;

    if (!options->watch)
        return run_once(cli, err);
    if (!ath_parse_int(options->watch, 1, WATCH_SECONDS_MAX, &seconds))
        return run_watch(cli, seconds, err);
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no value for '--%s'"), options->watch,
                "watch");
    return ath_err_hint(err, -EINVAL, _("a whole number from %d to %d"), 1, WATCH_SECONDS_MAX);
}

static const struct ath_option option_table[] = {
    { .name = "watch",
      .type = ATH_OPTION_TEXT,
      .metavar = "S",
      .offset = offsetof(struct options, watch),
      .help =
          N_("look again every S seconds, until stopped; elsewhere than on a terminal only what "
             "changed is printed, with --json a line each time") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion health", N_("what is wrong, worst first") },
    { "aitherion health -v", N_("the state of each NUMA entry, and what is fine, too") },
    { "aitherion health --watch 5", N_("look again every five seconds") },
    { "aitherion health --json", N_("all checks, as data") },
    { .command = NULL },
};

const struct ath_command ath_command_health = {
    .name = "health",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("check everything, and say what is wrong and what mends it"),
    .description = N_(
        "Checks the document, and what it names: NUMA nodes, GPUs and their memory, interfaces "
        "and their addresses, RDMA devices and their GIDs, macvlans. Each fault is said with its "
        "cause and the command that mends it, the worst first. Changes nothing.\n\n"
        "Exit code 0: all is well, warnings aside. 3: there are faults. 4: there are none, but "
        "something could not be told; root sees more than others (links in the network "
        "namespaces of containers), and a live machine tells more than a capture."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
