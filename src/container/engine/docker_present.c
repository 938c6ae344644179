/* Present containers, and facts about those that are ours. */
#include "config.h"

#include "container/engine/docker_present.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/json.h"
#include "container/engine/docker_engine.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"

/* ---- reading them ---- */

void ath_docker_present_free(struct ath_docker_present *present)
{
    if (!present)
        return;
    ath_docker_containers_free(&present->all);
    ath_docker_containers_free(&present->ours);
}

/* A container of ours that is being inspected. */
struct looking {
    struct ath_docker_present *present;
    int status;
    struct ath_err *err;
};

/* Ignores a container that was removed meanwhile. */
static void note_inspected(void *context, struct ath_docker_batch *batch,
                           const struct ath_docker_answer *answer)
{
    struct looking *looking = context;
    struct ath_docker_containers *ours = &looking->present->ours;
    struct ath_docker_container one = { 0 };
    struct ath_err err;

    (void)batch;
    if (answer->status == -ENOENT)
        return;
    int status = answer->status;
    if (status)
        err = *answer->err;
    else
        status = ath_docker_container_read(answer->json, &one, &err);
    if (!status) {
        *(struct ath_docker_container *)ath_push(&ours->items, &ours->count, sizeof one) = one;
    } else if (!looking->status) {
        looking->status = status;
        ath_err_copy(looking->err, &err);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct ath_docker_container *one = a, *other = b;
    return strcmp(one->name, other->name);
}

static int read_all(struct ath_docker *docker, struct ath_docker_containers *out,
                    struct ath_err *err)
{
    json_auto_t *json = NULL;
    int status = ath_docker_do(docker, ath_docker_container_list(NULL), &json, err);
    return status ? status : ath_docker_containers_read(json, out, err);
}

int ath_docker_present_read(struct ath_docker *docker, struct ath_docker_present *out,
                            struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker);
    struct looking looking = { &present, 0, err };

    int status = read_all(docker, &present.all, err);
    for (size_t i = 0; i < present.all.count && !status; i++)
        if (ath_docker_container_node(&present.all.items[i]) != ATH_UNKNOWN)
            ath_docker_batch_add(batch, ath_docker_container_inspect(present.all.items[i].id),
                                 note_inspected, &looking);
    if (!status)
        status = ath_docker_batch_run(batch, err);
    if (!status)
        status = looking.status;
    if (status)
        return status;
    /* Answers arrive in any order. */
    if (present.ours.count)
        qsort(present.ours.items, present.ours.count, sizeof *present.ours.items, by_name);
    *out = present;
    present = (struct ath_docker_present){ 0 };
    return 0;
}

int ath_docker_container_node(const struct ath_docker_container *container)
{
    const char *text = ath_docker_label(container->labels, ATH_PLAN_LABEL_NUMA);
    int id;
    return text && !ath_parse_int(text, 0, ATH_ID_MAX, &id) ? id : ATH_UNKNOWN;
}

const struct ath_docker_container *ath_docker_present_find(const struct ath_docker_present *present,
                                                           int id, enum ath_docker_role role)
{
    for (size_t i = 0; i < present->ours.count; i++) {
        const struct ath_docker_container *one = &present->ours.items[i];
        const char *word = ath_docker_label(one->labels, ATH_PLAN_LABEL_ROLE);
        if (ath_docker_container_node(one) == id && word &&
            !strcmp(word, ath_docker_role_word(role)))
            return one;
    }
    return NULL;
}

char *ath_docker_netns_path(const struct ath_docker_container *container)
{
    if (!container || !ath_process_is_in_container(container->pid, container->id))
        return NULL;
    return ath_xasprintf("/proc/%d/ns/net", container->pid);
}

bool ath_docker_is_astray(const struct ath_docker_container *runtime,
                          const struct ath_docker_container *pause)
{
    ATH_AUTO(ath_process) inside = { 0 };
    ATH_AUTO(ath_process) owner = { 0 };

    if (!ath_process_is_in_container(runtime->pid, runtime->id) ||
        !ath_process_is_in_container(pause->pid, pause->id) ||
        ath_process_read(runtime->pid, &inside) || ath_process_read(pause->pid, &owner) ||
        !inside.netns || !owner.netns)
        /* Without a look at the namespaces the times decide. RFC 3339 in UTC with nine digits sorts
         * as text. */
        return runtime->started_at && pause->started_at &&
               strcmp(runtime->started_at, pause->started_at) < 0;
    return inside.netns != owner.netns;
}

static int collect(void *context, enum ath_docker_stream stream, const char *bytes, size_t length,
                   struct ath_err *err)
{
    struct ath_text *text = context;
    (void)stream;
    (void)err;
    ath_text_add_bytes(text, bytes, length);
    return ATH_DOCKER_GO_ON;
}

void ath_docker_log_tail(struct ath_docker *docker, const struct ath_docker_container *container,
                         struct ath_texts *out)
{
    const struct ath_docker_logs logs = { .is_tty = container->is_tty,
                                          .tail = ATH_ENGINE_LOG_LINES };
    ATH_AUTO(ath_text) text = { 0 };

    if (!ath_docker_do(docker, ath_docker_container_logs(container->id, &logs, collect, &text),
                       NULL, NULL))
        ath_log_tail(text.data, text.length, ATH_ENGINE_LOG_LINES, out);
}

char *ath_docker_variable(const struct ath_docker_container *container, const char *name)
{
    json_t *item;
    size_t i, length = strlen(name);

    json_array_foreach(ath_docker_json_at(container->json, "Config.Env"), i, item)
    {
        const char *pair = json_string_value(item);
        if (pair && !strncmp(pair, name, length) && pair[length] == '=')
            return ath_xstrdup(pair + length + 1);
    }
    return NULL;
}

char *ath_docker_memory_percent(const struct ath_engine *engine,
                                const struct ath_docker_container *container)
{
    char *changed = ath_run_folder_memory(engine->folder, ath_docker_container_node(container));
    return changed ? changed
                   : ath_xstrdup(ath_docker_label(container->labels, ATH_PLAN_LABEL_MEMORY));
}

int64_t ath_docker_memory_limit(const struct ath_docker_container *container)
{
    int64_t bytes = ath_docker_json_number(container->json, "HostConfig.Memory", ATH_UNKNOWN);
    return bytes ? bytes : INT64_MAX;
}

bool ath_docker_is_listening(const struct ath_docker_container *runtime, const char *socket)
{
    return ath_process_is_in_container(runtime->pid, runtime->id) &&
           ath_process_is_listener(runtime->pid, socket);
}

struct ath_owner ath_docker_owner(const struct ath_engine *engine,
                                  const struct ath_docker_container *container, char **socket)
{
    const struct ath_docker_engine *own = engine->own;
    *socket = ath_docker_variable(container, "AITHERION_SOCKET");
    return (struct ath_owner){ ath_docker_label(container->labels, ATH_PLAN_LABEL_DOCUMENT),
                               *socket, own->is_local };
}
