/* Reads and writes the state file, in JSON, and ends the processes that it names. */
#include "config.h"

#include "container/engine/process_state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "container/docker/json.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"

#define SCHEMA "aitherion.process-state/1"

enum { STATE_MAX = 1 << 16, KILL_TIMEOUT_MS = 5000 };

void ath_process_state_free(struct ath_process_state *state)
{
    if (!state)
        return;
    free(state->name);
    free(state->boot_id);
    free(state->plan);
    free(state->document);
    free(state->socket);
    free(state->macvlans);
    free(state->netns);
    free(state->limits);
    free(state->memory_percent);
    ath_texts_free(&state->cgroups);
    *state = (struct ath_process_state){ 0 };
}

static char *path_of(const char *folder)
{
    return ath_xasprintf("%s/state.json", folder);
}

static void read_json(const json_t *json, struct ath_process_state *out)
{
    *out = (struct ath_process_state){
        .id = (int)ath_docker_json_number(json, "id", ATH_UNKNOWN),
        .name = ath_docker_json_copy(json, "name"),
        .boot_id = ath_docker_json_copy(json, "boot_id"),
        .supervisor = (int)ath_docker_json_number(json, "supervisor.pid", ATH_UNKNOWN),
        .supervisor_ticks = (uint64_t)ath_docker_json_number(json, "supervisor.start_ticks", 0),
        .session = (int)ath_docker_json_number(json, "supervisor.session", ATH_UNKNOWN),
        .runtime = (int)ath_docker_json_number(json, "runtime.pid", ATH_UNKNOWN),
        .runtime_ticks = (uint64_t)ath_docker_json_number(json, "runtime.start_ticks", 0),
        .started_s = ath_docker_json_number(json, "runtime.started_s", ATH_UNKNOWN),
        .restarts = (int)ath_docker_json_number(json, "restarts", ATH_UNKNOWN),
        .exit_code = (int)ath_docker_json_number(json, "exit_code", ATH_UNKNOWN),
        .is_waiting = ath_docker_json_is_true(json, "is_waiting"),
        .has_sim_flag = ath_docker_json_is_true(json, "has_sim_flag"),
        .memory_percent = ath_docker_json_copy(json, "memory_percent"),
        .plan = ath_docker_json_copy(json, "plan"),
        .document = ath_docker_json_copy(json, "document"),
        .socket = ath_docker_json_copy(json, "socket"),
        .macvlans = ath_docker_json_copy(json, "macvlans"),
        .netns = ath_docker_json_copy(json, "netns"),
        .limits = ath_docker_json_copy(json, "limits"),
    };
    ath_docker_json_texts(ath_docker_json_at(json, "cgroups"), &out->cgroups);
}

/* Accepts only a file that its owner alone, the caller or root, can write: aitherion ends the
 * processes that it names. */
static int check_file(int fd, const char *path, struct ath_err *err)
{
    struct stat status;
    if (fstat(fd, &status))
        return ath_err_system(err, -errno, _("cannot read '%s'"), path);
    if (!S_ISREG(status.st_mode))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                           _("the state file '%s' is not a regular file"), path);
    if ((status.st_uid == geteuid() || status.st_uid == 0) &&
        !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return 0;
    ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                _("the state file '%s' belongs to another user, or other users may write to it"),
                path);
    return ath_err_hint(err, -EPERM, "chown %u '%s' && chmod 644 '%s'", (unsigned int)geteuid(),
                        path, path);
}

static int read_file(const char *folder, const char *path, char *out, size_t size,
                     struct ath_err *err)
{
    size_t length = 0;
    ssize_t got;

    int status = ath_run_folder_check(folder, err);
    if (status)
        return status;
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return ath_err_system(err, -errno, _("cannot read '%s'"), path);
    status = check_file(fd, path, err);
    if (status)
        return status;
    while (length < size && (got = read(fd, out + length, size - length)) != 0) {
        if (got < 0)
            return ath_err_system(err, -errno, _("cannot read '%s'"), path);
        length += (size_t)got;
    }
    return (int)length;
}

int ath_process_state_read(const char *folder, struct ath_process_state *out, struct ath_err *err)
{
    ath_auto_free char *path = path_of(folder);
    ath_auto_free char *text = ath_xalloc(STATE_MAX);
    int length = read_file(folder, path, text, STATE_MAX, err);
    if (length < 0)
        return length;
    json_auto_t *json = json_loadb(text, (size_t)length, 0, NULL);
    const char *schema = ath_docker_json_text(json, "schema");
    if (!schema || strcmp(schema, SCHEMA) != 0)
        return ath_err_set(err, -EBADMSG, ATH_E_IO, _("'%s' is not the state of a node"), path);
    read_json(json, out);
    return 0;
}

static json_t *texts_to_json(const struct ath_texts *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new(list, json_string(texts->items[i]));
    return list;
}

static json_t *to_json(const struct ath_process_state *state)
{
    return json_pack("{s:s, s:i, s:s*, s:s*, s:{s:i, s:I, s:i}, s:{s:i, s:I, s:I}, s:i, s:i, s:b, "
                     "s:b, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:o}",
                     "schema", SCHEMA, "id", state->id, "name", state->name, "boot_id",
                     state->boot_id, "supervisor", "pid", state->supervisor, "start_ticks",
                     (json_int_t)state->supervisor_ticks, "session", state->session, "runtime",
                     "pid", state->runtime, "start_ticks", (json_int_t)state->runtime_ticks,
                     "started_s", (json_int_t)state->started_s, "restarts", state->restarts,
                     "exit_code", state->exit_code, "is_waiting", (int)state->is_waiting,
                     "has_sim_flag", (int)state->has_sim_flag, "memory_percent",
                     state->memory_percent, "plan", state->plan, "document", state->document,
                     "socket", state->socket, "macvlans", state->macvlans, "netns", state->netns,
                     "limits", state->limits, "cgroups", texts_to_json(&state->cgroups));
}

/* Removes a file that check_file() refuses: a save keeps the owner and the mode of the old file. */
static void drop_untrusted(const char *path)
{
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 ? check_file(fd, path, NULL) : errno != ENOENT)
        remove(path); /* an empty folder, too */
}

int ath_process_state_write(const char *folder, const struct ath_process_state *state,
                            struct ath_err *err)
{
    json_auto_t *json = to_json(state);
    ath_auto_free char *path = path_of(folder);
    ath_auto_free char *text = json_dumps(json, JSON_INDENT(2));
    drop_untrusted(path);
    return ath_file_save(path, text, strlen(text), err);
}

void ath_process_state_keep(const char *folder, const struct ath_process_state *state)
{
    ATH_AUTO(ath_process_state) found = { 0 };
    if (ath_run_folder_check(folder, NULL)) /* another user could put a link there */
        return;
    if (ath_process_state_read(folder, &found, NULL) || found.id != state->id ||
        found.supervisor != state->supervisor || found.runtime != state->runtime)
        ath_process_state_write(folder, state, NULL);
}

bool ath_process_state_exists(const char *folder)
{
    ath_auto_free char *path = path_of(folder);
    return !access(path, F_OK);
}

void ath_process_state_remove(const char *folder)
{
    ath_auto_free char *path = path_of(folder);
    unlink(path);
}

static bool is_this_boot(const struct ath_process_state *state)
{
    ath_auto_free char *boot_id = ath_boot_id();
    return state->boot_id && !strcmp(state->boot_id, boot_id);
}

/* The supervisor takes the node's name before it writes the state. */
static bool is_supervisor(const struct ath_process_state *state, int pid)
{
    return pid == state->supervisor && ath_process_is(pid, state->supervisor_ticks) &&
           ath_process_is_named(pid, state->name);
}

bool ath_process_state_is_supervised(const struct ath_process_state *state)
{
    return is_this_boot(state) && is_supervisor(state, state->supervisor);
}

bool ath_process_state_has_runtime(const struct ath_process_state *state)
{
    return is_this_boot(state) && ath_process_is(state->runtime, state->runtime_ticks);
}

static bool is_left_over(const struct ath_process_state *state, const char *variable, int pid)
{
    ATH_AUTO(ath_process) process = { 0 };
    if (ath_process_read(pid, &process) || process.session != state->session)
        return false;
    return is_supervisor(state, pid) || ath_process_has_variable(pid, variable);
}

/* Returns the number of processes that it signalled. */
static size_t kill_all(const struct ath_process_state *state, const char *variable)
{
    ath_auto_free int *pids = NULL;
    size_t count, killed = 0;

    ath_process_ids(&pids, &count);
    for (size_t i = 0; i < count; i++)
        if (is_left_over(state, variable, pids[i])) {
            kill(pids[i], SIGKILL);
            killed++;
        }
    return killed;
}

void ath_process_state_kill(const struct ath_process_state *state)
{
    ath_auto_free char *variable =
        ath_xasprintf("AITHERION_SOCKET=%s", state->socket ? state->socket : "");
    uint64_t end = ath_now_ms() + KILL_TIMEOUT_MS;

    if (!is_this_boot(state) || !state->socket)
        return;
    while (kill_all(state, variable) && ath_now_ms() < end)
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000000L }, NULL);
}
