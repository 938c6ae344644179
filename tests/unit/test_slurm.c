/* Slurm's plugin, without Slurm: its options, its arguments, and the environment of a job's tasks
 * by way of a made command. */
#include "config.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "slurm/arguments.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/wishes.h"
#include "tree.h"
#include "unit.h"

SECONDS(60);

static struct tree tree;

/* ---- what is asked for ---- */

TEST(takes_values_of_options)
{
    static const struct {
        enum ath_slurm_wish wish;
        const char *value;
        bool is_right;
    } cases[] = {
        { ATH_SLURM_REMOTE, NULL, true },         { ATH_SLURM_REMOTE, "1", true },
        { ATH_SLURM_REMOTE, "64", true },         { ATH_SLURM_REMOTE, "65", false },
        { ATH_SLURM_REMOTE, "0", false },         { ATH_SLURM_REMOTE, "-1", false },
        { ATH_SLURM_MEMORY, "4G", true },         { ATH_SLURM_MEMORY, "25%", true },
        { ATH_SLURM_MEMORY, "101%", false },      { ATH_SLURM_MEMORY, NULL, false },
        { ATH_SLURM_SHARE, "25", true },          { ATH_SLURM_SHARE, "25,cap", true },
        { ATH_SLURM_SHARE, "101", false },        { ATH_SLURM_PRIORITY, "high", true },
        { ATH_SLURM_PRIORITY, "highest", false }, { ATH_SLURM_SM_SHARE, "50", true },
        { ATH_SLURM_SM_SHARE, "0", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ath_err err = { 0 };
        int status = ath_slurm_wish_check(cases[i].wish, cases[i].value, &err);
        ck_assert_msg(!status == cases[i].is_right, "case %zu", i);
        ck_assert(status ? err.code == ATH_E_USAGE && *err.hint : !*err.message);
    }
}

TEST(reads_arguments)
{
    char *words[] = { "server=a:1,b:2", "key=/k=e", "aitherion=/x" };
    struct ath_slurm_arguments arguments;
    struct ath_err err;

    ck_assert_int_eq(ath_slurm_arguments_read(words, 3, &arguments, &err), 0);
    ck_assert_str_eq(arguments.values[ATH_SLURM_SERVER], "a:1,b:2");
    ck_assert_str_eq(arguments.values[ATH_SLURM_KEY], "/k=e");
    ck_assert_str_eq(arguments.values[ATH_SLURM_PROGRAM], "/x");
    ck_assert_ptr_null(arguments.values[ATH_SLURM_CONFIG]);
    ck_assert_int_eq(ath_slurm_arguments_read(NULL, 0, &arguments, &err), 0);
    ck_assert_str_eq(arguments.values[ATH_SLURM_PROGRAM], ATH_BINDIR "/aitherion");
    ck_assert_ptr_null(arguments.values[ATH_SLURM_SERVER]);
}

TEST(refuses_wrong_arguments)
{
    static char *wrong[] = { "", "server", "server=", "serve=x", "servers=x", "=x" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ath_slurm_arguments arguments = { .values = { "kept" } };
        struct ath_err err = { 0 };
        ck_assert_int_eq(ath_slurm_arguments_read(&wrong[i], 1, &arguments, &err), -EINVAL);
        ck_assert_str_eq(arguments.values[0], "kept");
        ck_assert(strstr(err.message, wrong[i]) && strstr(err.hint, "server, key"));
    }
}

/* ---- the environment of tasks ---- */

static struct ath_slurm_arguments arguments;
static struct ath_slurm_job job;
static struct ath_slurm_tasks tasks;
static char program[80];

/* Makes the command: a script that says how it was called, and prints variables as env -0 does. */
static void answer(const char *script)
{
    FILE *file = fopen(program, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\necho \"$*\" >&2\n%s\n", script);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(program, 0755), 0);
}

static void set_up(void)
{
    tree_make(&tree);
    snprintf(program, sizeof program, "%s/aitherion", tree.path);
    arguments = (struct ath_slurm_arguments){ .values = { [ATH_SLURM_PROGRAM] = program } };
    job = (struct ath_slurm_job){ .arguments = &arguments, .node_count = 1 };
}

static void tear_down(void)
{
    ath_slurm_tasks_free(&tasks);
    tree_remove(&tree);
}
FIXTURE(set_up, tear_down);

static void find(void)
{
    struct ath_err err = { 0 };
    ath_slurm_tasks_free(&tasks);
    ck_assert_msg(!ath_slurm_tasks_find(&job, &tasks, &err), "%s", err.message);
}

static void has(char *const *list, const char *const *wanted)
{
    size_t i = 0;
    for (; wanted[i]; i++)
        ck_assert_str_eq(list[i] ? list[i] : "nothing", wanted[i]);
    ck_assert_ptr_null(list[i]);
}

static void wish(enum ath_slurm_wish which, const char *value)
{
    job.is_wished[which] = true;
    job.wishes[which] = value;
}

TEST(names_servers_only_with_remote)
{
    arguments.values[ATH_SLURM_SERVER] = "a:1";
    arguments.values[ATH_SLURM_CONFIG] = "/c";
    answer("");
    wish(ATH_SLURM_MEMORY, "1G");
    find();
    ck_assert_str_eq(tasks.said, "run --config /c -- /usr/bin/env -0\n");
    wish(ATH_SLURM_REMOTE, NULL);
    find();
    ck_assert_str_eq(tasks.said, "run --server a:1 --config /c -- /usr/bin/env -0\n");
    wish(ATH_SLURM_REMOTE, "2");
    job.node_count = 3;
    find();
    ck_assert_str_eq(tasks.said, "run --server a:1 --config /c --gpus 6 -- /usr/bin/env -0\n");
}

TEST(sets_what_differs)
{
    static char *const before[] = { "A=1", "B=2", "AITHERION_SHARE=99", "CUDA_VISIBLE_DEVICES=7",
                                    NULL };
    job.environment = before;
    answer("exec /usr/bin/env -0 B=3 C='x\ny'");
    wish(ATH_SLURM_SHARE, "25");
    find();
    ck_assert_int_eq(tasks.exit_code, 0);
    ck_assert_ptr_null(tasks.unset[0]);
    bool has_share = false;
    for (char **one = tasks.set; *one; one++) {
        ck_assert_str_ne(*one, "A=1");
        ck_assert_str_ne(*one, "CUDA_VISIBLE_DEVICES=7");
        has_share |= !strcmp(*one, "AITHERION_SHARE=25");
    }
    ck_assert(has_share);
}

TEST(takes_the_node_s_own_numbers_away)
{
    static char *const before[] = { "CUDA_VISIBLE_DEVICES=7", NULL };
    job.environment = before;
    answer("[ -z \"$CUDA_VISIBLE_DEVICES\" ] && printf 'X=1\\0'");
    wish(ATH_SLURM_REMOTE, NULL);
    find();
    has(tasks.set, (const char *const[]){ "X=1", NULL });
    has(tasks.unset, (const char *const[]){ "CUDA_VISIBLE_DEVICES", NULL });
}

TEST(divides_gpus_among_nodes)
{
    answer("printf 'CUDA_VISIBLE_DEVICES=a,b,c,d,e,f\\0'");
    wish(ATH_SLURM_REMOTE, "2");
    job.node_count = 3;
    job.node = 0;
    find();
    has(tasks.set, (const char *const[]){ "CUDA_VISIBLE_DEVICES=a,b", NULL });
    job.node = 2;
    find();
    has(tasks.set, (const char *const[]){ "CUDA_VISIBLE_DEVICES=e,f", NULL });
    job.node = 0;
    job.is_batch = true;
    find();
    has(tasks.set, (const char *const[]){ "CUDA_VISIBLE_DEVICES=a,b",
                                          "SLURM_AITHERION_GPUS=a,b,c,d,e,f", NULL });
}

TEST(chooses_among_the_script_s_gpus)
{
    static char *const before[] = { "SLURM_AITHERION_GPUS=x,y", "CUDA_VISIBLE_DEVICES=7", NULL };
    job.environment = before;
    answer("printf 'SEEN=%s\\0' \"$CUDA_VISIBLE_DEVICES\"");
    wish(ATH_SLURM_REMOTE, "1");
    find();
    has(tasks.set, (const char *const[]){ "SEEN=x,y", NULL });
}

TEST(passes_a_failure_on)
{
    answer("echo why >&2; printf 'A=1\\0'; exit 124");
    wish(ATH_SLURM_REMOTE, NULL);
    find();
    ck_assert_int_eq(tasks.exit_code, 124);
    ck_assert_str_eq(tasks.said, "run -- /usr/bin/env -0\nwhy\n");
    ck_assert_ptr_null(tasks.set);
    answer("kill -KILL $$");
    find();
    ck_assert_int_eq(tasks.exit_code, 128 + SIGKILL);
}

TEST(survives_any_output)
{
    answer("printf 'A=1\\0no variable\\0\\0=\\0B=2'"); /* the last one has no end */
    find();
    has(tasks.set, (const char *const[]){ "A=1", NULL });
    struct ath_err err = { 0 };
    answer("head -c 5000000 /dev/zero");
    ath_slurm_tasks_free(&tasks);
    ck_assert_int_eq(ath_slurm_tasks_find(&job, &tasks, &err), -E2BIG);
    ck_assert(strstr(err.message, program));
}

TEST(reports_a_command_that_is_not_there)
{
    struct ath_err err = { 0 };
    arguments.values[ATH_SLURM_PROGRAM] = "/nowhere/aitherion";
    ck_assert_int_eq(ath_slurm_tasks_find(&job, &tasks, &err), -ENOENT);
    ck_assert(strstr(err.message, "'/nowhere/aitherion'") && strstr(err.hint, "plugstack.conf"));
}

/* The command inherits no file, no input and no blocked signal. */
TEST(shields_the_command)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    int fd = dup(2);
    ck_assert_int_gt(fd, 2);
    answer("[ -e /proc/self/fd/$FD ] && echo open >&2; read line && echo input >&2; kill -TERM $$; "
           "echo alive >&2");
    ath_auto_free char *variable = ath_xasprintf("FD=%d", fd);
    char *const before[] = { variable, NULL };
    job.environment = before;
    find();
    ck_assert_str_eq(tasks.said, "run -- /usr/bin/env -0\n");
    ck_assert_int_eq(tasks.exit_code, 128 + SIGTERM);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    close(fd);
}
