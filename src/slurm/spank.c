/*
 * A plugin of Slurm (SPANK): --aitherion-remote and other options of srun, sbatch and salloc.
 *
 * srun, sbatch and salloc check the options. On each node slurmstepd asks the servers once for a
 * step, and gives its tasks the environment of `aitherion run`. If that fails, the user gets the
 * message and the tasks end with the exit code of `aitherion run` before they become the program:
 * then it does not matter whether plugstack.conf says `required` or `optional`.
 */
#include "config.h"

#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "slurm/job.h"

SPANK_PLUGIN(aitherion, 1)

enum { EXIT_NO_RUNTIME = 125 }; /* as of `aitherion run` */

/* Slurm calls the plugin from one thread, and its tasks are forked from slurmstepd. */
static struct {
    struct ath_slurm_arguments arguments;
    struct ath_err fault; /* of the arguments */
    bool is_wished[ATH_SLURM_WISHES];
    char *wishes[ATH_SLURM_WISHES];
    struct ath_slurm_tasks tasks;
    struct spank_option options[ATH_SLURM_WISHES];
} state;

/* One message of several lines, which lines of other processes do not divide. */
static void complain(const struct ath_err *err)
{
    if (*err->hint)
        slurm_error("aitherion: %s\n  hint: %s", err->message, err->hint);
    else
        slurm_error("aitherion: %s", err->message);
}

/* Passes on what `aitherion run` said: an error, or warnings. */
static void pass_on(void)
{
    const char *said = state.tasks.said;
    int length = (int)strlen(said);
    bool is_hint = !state.is_wished[ATH_SLURM_REMOTE] && state.arguments.values[ATH_SLURM_SERVER];

    while (length && said[length - 1] == '\n')
        length--;
    if (state.tasks.exit_code)
        slurm_error("%.*s%s", length, said,
                    is_hint ? "\n  hint: --aitherion-remote uses the GPUs of the cluster's servers"
                            : "");
    else if (length)
        slurm_spank_log("%.*s", length, said);
}

static int check(enum ath_slurm_wish wish, const char *value, struct ath_err *err)
{
    int status = ath_slurm_wish_check(wish, value, err);
    if (status || wish != ATH_SLURM_REMOTE || state.arguments.values[ATH_SLURM_SERVER])
        return status;
    ath_err_set(err, -ENODEV, ATH_E_USAGE, "--aitherion-remote: this cluster names no servers");
    return ath_err_hint(err, -ENODEV,
                        "the administrator adds server=HOST:PORT to the plugin's line in "
                        "plugstack.conf");
}

/* Slurm's name for "no value" on the nodes is "(null)". */
static int take_option(int wish, const char *value, int is_remote)
{
    struct ath_err err;

    if (value && (!*value || !strcmp(value, "(null)")))
        value = NULL;
    if (!is_remote && check((enum ath_slurm_wish)wish, value, &err)) {
        complain(&err);
        return -1;
    }
    free(state.wishes[wish]);
    state.wishes[wish] = value ? ath_xstrdup(value) : NULL;
    state.is_wished[wish] = true;
    return 0;
}

static int register_options(spank_t spank)
{
    for (int i = 0; i < ATH_SLURM_WISHES; i++) {
        const struct ath_slurm_wish_row *row = &ath_slurm_wishes[i];
        state.options[i] = (struct spank_option){ .name = (char *)row->option,
                                                  .arginfo = (char *)row->metavar,
                                                  .usage = (char *)row->help,
                                                  .has_arg = row->is_optional ? 2 : 1,
                                                  .val = i,
                                                  .cb = take_option };
        if (spank_option_register(spank, &state.options[i]) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

/* slurmd itself does not need the plugin. On a node wrong arguments are reported only to jobs that
 * use the options. */
int slurm_spank_init(spank_t spank, int count, char *words[])
{
    spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE)
        return 0;
    if (ath_slurm_arguments_read(words, count, &state.arguments, &state.fault) &&
        context != S_CTX_REMOTE) {
        complain(&state.fault);
        return -1;
    }
    return register_options(spank);
}

static bool is_wished(void)
{
    for (int i = 0; i < ATH_SLURM_WISHES; i++)
        if (state.is_wished[i])
            return true;
    return false;
}

/* The nodes that choose GPUs: of the step; for a batch script, all of the job's. */
static void count_nodes(spank_t spank, struct ath_slurm_job *job)
{
    uint32_t step = 0, node = 0, count = 1;
    char text[16];

    spank_get_item(spank, S_JOB_STEPID, &step);
    spank_get_item(spank, S_JOB_NODEID, &node);
    spank_get_item(spank, S_JOB_NNODES, &count);
    job->is_batch = step == SLURM_BATCH_SCRIPT;
    if (job->is_batch && spank_getenv(spank, "SLURM_JOB_NUM_NODES", text, sizeof text) == 0)
        count = (uint32_t)strtoul(text, NULL, 10);
    job->node = job->is_batch ? 0 : node;
    job->node_count = count ? count : 1;
}

static int find_tasks(spank_t spank, struct ath_err *err)
{
    struct ath_slurm_job job = { .arguments = &state.arguments };
    char **environment = NULL;

    if (*state.fault.message) {
        *err = state.fault;
        return -1;
    }
    if (spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS)
        return ath_err_set(err, -1, ATH_E_INTERNAL, "Slurm does not tell the job's environment");
    job.environment = environment;
    memcpy(job.is_wished, state.is_wished, sizeof job.is_wished);
    for (int i = 0; i < ATH_SLURM_WISHES; i++)
        job.wishes[i] = state.wishes[i];
    count_nodes(spank, &job);
    return ath_slurm_tasks_find(&job, &state.tasks, err);
}

/* In slurmstepd, with the user's effective ids, before the tasks are forked. Failing here would let
 * tasks of an `optional` plugin run, so the tasks fail (slurm_spank_task_init()). */
int slurm_spank_user_init(spank_t spank, int count, char *words[])
{
    struct ath_err err = { 0 };

    (void)count, (void)words;
    if (!is_wished())
        return 0;
    if (find_tasks(spank, &err)) {
        complain(&err);
        state.tasks.exit_code = EXIT_NO_RUNTIME;
    } else {
        pass_on();
    }
    return 0;
}

static void set_variable(spank_t spank, char *variable)
{
    char *equals = strchr(variable, '=');
    *equals = '\0';
    spank_setenv(spank, variable, equals + 1, 1);
    *equals = '=';
}

/* In the task's process, which is the user's already. Slurm has set its own variables of GPUs
 * before. */
int slurm_spank_task_init(spank_t spank, int count, char *words[])
{
    (void)count, (void)words;
    if (state.tasks.exit_code)
        _exit(state.tasks.exit_code);
    for (char **name = state.tasks.unset; name && *name; name++)
        spank_unsetenv(spank, *name);
    for (char **variable = state.tasks.set; variable && *variable; variable++)
        set_variable(spank, *variable);
    return 0;
}

int slurm_spank_exit(spank_t spank, int count, char *words[])
{
    (void)spank, (void)count, (void)words;
    ath_slurm_tasks_free(&state.tasks);
    for (int i = 0; i < ATH_SLURM_WISHES; i++) {
        free(state.wishes[i]);
        state.wishes[i] = NULL;
    }
    return 0;
}
