/*
 * Drives the engines, for the tests in tests/docker, tests/cli and tests/vm:
 *
 *     engine_steps docker|process|auto survey
 *                                      start DOCUMENT [sim] [no-wait] [over] [ID...]
 *                                      stop [ID...]
 *                                      clean [dry] [images] [of=DOCUMENT] [ID...]
 *                                      drift DOCUMENT [sim]
 *                                      abilities
 *
 * DOCKER_HOST and AITHERION_RUN_FOLDER come from the environment. KEY=FILE is the key, RUNTIME=FILE
 * the runtime's program, TIMEOUT_MS=N the time that start waits. KILL_AT=STEP ends this program by
 * SIGKILL when a node reaches that step, PAUSE_AT=STEP stops it by SIGSTOP. Answers are JSON, one a
 * line. A failure is {"error": CODE, "status": ERRNO, "message": ..., "hint": ...}, with exit code
 * 1. SIGINT interrupts.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/engine/engine.h"
#include "numa/discover.h"
#include "steps.h"

struct words {
    const char *document, *owner;
    bool is_sim, is_dry, wants_images, has_no_wait, takes_over;
    int ids[16];
    size_t id_count;
};

static json_t *texts(const struct ath_texts *list)
{
    json_t *out = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(out, json_string(list->items[i]));
    return out;
}

static int fail(int status, const struct ath_err *err)
{
    print(failure(status, err));
    return 1;
}

/* ---- the plan ---- */

struct made {
    struct ath_machine machine;
    struct ath_document document;
    struct ath_faults faults;
    struct ath_plan_facts facts;
    struct ath_plan plan;
};

static void made_free(struct made *made)
{
    ath_plan_free(&made->plan);
    ath_plan_facts_free(&made->facts);
    ath_faults_free(&made->faults);
    ath_document_free(&made->document);
    ath_machine_free(&made->machine);
}

static int make_plan(const struct ath_engine *engine, const struct words *words, struct made *out,
                     struct ath_err *err)
{
    const struct ath_machine_source live = { .root = "/" };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    const struct ath_plan_options options = { .is_process = ath_engine_is_process(engine),
                                              .engine = ath_engine_abilities(engine),
                                              .is_sim = words->is_sim,
                                              .ids = words->ids,
                                              .id_count = words->id_count,
                                              .key_path = getenv("KEY"),
                                              .run_folder = ath_engine_folder(engine) };

    int status = ath_machine_discover(&live, &out->machine, err);
    if (!status)
        status = ath_root_open("/", &root, err);
    if (!status)
        status = ath_document_load(words->document, &out->document, &out->faults, err);
    if (status)
        return status;
    ath_plan_facts_read(&root, &out->machine, &out->facts);
    status = ath_plan_make(&out->document, &out->machine, &out->facts, &options, &out->plan,
                           &out->faults, err);
    for (size_t i = 0; i < out->faults.count; i++)
        fprintf(stderr, "%s\n", out->faults.items[i].message);
    return status;
}

/* ---- the commands ---- */

static json_t *number(int64_t value)
{
    return value == ATH_UNKNOWN ? json_null() : json_integer(value);
}

static json_t *text(const char *value)
{
    return value ? json_string(value) : json_null();
}

static json_t *macvlans(const struct ath_node_status *status)
{
    json_t *list = json_array();
    for (size_t i = 0; i < status->macvlan_count; i++) {
        const struct ath_node_macvlan *one = &status->macvlans[i];
        json_array_append_new(list, json_pack("{s:s, s:i, s:b, s:o, s:i}", "name", one->name,
                                              "is_there", one->is_there, "is_up", one->is_up,
                                              "address", text(one->address), "mtu", one->mtu));
    }
    return list;
}

static json_t *status_json(const struct ath_node_status *status)
{
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "id", status->id, "engine",
                  status->engine, "state", ath_node_state_word(status->state), "name", status->name,
                  "container", text(status->container_id), "pause", text(status->pause_id), "pid",
                  number(status->pid), "pause_pid", number(status->pause_pid), "supervisor",
                  number(status->supervisor_pid), "started_at", text(status->started_at));
    json_t *more = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}",
        "restarts", number(status->restarts), "base", text(status->base), "document",
        text(status->document), "socket", text(status->socket), "ports", texts(&status->ports),
        "listening", texts(&status->listening), "network", text(status->network_mode), "macvlans",
        macvlans(status), "cpus", text(status->cpus), "mems", text(status->memory_nodes),
        "exit_code", number(status->exit_code), "log", texts(&status->log), "problem",
        text(status->problem), "hint", text(status->hint), "is_image_old", status->is_image_old,
        "limits", text(status->limits));
    json_object_update_missing(json, more);
    json_decref(more);
    return json;
}

static int survey(struct ath_engine *engine, const struct words *words, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    (void)words;
    int status = ath_engine_survey(engine, &statuses, err);
    for (size_t i = 0; i < statuses.count; i++)
        print(status_json(&statuses.items[i]));
    return status;
}

static bool is_step(const char *variable, enum ath_engine_step step)
{
    const char *wanted = getenv(variable);
    return wanted && !strcmp(wanted, ath_engine_step_word(step));
}

static void progress(void *context, const struct ath_plan_node *node, enum ath_engine_step step)
{
    (void)context;
    print(json_pack("{s:i, s:s}", "node", node->id, "step", ath_engine_step_word(step)));
    if (is_step("KILL_AT", step))
        raise(SIGKILL);
    if (is_step("PAUSE_AT", step))
        raise(SIGSTOP);
}

static json_t *result_json(const struct ath_start_result *result)
{
    json_t *json =
        json_pack("{s:i, s:s, s:b, s:o, s:o}", "id", result->id, "outcome",
                  ath_start_outcome_word(result->outcome), "is_healthy", result->is_healthy,
                  "reason", text(result->reason), "log", texts(&result->log));
    if (result->status) {
        json_t *more = failure(result->status, &result->err);
        json_object_update_missing(json, more);
        json_decref(more);
    }
    return json;
}

static int start(struct ath_engine *engine, const struct words *words, struct ath_err *err)
{
    __attribute__((cleanup(made_free))) struct made made = { .document.lock_fd = -1 };
    ATH_AUTO(ath_start_results) results = { 0 };
    const char *timeout = getenv("TIMEOUT_MS");
    const struct ath_start_options options = { .is_waiting = !words->has_no_wait,
                                               .timeout_ms = timeout ? atoi(timeout) : 0,
                                               .takes_over = words->takes_over,
                                               .progress = progress };
    int failed = 0;
    int status = make_plan(engine, words, &made, err);
    if (!status)
        status = ath_engine_start(engine, &made.plan, &options, &results, err);
    for (size_t i = 0; i < results.count; i++) {
        print(result_json(&results.items[i]));
        failed |= results.items[i].status != 0;
    }
    return status ? status : failed;
}

static int stop(struct ath_engine *engine, const struct words *words, struct ath_err *err)
{
    ATH_AUTO(ath_stop_results) results = { 0 };
    int status = ath_engine_stop(engine, words->ids, words->id_count, 10, &results, err);
    for (size_t i = 0; i < results.count; i++)
        print(results.items[i].status ? failure(results.items[i].status, &results.items[i].err)
                                      : json_pack("{s:i, s:b}", "id", results.items[i].id,
                                                  "was_running", results.items[i].was_running));
    return status;
}

static int clean(struct ath_engine *engine, const struct words *words, struct ath_err *err)
{
    ATH_AUTO(ath_clean_steps) steps = { 0 };
    const struct ath_engines engines = { .items = { engine }, .count = 1 };
    const struct ath_clean_options options = { words->ids, words->id_count, words->wants_images,
                                               words->owner };
    int status = ath_clean_plan(&engines, &options, &steps, err);
    if (!status && !words->is_dry)
        status = ath_clean_apply(&engines, &steps, NULL, NULL, err);
    for (size_t i = 0; i < steps.count; i++)
        print(json_pack("{s:s, s:s, s:s, s:i}", "kind", ath_clean_kind_word(steps.items[i].kind),
                        "object", steps.items[i].object, "text", steps.items[i].text, "status",
                        steps.items[i].status));
    for (size_t i = 0; i < steps.left_count; i++)
        print(json_pack("{s:i, s:s, s:s}", "left", steps.left[i].id, "text", steps.left[i].text,
                        "hint", steps.left[i].hint));
    return status;
}

static int drift(struct ath_engine *engine, const struct words *words, struct ath_err *err)
{
    __attribute__((cleanup(made_free))) struct made made = { .document.lock_fd = -1 };
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    int status = make_plan(engine, words, &made, err);
    if (!status)
        status = ath_engine_survey(engine, &statuses, err);
    for (size_t i = 0; i < made.plan.node_count && !status; i++) {
        const struct ath_plan_node *node = &made.plan.nodes[i];
        const struct ath_node_status *found = ath_node_statuses_find(&statuses, node->id);
        bool needs_restart = false;
        ath_auto_free char *why =
            found ? ath_node_drift(found, &made.plan, node, &needs_restart) : NULL;
        print(json_pack("{s:i, s:o, s:b}", "id", node->id, "drift", text(why), "needs_restart",
                        needs_restart));
    }
    return status;
}

static int abilities(struct ath_engine *engine, const struct words *words, struct ath_err *err)
{
    const struct ath_plan_engine found = ath_engine_abilities(engine);
    (void)words;
    (void)err;
    print(json_pack("{s:b, s:b, s:b, s:b, s:b, s:b}", "has_nvidia_runtime",
                    found.has_nvidia_runtime, "has_cdi", found.has_cdi, "has_bridge",
                    found.has_bridge, "is_rootless", found.is_rootless, "limits_logs",
                    found.limits_logs, "is_limited", found.is_limited));
    return 0;
}

static const struct {
    const char *name;
    bool has_document;
    int (*run)(struct ath_engine *engine, const struct words *words, struct ath_err *err);
} commands[] = {
    { "survey", false, survey }, { "start", true, start }, { "stop", false, stop },
    { "clean", false, clean },   { "drift", true, drift }, { "abilities", false, abilities },
};

static int read_words(char **arguments, bool has_document, struct words *out)
{
    if (has_document && !(out->document = *arguments++))
        return -1;
    for (; *arguments; arguments++) {
        int id;
        if (!strcmp(*arguments, "sim"))
            out->is_sim = true;
        else if (!strcmp(*arguments, "dry"))
            out->is_dry = true;
        else if (!strcmp(*arguments, "images"))
            out->wants_images = true;
        else if (!strcmp(*arguments, "no-wait"))
            out->has_no_wait = true;
        else if (!strcmp(*arguments, "over"))
            out->takes_over = true;
        else if (ath_starts_with(*arguments, "of="))
            out->owner = *arguments + 3;
        else if (out->id_count < ATH_COUNT(out->ids) && !ath_parse_int(*arguments, 0, 65535, &id))
            out->ids[out->id_count++] = id;
        else
            return -1;
    }
    return 0;
}

static int kind_of(const char *word)
{
    static const char *const kinds[] = { "auto", "docker", "process" };
    for (size_t i = 0; i < ATH_COUNT(kinds); i++)
        if (!strcmp(kinds[i], word))
            return (int)i;
    return -1;
}

int main(int count, char **arguments)
{
    const struct ath_engine_options options = { .runtime = getenv("RUNTIME"),
                                                .is_stopped = is_stopped };
    ath_auto_engine struct ath_engine *engine = NULL;
    struct words words = { 0 };
    struct ath_err err;
    size_t i = 0;

    int kind = count > 2 ? kind_of(arguments[1]) : -1;
    while (kind >= 0 && i < ATH_COUNT(commands) && strcmp(commands[i].name, arguments[2]) != 0)
        i++;
    if (kind < 0 || i == ATH_COUNT(commands) ||
        read_words(arguments + 3, commands[i].has_document, &words)) {
        fprintf(stderr, "usage: see the head of engine_steps.c\n");
        return 2;
    }
    sigaction(SIGINT, &(struct sigaction){ .sa_handler = note_signal }, NULL);
    int status = ath_engine_open((enum ath_engine_kind)kind, &options, &engine, &err);
    if (!status)
        status = commands[i].run(engine, &words, &err);
    return status < 0 ? fail(status, &err) : status;
}
