/* Makes the environment and the words of `aitherion run`, and compares what it prints. */
#include "config.h"

#include "slurm/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "slurm/command.h"

#define VISIBLE "CUDA_VISIBLE_DEVICES"

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void ath_slurm_tasks_free(struct ath_slurm_tasks *tasks)
{
    free_list(tasks->set);
    free_list(tasks->unset);
    free(tasks->said);
    *tasks = (struct ath_slurm_tasks){ 0 };
}

/* A list of texts that ends in a NULL. */
struct list {
    char **items;
    size_t count;
};

/* Takes ownership of text. */
static void add(struct list *list, char *text)
{
    *(char **)ath_push(&list->items, &list->count, sizeof(char *)) = text;
}

/* Ends the list, and moves it out. The caller frees the result and its texts. */
static char **take(struct list *list)
{
    add(list, NULL);
    char **items = list->items;
    *list = (struct list){ 0 };
    return items;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

static bool is_named(const char *variable, const char *name)
{
    size_t length = strlen(name);
    return !strncmp(variable, name, length) && variable[length] == '=';
}

/* Returns the value of a variable, or NULL. */
static const char *value_of(char *const *environment, const char *name)
{
    for (size_t i = 0; environment && environment[i]; i++)
        if (is_named(environment[i], name))
            return environment[i] + strlen(name) + 1;
    return NULL;
}

/* Returns the wish whose variable this is, or -1. */
static int wish_of(const struct ath_slurm_job *job, const char *variable)
{
    for (int i = 0; i < ATH_SLURM_WISHES; i++)
        if (job->is_wished[i] && ath_slurm_wishes[i].variable &&
            is_named(variable, ath_slurm_wishes[i].variable))
            return i;
    return -1;
}

/*
 * Returns the environment of the command: the job's, with the values of the options. With
 * --aitherion-remote the numbers of CUDA_VISIBLE_DEVICES are those of other GPUs, except if the
 * batch script's node chose them.
 */
static char **make_environment(const struct ath_slurm_job *job)
{
    bool is_remote = job->is_wished[ATH_SLURM_REMOTE];
    const char *chosen = value_of(job->environment, ATH_SLURM_GPUS_VARIABLE);
    struct list list = { 0 };

    for (size_t i = 0; job->environment && job->environment[i]; i++)
        if (wish_of(job, job->environment[i]) < 0 &&
            !(is_remote && is_named(job->environment[i], VISIBLE)))
            add(&list, ath_xstrdup(job->environment[i]));
    for (int i = 0; i < ATH_SLURM_WISHES; i++)
        if (job->is_wished[i] && ath_slurm_wishes[i].variable && job->wishes[i])
            add(&list, ath_xasprintf("%s=%s", ath_slurm_wishes[i].variable, job->wishes[i]));
    if (is_remote && chosen)
        add(&list, ath_xasprintf(VISIBLE "=%s", chosen));
    return take(&list);
}

/* Returns the number of GPUs to choose on each node; 0: all GPUs. */
static size_t gpus_of_node(const struct ath_slurm_job *job)
{
    const char *count = job->wishes[ATH_SLURM_REMOTE];
    return count ? (size_t)strtoul(count, NULL, 10) : 0;
}

static void add_option(struct list *list, const char *name, const char *value)
{
    add(list, ath_xasprintf("--%s", name));
    add(list, ath_xstrdup(value));
}

static char **make_words(const struct ath_slurm_job *job)
{
    const struct ath_slurm_arguments *arguments = job->arguments;
    size_t gpus = gpus_of_node(job);
    struct list list = { 0 };

    add(&list, ath_xstrdup(arguments->values[ATH_SLURM_PROGRAM]));
    add(&list, ath_xstrdup("run"));
    for (int i = 0; i < ATH_SLURM_PROGRAM; i++)
        if (arguments->values[i] && (!ath_slurm_argument_is_remote((enum ath_slurm_argument)i) ||
                                     job->is_wished[ATH_SLURM_REMOTE]))
            add_option(&list, ath_slurm_argument_names[i], arguments->values[i]);
    if (gpus) {
        add(&list, ath_xstrdup("--gpus"));
        add(&list, ath_xasprintf("%zu", gpus * job->node_count));
    }
    add(&list, ath_xstrdup("--"));
    add(&list, ath_xstrdup("/usr/bin/env"));
    add(&list, ath_xstrdup("-0"));
    return take(&list);
}

/* Returns the parts of a list with commas from number `first` on, `count` of them. The caller frees
 * the result. */
static char *slice(const char *list, size_t first, size_t count)
{
    ATH_AUTO(ath_text) text = { 0 };
    const char *rest = list;
    size_t length;

    for (size_t i = 0; i < first + count && rest; i++) {
        const char *part = ath_text_next_part(&rest, &length);
        if (part && i >= first)
            ath_text_add_part(&text, ",", "%.*s", (int)length, part);
    }
    return ath_text_take(&text);
}

/* Adds what this node's tasks see of the GPUs that were chosen for all nodes. */
static void add_gpus(const struct ath_slurm_job *job, const char *chosen, struct list *set)
{
    size_t count = gpus_of_node(job);
    ath_auto_free char *own = slice(chosen, job->node * count, count);

    add(set, ath_xasprintf(VISIBLE "=%s", own));
    if (job->is_batch)
        add(set, ath_xasprintf(ATH_SLURM_GPUS_VARIABLE "=%s", chosen));
}

/* Reads what env(1) printed: variables that end in a NUL byte each. */
static void compare(const struct ath_slurm_job *job, const struct ath_text *printed,
                    struct ath_slurm_tasks *out)
{
    const char *visible = NULL;
    struct list set = { 0 }, unset = { 0 };

    for (size_t at = 0; at < printed->length;) {
        const char *variable = printed->data + at;
        size_t length = strnlen(variable, printed->length - at);
        at += length + 1;
        if (at > printed->length || *variable == '=' || !strchr(variable, '=')) /* not ended, or no
                                                                                    variable */
            continue;
        ath_auto_free char *name = ath_xasprintf("%.*s", (int)name_length(variable), variable);
        const char *old = value_of(job->environment, name);
        if (is_named(variable, VISIBLE)) {
            visible = variable + sizeof VISIBLE;
            if (gpus_of_node(job))
                continue;
        }
        if (!old || strcmp(old, variable + strlen(name) + 1) != 0)
            add(&set, ath_xstrdup(variable));
    }
    if (visible && gpus_of_node(job))
        add_gpus(job, visible, &set);
    if (!visible && value_of(job->environment, VISIBLE))
        add(&unset, ath_xstrdup(VISIBLE));
    out->set = take(&set);
    out->unset = take(&unset);
}

int ath_slurm_tasks_find(const struct ath_slurm_job *job, struct ath_slurm_tasks *out,
                         struct ath_err *err)
{
    ATH_AUTO(ath_slurm_output) output = { 0 };
    char **words = make_words(job), **environment = make_environment(job);
    int status = ath_slurm_command_run(words, environment, &output, err);

    free_list(words);
    free_list(environment);
    if (status)
        return status;
    out->said = ath_text_take(&output.errors);
    out->exit_code = output.exit_code;
    if (!output.exit_code)
        compare(job, &output.out, out);
    return 0;
}
