/* aitherion top: a live screen of GPUs, sessions and network ports. */
#include "config.h"

#include <errno.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/top.h"
#include "cli/repeat.h"
#include "cli/top/columns.h"
#include "cli/top/watcher.h"
#include "cli/tui/top.h"

enum { INTERVAL_S = 1, INTERVAL_MOST_S = 3600, ANSWERS = 2 }; /* a rate needs two */

struct options {
    struct ath_reach_options reach;
    const char *interval;
    bool is_once;
    const char *sort;
    bool is_reversed;
    const char *filter;
};

/* The state of all looks of one run. */
struct looking {
    const struct ath_top_order *order;
    struct ath_top top;
    struct ath_watcher *watcher;
};

static void looking_free(struct looking *looking)
{
    ath_watcher_end(looking->watcher);
    ath_top_free(&looking->top);
}

static int read_order(const struct options *options, struct ath_top_order *out, struct ath_err *err)
{
    *out = (struct ath_top_order){ .is_reversed = options->is_reversed, .filter = options->filter };
    return options->sort ? ath_top_sort_parse(options->sort, &out->key, err) : 0;
}

/* Returns whether every server and this host have answered so often, or failed. */
static bool have_answered(const struct ath_top *top, unsigned int answers)
{
    for (size_t i = 0; i < top->server_count; i++)
        if (top->servers[i].answers < answers && !top->servers[i].status)
            return false;
    return top->host.at_ms && top->host_answers >= answers;
}

/* A server that hangs fails by the time limit of its session. */
static void await_answers(struct looking *looking)
{
    struct pollfd input = { .fd = ath_watcher_fd(looking->watcher), .events = POLLIN };

    do
        ath_watcher_take(looking->watcher, &looking->top);
    while (!have_answered(&looking->top, ANSWERS) && (poll(&input, 1, -1) >= 0 || errno == EINTR));
}

/* With one server that is named and does not answer there is nothing to show. */
static int check(const struct looking *looking, const struct ath_repeat *repeat,
                 struct ath_err *err)
{
    const struct ath_top *top = &looking->top;
    if (top->server_count != 1 || !top->servers[0].status || ath_repeat_is_watching(repeat))
        return 0;
    ath_err_copy(err, &top->servers[0].err);
    return top->servers[0].status;
}

static int look(struct ath_cli *cli, const void *data, struct ath_repeat *repeat,
                struct ath_err *err)
{
    struct looking *looking = *(struct looking *const *)data;
    ATH_AUTO(ath_top_report) report = { 0 };
    (void)cli;

    await_answers(looking);
    int status = check(looking, repeat, err);
    if (status)
        return status;
    ath_top_report_make(&looking->top, looking->order, &report);
    return ath_repeat_show(repeat, &ath_top_view, &report, err);
}

static int print(struct ath_cli *cli, const struct options *options,
                 const struct ath_top_order *order, struct ath_reach *reach, int interval_s,
                 struct ath_err *err)
{
    ATH_AUTO(looking) looking = { .order = order };
    struct looking *shared = &looking;
    ath_auto_free char *seconds = ath_xasprintf("%d", interval_s);

    looking.watcher = ath_watcher_start(reach, interval_s * 1000);
    ath_watcher_describe(looking.watcher, &looking.top);
    return ath_repeat_run(cli, options->is_once ? NULL : seconds, look, &shared, err);
}

static int read_interval(const char *text, int *out, struct ath_err *err)
{
    *out = INTERVAL_S;
    if (!text || !ath_parse_int(text, 1, INTERVAL_MOST_S, out))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), text, "interval");
    return ath_err_hint(err, -EINVAL, _("a whole number from %d to %d"), 1, INTERVAL_MOST_S);
}

static int report_no_terminal(struct ath_err *err)
{
    ath_err_set(err, -ENOTTY, ATH_E_NO_TERMINAL,
                _("cannot show a live screen: standard input and output must both be a terminal "
                  "with cursor positioning"));
    return ath_err_hint(err, -ENOTTY, "aitherion top --once, aitherion top --json");
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    struct ath_top_order order;
    bool is_screen = !options->is_once && ath_cli_format(cli) == ATH_FORMAT_TEXT;
    ATH_AUTO(ath_reach) reach = { 0 };
    int interval_s;

    int status = read_interval(options->interval, &interval_s, err);
    if (!status)
        status = read_order(options, &order, err);
    if (!status && is_screen && !ath_screen_is_possible())
        status = report_no_terminal(err);
    if (!status)
        status = ath_reach_open(cli, &options->reach, ATH_REACH_ALL, &reach, err);
    if (status)
        return status;
    return is_screen ? ath_top_show(cli, &options->reach, &reach, interval_s, &order, err)
                     : print(cli, options, &order, &reach, interval_s, err);
}

static const struct ath_option option_table[] = {
    { .name = "interval",
      .letter = 'd',
      .type = ATH_OPTION_TEXT,
      .metavar = "S",
      .offset = offsetof(struct options, interval),
      .help = N_("look every S seconds (default: 1)") },
    { .name = "once",
      .type = ATH_OPTION_FLAG,
      .offset = offsetof(struct options, is_once),
      .help = N_("look twice, print one table or one JSON object, and end") },
    { .name = "sort",
      .type = ATH_OPTION_TEXT,
      .metavar = "COLUMN",
      .offset = offsetof(struct options, sort),
      .suggestions = ath_top_sort_words,
      .help = N_("order of the sessions: busy (default), session, program, key, host, runtime, "
                 "gpu, memory, share, held, queued, time, calls, bytes, wait or age") },
    { .name = "reverse",
      .type = ATH_OPTION_FLAG,
      .offset = offsetof(struct options, is_reversed),
      .help = N_("the smallest first") },
    { .name = "filter",
      .type = ATH_OPTION_TEXT,
      .metavar = "TEXT",
      .offset = offsetof(struct options, filter),
      .help = N_("only sessions whose program, key, host, runtime or number has this text") },
    ATH_REACH_LIST_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion top", N_("of all runtimes on this machine; ? shows the keys") },
    { "aitherion top --server 10.0.0.11:50051,10.0.0.12:50051 -d 2",
      N_("of two machines, every two seconds") },
    { "aitherion top --once --sort memory", N_("one table, most memory first") },
    { "aitherion top --json -d 10", N_("one JSON object in a line every ten seconds") },
    { .command = NULL },
};

const struct ath_command ath_command_top = {
    .name = "top",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("watch GPUs, programs and network ports live"),
    .description =
        N_("Shows a live screen: each GPU with bars of its time and memory, in which each program "
           "has its colour, temperature, power and throughput; the network ports of this host; "
           "and a row for each session with its memory, share of the GPU, GPU time, calls and "
           "bytes in a second. Sorts, filters and searches by key or mouse, ends a session or "
           "limits its memory, share or priority after a question. A runtime that does not answer "
           "holds up no other. "
           "An unknown value is \"?\".\n\n"
           "With --once or --json it prints instead; a rate needs two looks, so the first output "
           "comes after one interval. --json without --once prints one object in each line until "
           "a signal ends it."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
