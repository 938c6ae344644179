/*
 * aitherion run: runs a program with aitherion's libcuda.so.1 and libnvidia-ml.so.1 in front of any
 * others, and passes it the address of its server. The process becomes the program.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/time_claim.h"
#include "cli/commands/commands.h"
#include "cli/commands/run_docker.h"
#include "cli/commands/run_gpus.h"
#include "cli/commands/run_work.h"
#include "cli/program.h"
#include "cli/reach.h"
#include "cli/report.h"
#include "remote/session/open.h"

/* Like the exit codes of shells and env(1), which programs avoid. */
enum {
    EXIT_KEY_REFUSED = 124,
    EXIT_NO_RUNTIME = 125,
    EXIT_CANNOT_RUN = 126,
    EXIT_NO_PROGRAM = 127
};

/* Returns the level of messages that the program gets; NULL: what the environment says. A variable
 * that is set counts more than -v, because it was set for the program. */
static const char *program_log_level(const struct ath_globals *globals)
{
    bool is_set = ath_client_variable(ATH_LEVEL_VARIABLE) || ath_client_variable("AITHERION_LOG");
    if (globals->log_level || is_set || !globals->verbosity)
        return globals->log_level;
    return ath_level_names[globals->verbosity > 1 ? ATH_LEVEL_DEBUG : ATH_LEVEL_INFO];
}

static void report_on(const struct ath_run_work *work, struct ath_run_report *out)
{
    const char *level = program_log_level(&work->cli->globals);
    size_t count = 0;
    *out = (struct ath_run_report){ .words = work->cli->arguments,
                                    .word_count = work->cli->argument_count };
#define SET(variable, text)                                                                        \
    do {                                                                                           \
        out->environment[count].name = variable;                                                   \
        out->environment[count++].value = text;                                                    \
    } while (0)
    SET("LD_LIBRARY_PATH", work->libraries);
    SET(work->options->is_local ? "AITHERION_LOCAL" : "AITHERION_SERVER", work->servers);
    if (work->driver)
        SET("AITHERION_DRIVER", work->driver);
    SET("AITHERION_KEY_FILE", work->reach.key);
    if (work->options->reach.key_name)
        SET("AITHERION_KEY_NAME", work->options->reach.key_name);
    if (work->options->transport)
        SET("AITHERION_TRANSPORT", ath_run_transports[work->options->transport]);
    if (work->options->memory)
        SET("AITHERION_MEMORY", work->options->memory);
    if (work->share)
        SET("AITHERION_SHARE", work->share);
    if (work->options->priority)
        SET("AITHERION_PRIORITY", work->options->priority);
    if (work->part)
        SET("AITHERION_SM_SHARE", work->part);
    if (work->options->encrypt)
        SET("AITHERION_ENCRYPT", ath_run_encryptions[work->options->encrypt]);
    if (work->authorities)
        SET("AITHERION_TLS_CA", work->authorities);
    if (level)
        SET(ATH_LEVEL_VARIABLE, level);
#undef SET
}

/* Adds the GPUs that were chosen. */
static void report_on_choice(const struct ath_run_work *work, struct ath_run_report *out)
{
    size_t count = 0;
    while (out->environment[count].name)
        count++;
    out->environment[count].name = "CUDA_VISIBLE_DEVICES";
    out->environment[count].value = work->choice.visible;
    out->choice = &work->choice;
}

static void set_environment(const struct ath_run_report *report)
{
    for (size_t i = 0; i < ATH_RUN_VARIABLES && report->environment[i].name; i++)
        setenv(report->environment[i].name, report->environment[i].value, true);
}

/* Asks the servers for their GPUs and chooses among them. */
static int choose_gpus(struct ath_run_work *work, struct ath_err *err)
{
    ath_auto_free const char **servers = ath_xalloc(work->reach.count * sizeof *servers);

    for (size_t i = 0; i < work->reach.count; i++)
        servers[i] = work->reach.items[i].server;
    return ath_run_gpus_choose(&work->gpus, servers, work->gpu_count,
                               !work->cli->globals.is_dry_run, &work->choice, err);
}

static void warn_of_program(const char *word)
{
    struct ath_err doubt;
    if (!ath_program_doubt(word, &doubt))
        return;
    ath_log(ATH_LOG_NORMAL, _("warning: %s"), doubt.message);
    ath_log(ATH_LOG_NORMAL, "  %s %s", _("hint:"), doubt.hint);
}

static int become(struct ath_run_work *work, const struct ath_run_report *report)
{
    ath_auto_free const char **words = ath_xalloc((report->word_count + 1) * sizeof *words);
    struct ath_err err = { 0 };

    memcpy(words, report->words, report->word_count * sizeof *words);
    execvp(words[0], (char *const *)words);
    bool is_there = ath_program_refused(words[0], errno, &err);
    ath_report_error(work->cli, &err);
    return is_there ? EXIT_CANNOT_RUN : EXIT_NO_PROGRAM;
}

/*
 * Prints an error and returns its exit code. A wrong command line and a dry run are left to main().
 */
static int give_up(const struct ath_run_work *work, int status, const struct ath_err *err)
{
    if (err->code == ATH_E_USAGE || work->cli->globals.is_dry_run)
        return status;
    ath_report_error(work->cli, err);
    return err->code == ATH_E_KEY_REFUSED ? EXIT_KEY_REFUSED : EXIT_NO_RUNTIME;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(ath_run_work) work = { .cli = cli, .options = data };
    struct ath_run_report report;
    int status = ath_run_prepare(&work, err);
    if (status)
        return give_up(&work, status, err);
    report_on(&work, &report);
    bool is_shown = cli->globals.is_dry_run;
    if (!is_shown || work.gpu_count || (work.options->is_local && !work.is_own)) {
        set_environment(&report);
        status = ath_run_check_servers(&work, err);
    }
    if (!status && !work.options->docker)
        status = ath_run_find_driver(&work, err);
    if (!status && work.gpu_count)
        status = choose_gpus(&work, err);
    if (status)
        return give_up(&work, status, err);
    report_on(&work, &report);
    if (work.gpu_count)
        report_on_choice(&work, &report);
    if (work.options->docker) {
        status = ath_run_docker(&work, &report, &work.docker, err);
        report = (struct ath_run_report){ .words = (const char *const *)work.docker.items,
                                          .word_count = work.docker.count,
                                          .choice = report.choice };
    }
    if (status)
        return give_up(&work, status, err);
    if (is_shown)
        return ath_cli_show(cli, &ath_run_view, &report, ath_cli_format(cli), err);
    set_environment(&report);
    if (!work.options->docker)
        warn_of_program(report.words[0]);
    return become(&work, &report);
}

static const struct ath_argument arguments[] = {
    { .name = "PROGRAM",
      .help = N_("the program and its arguments, including its flags"),
      .is_repeated = true,
      .completion = ATH_COMPLETE_PROGRAM },
    { .name = NULL },
};

static const struct ath_option options[] = {
    ATH_REACH_LIST_OPTIONS(struct ath_run_options),
    { .name = "local",
      .type = ATH_OPTION_FLAG,
      .offset = offsetof(struct ath_run_options, is_local),
      .help = N_("use this machine's driver in the program itself, without a network; a runtime "
                 "here counts its memory") },
    { .name = "docker",
      .type = ATH_OPTION_TEXT,
      .choices = ath_run_docker_words,
      .offset = offsetof(struct ath_run_options, docker),
      .help = N_("with --local: let docker begin the program, in a new container (run) or in one "
                 "of `aitherion start` (exec); all words are docker's") },
    { .name = "transport",
      .type = ATH_OPTION_CHOICE,
      .choices = ath_run_transports,
      .offset = offsetof(struct ath_run_options, transport),
      .help =
          N_("how calls travel: shared memory for a unix socket, else TCP, and large data by UDP "
             "where TCP loses segments (auto, the default); udp: calls by TCP, and large data "
             "by UDP if the server takes it") },
    { .name = "gpus",
      .type = ATH_OPTION_TEXT,
      .metavar = "K",
      .offset = offsetof(struct ath_run_options, gpus),
      .help =
          N_("leave the program the best K GPUs of the runtimes, idle ones first (default: all)") },
    { .name = "memory",
      .type = ATH_OPTION_TEXT,
      .metavar = "SIZE|P%",
      .offset = offsetof(struct ath_run_options, memory),
      .help = N_("the most memory of each GPU that each process of the program may have, like 4G "
                 "or 25%; none: as much as the runtime allows") },
    { .name = "share",
      .type = ATH_OPTION_TEXT,
      .metavar = "P",
      .offset = offsetof(struct ath_run_options, share),
      .help =
          N_("the share of the GPUs' time that each process of the program gets while others want "
             "the same GPU, in percent: 1 to 100 (default: what others leave, in equal parts)") },
    { .name = "cap",
      .offset = offsetof(struct ath_run_options, is_capped),
      .help = N_("never more than --share, even if no other program wants the GPU") },
    { .name = "priority",
      .type = ATH_OPTION_TEXT,
      .choices = ath_time_priorities,
      .offset = offsetof(struct ath_run_options, priority),
      .help = N_("which programs go first when several want a GPU: those of a higher priority, "
                 "whatever the shares (default: normal)") },
    { .name = "sm-share",
      .type = ATH_OPTION_TEXT,
      .metavar = "P",
      .offset = offsetof(struct ath_run_options, sm_share),
      .help =
          N_("run each process of the program on a part of each GPU's multiprocessors alone, in "
             "percent: 1 to 100, rounded down to what the driver can divide (default: all)") },
    ATH_REACH_ENCRYPTION_OPTIONS(struct ath_run_options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion run --server 10.0.0.11:50051 -- python3 train.py",
      N_("use the GPUs of another machine") },
    { "aitherion run --numa 0 ./vector_add", N_("use the GPUs of NUMA0 here, by shared memory") },
    { "aitherion run --server 10.0.0.11:50051,10.0.0.12:50051 -- python3 train.py",
      N_("use the GPUs of two machines in one list") },
    { "aitherion run --gpus 2 --server 10.0.0.11:50051 -- python3 train.py",
      N_("use the best two GPUs of another machine") },
    { "aitherion run --memory 4G -- python3 train.py",
      N_("with at most 4 GiB of each GPU, from the first allocation") },
    { "aitherion run --share 25 -- python3 train.py",
      N_("a quarter of a GPU's time while others want it") },
    { "aitherion run --local --memory 4G -- python3 train.py",
      N_("at most 4 GiB of each GPU here, without a network between program and GPU") },
    { "aitherion run --local --docker run -- --gpus all IMAGE python3 train.py",
      N_("the same in a container that docker makes") },
    { "aitherion run --dry-run ./vector_add", N_("only show the environment that it would get") },
    { .command = NULL },
};

const struct ath_command ath_command_run = {
    .name = "run",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("run an unmodified CUDA program with the GPUs of a runtime"),
    .description = N_(
        "Puts aitherion's libcuda.so.1 and libnvidia-ml.so.1 in front of all others on the "
        "program's library path (LD_LIBRARY_PATH), sets the environment variables that name the "
        "runtime (AITHERION_SERVER, AITHERION_KEY_FILE, AITHERION_TRANSPORT, AITHERION_MEMORY, "
        "AITHERION_SHARE, AITHERION_PRIORITY, AITHERION_SM_SHARE, AITHERION_ENCRYPT, "
        "AITHERION_TLS_CA), and becomes the program. First it asks the runtime for its health, "
        "with the same key and timeout (AITHERION_CONNECT_TIMEOUT, 10 seconds): without a runtime "
        "the program is not run. -v shows the runtime and its GPUs. The program's session begins "
        "with its first CUDA call; its child processes can have sessions too.\n\n"
        "Without --server and --numa the program gets the runtime on this machine, if there is "
        "only one. With several runtimes the program sees the GPUs of all in one list, the first "
        "runtime's first; at most 16 runtimes, all with the same key. From another machine it "
        "needs the address that `aitherion status` shows, and the shared key: `aitherion key "
        "--export` there, `aitherion key --import` here.\n\n"
        "--gpus K sets CUDA_VISIBLE_DEVICES to the K GPUs that are linked best, compared as "
        "`aitherion place` does: first by the slowest link of the best ring through them. The "
        "command asks each runtime's NVML for the links, so a runtime far away tells the same as "
        "one on this machine. GPUs that no session uses come first, and are reserved for 20 "
        "seconds: programs that begin at the same moment get different ones. A GPU "
        "with a health score below 50 comes last. If CUDA_VISIBLE_DEVICES is set already, it says "
        "among which GPUs the command chooses. -v and --dry-run show the GPUs and the reason.\n\n"
        "--memory limits the program from its first allocation: each of its processes that uses a "
        "GPU has a session with this limit. The program sees it as the GPU's memory and gets "
        "CUDA's own out-of-memory error beyond it. Contexts and code count, too.\n\n"
        "--share, --cap and --priority divide a GPU's time. A program with --share 25 has the GPU "
        "for a quarter of the time while others want it, and for all of it while no other program "
        "does, except with --cap. Programs without a share divide what is left. While a program "
        "with --priority high has work, others wait. Each process of the program has a session of "
        "its own with this share. The row of the key in `identities` of the document may allow "
        "less; the command then says so.\n\n"
        "--sm-share 25 runs each process of the program on a quarter of a GPU's multiprocessors. "
        "No other program with --sm-share gets these multiprocessors, and the program sees no "
        "others. The option limits the program's speed and divides no time: programs still take "
        "turns. The driver must be for CUDA 12.4 or newer. docs/sharing.md says what differs for "
        "the program.\n\n"
        "--local runs the program with this machine's own driver and GPUs, and aitherion's "
        "libcuda.so.1 in front of it (AITHERION_LOCAL, AITHERION_DRIVER). The runtime on this "
        "machine counts the program's GPU memory, enforces its limits, and lists and ends its "
        "session like any other. If no runtime runs, the command starts one for this user alone, "
        "which ends after the last program. Local mode does not stop a program that opens the "
        "driver itself; only a runtime's server does. If the runtime ends, the program goes on "
        "with the GPU memory that it has and gets no more.\n\n"
        "--docker run gives a container that docker makes the same: aitherion's libraries, the "
        "folder of the runtime's socket and the key are mounted, and the variables set. The image "
        "needs a C library as new as this machine's, and NVIDIA's driver, as --gpus of docker adds "
        "it. --docker exec runs a program in a container of `aitherion start`, whose image has the "
        "libraries. --dry-run shows the command line of docker.\n\n"
        "The command warns about a program that loads no libraries, gains privileges when it "
        "starts, or has its own libcuda.so.1. A script that sets LD_LIBRARY_PATH must keep the "
        "folders that are in it.\n\n"
        "Flags after the program's name belong to the program. The exit code is the program's; 124 "
        "if the runtime has another key, 125 if there is no runtime, 126 if the program cannot be "
        "run, and 127 if it does not exist."),
    .arguments = arguments,
    .options = options,
    .options_size = sizeof(struct ath_run_options),
    .runs_program = true,
    .examples = examples,
    .run = run,
};
