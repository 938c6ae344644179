/* The sessions with the servers, under one lock, and the calls that begin and end them. */
#include "config.h"

#include "nvml/client/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "nvml/client/kept_answers.h"
#include "nvml/client/question.h"
#include "proto/nvml-client.h"
#include "remote/session/open.h"

/* local.mk builds this file twice: the second time for programs of `run --local`. */
#ifdef ATH_NVML_OF_LOCAL
#define IS_LOCAL true
#else
#define IS_LOCAL false
#endif

enum { RETRY_MS = 10000 /* how long a lost server is left alone */ };

struct link {
    bool is_open, has_complained;
    struct ath_session session;
    uint64_t retry_ms;    /* when a lost server may be tried again */
    unsigned int devices; /* number at nvmlInit() */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    unsigned int users; /* calls of nvmlInit() */
    bool has_complained;
    struct ath_servers servers;
    struct ath_memory_limit limit;      /* that the program has asked for */
    struct link links[ATH_SERVERS_MAX]; /* one for each server */
} state;                                /* guarded by lock */

/* ---- the sessions ---- */

static void close_session(struct link *link)
{
    if (link->is_open)
        ath_session_free(&link->session);
    link->is_open = false;
}

static void close_links(void)
{
    for (size_t i = 0; i < ATH_SERVERS_MAX; i++)
        close_session(&state.links[i]);
}

/* Reports an error on standard error, once. */
static nvmlReturn_t report(int status, bool *has_complained, const struct ath_err *err)
{
    if (status && !*has_complained && !ath_client_is_disabled())
        ath_client_complain(err);
    *has_complained = status;
    return !status             ? NVML_SUCCESS
           : status == -EACCES ? NVML_ERROR_NO_PERMISSION
                               : NVML_ERROR_DRIVER_NOT_LOADED;
}

static nvmlReturn_t find_servers(void)
{
    struct ath_err err;
    int status = ath_client_memory_limit(&state.limit, &err);
    if (!status)
        status = IS_LOCAL ? ath_client_local_server(&state.servers, &err)
                          : ath_client_servers(&state.servers, &err);
    return report(status, &state.has_complained, &err);
}

static nvmlReturn_t open_session(size_t server)
{
    struct link *link = &state.links[server];
    struct ath_err err;
    if (ath_now_ms() < link->retry_ms)
        return NVML_ERROR_GPU_IS_LOST;
    int status = ath_client_open(state.servers.items[server], NULL, &link->session, &err);
    link->is_open = !status;
    link->retry_ms = status ? ath_now_ms() + RETRY_MS : 0;
    return report(status, &link->has_complained, &err);
}

static int exchange(struct ath_session *session, const struct ath_nvml_question *questions,
                    uint32_t count, struct ath_wire_list *out)
{
    struct ath_control_message message;
    struct ath_err err;
    struct ath_nvml_calls_builder to = ath_control_message_init_nvml(ath_session_begin(session));
    struct ath_wire_array calls = ath_nvml_calls_init_calls(to, count);
    ath_nvml_calls_set_memory_limit_bytes(to, state.limit.bytes);
    ath_nvml_calls_set_memory_limit_fraction(to, state.limit.fraction);
    for (uint32_t i = 0; i < count; i++)
        ath_nvml_question_put(&questions[i], ath_nvml_call_place(calls, i));
    int status = ath_session_ask(session, ATH_CONTROL_MESSAGE_NVML_ANSWERS, &message, &err);
    if (status)
        return status;
    *out = ath_nvml_answers_answers(ath_control_message_nvml_answers(message));
    return out->count == count ? 0 : -EBADMSG;
}

/* Asks one server. A session that the server ended because it was silent is opened again, once. */
static nvmlReturn_t ask_server(const struct ath_nvml_question *questions, uint32_t count,
                               struct ath_wire_list *out)
{
    struct link *link = &state.links[questions->server];
    for (bool was_open = link->is_open;; was_open = false) {
        nvmlReturn_t opened = link->is_open ? NVML_SUCCESS : open_session(questions->server);
        if (opened)
            return state.users ? NVML_ERROR_GPU_IS_LOST : opened;
        int status = exchange(&link->session, questions, count, out);
        if (!status)
            return NVML_SUCCESS;
        if (status == -ENOTSUP)
            return NVML_ERROR_NOT_SUPPORTED;
        close_session(link);
        if (!was_open) {
            link->retry_ms = ath_now_ms() + RETRY_MS;
            return NVML_ERROR_GPU_IS_LOST;
        }
    }
}

static void keep_answers(const struct ath_nvml_question *questions, uint32_t count)
{
    ath_nvml_kept_add(questions, count, &state.links[questions->server].session.frame);
}

static nvmlReturn_t ask(size_t server, enum ath_nvml_function function,
                        const union ath_nvml_argument *arguments)
{
    struct ath_nvml_question question = { .server = server, .function = function };
    bool is_static = ath_nvml_functions[function].class == ATH_NVML_STATIC;
    struct ath_nvml_answer answer;
    struct ath_wire_list answers;

    nvmlReturn_t status = ath_nvml_question_give(&question, arguments);
    if (status)
        return status;
    if (is_static && ath_nvml_kept_find(&question, &answer))
        return ath_nvml_question_take(&question, arguments, answer);
    status = ask_server(&question, 1, &answers);
    if (status)
        return status;
    status = ath_nvml_question_take(&question, arguments, ath_nvml_answer_item(answers, 0));
    if (is_static)
        keep_answers(&question, 1);
    return status;
}

/* ---- what every program asks ---- */

static const struct snapshot {
    enum ath_nvml_function function;
    uint64_t text_room; /* as NVML's macros set it */
} of_device[] = {
    { ATH_NVML_nvmlDeviceGetHandleByIndex_v2, 0 },
    { ATH_NVML_nvmlDeviceGetIndex, 0 },
    { ATH_NVML_nvmlDeviceGetName, 96 },
    { ATH_NVML_nvmlDeviceGetUUID, 96 },
    { ATH_NVML_nvmlDeviceGetUUID, 80 },
    { ATH_NVML_nvmlDeviceGetSerial, 30 },
    { ATH_NVML_nvmlDeviceGetPciInfo_v3, 0 },
    { ATH_NVML_nvmlDeviceGetMinorNumber, 0 },
    { ATH_NVML_nvmlDeviceGetBrand, 0 },
    { ATH_NVML_nvmlDeviceGetArchitecture, 0 },
    { ATH_NVML_nvmlDeviceGetCudaComputeCapability, 0 },
};

static const struct snapshot of_system[] = {
    { ATH_NVML_nvmlDeviceGetCount_v2, 0 },
    { ATH_NVML_nvmlSystemGetDriverVersion, 80 },
    { ATH_NVML_nvmlSystemGetNVMLVersion, 80 },
    { ATH_NVML_nvmlSystemGetCudaDriverVersion_v2, 0 },
};

enum {
    OF_DEVICE = sizeof of_device / sizeof *of_device,
    OF_SYSTEM = sizeof of_system / sizeof *of_system,
    SNAPSHOT_DEVICES_MAX = 16,
};

/* Builds the question that a program would ask about a server's device. */
static void pose(size_t server, const struct snapshot *snapshot, uint64_t place,
                 struct ath_nvml_question *out)
{
    static uint64_t target[64]; /* stands for the result; nothing is written to it */
    const struct ath_nvml_facts *facts = &ath_nvml_functions[snapshot->function];
    union ath_nvml_argument arguments[ATH_NVML_PARAMETERS_MAX];
    for (size_t i = 0; i < facts->parameter_count; i++) {
        if (facts->parameters[i].form == ATH_NVML_GIVEN_HANDLE)
            arguments[i].pointer = ath_nvml_handle(server, place + 1);
        else if (facts->parameters[i].form == ATH_NVML_GIVEN_NUMBER)
            arguments[i].number = snapshot->text_room ? snapshot->text_room : place;
        else
            arguments[i].pointer = target;
    }
    *out = (struct ath_nvml_question){ .server = server, .function = snapshot->function };
    ath_nvml_question_give(out, arguments);
}

/* Asks a server for the static facts with which a program begins, in two messages. If that
 * fails, facts are asked for when the program needs them, except the number of devices. */
static nvmlReturn_t take_snapshot(size_t server)
{
    static struct ath_nvml_question
        questions[SNAPSHOT_DEVICES_MAX * OF_DEVICE]; /* guarded by lock */
    struct ath_wire_list answers;
    uint32_t count = 0, devices = 0;

    for (size_t i = 0; i < OF_SYSTEM; i++)
        pose(server, &of_system[i], 0, &questions[i]);
    nvmlReturn_t status = ask_server(questions, OF_SYSTEM, &answers);
    if (status)
        return status;
    struct ath_nvml_answer first = ath_nvml_answer_item(answers, 0);
    struct ath_wire_bytes number =
        ath_nvml_value_bytes(ath_nvml_value_item(ath_nvml_answer_results(first), 0));
    ath_nvml_take_bytes(&devices, sizeof devices, number);
    state.links[server].devices = devices;
    keep_answers(questions, OF_SYSTEM);
    for (uint32_t place = 0; place < devices && place < SNAPSHOT_DEVICES_MAX; place++)
        for (size_t i = 0; i < OF_DEVICE; i++)
            pose(server, &of_device[i], place, &questions[count++]);
    if (count && !ask_server(questions, count, &answers))
        keep_answers(questions, count);
    return NVML_SUCCESS;
}

nvmlReturn_t ath_nvml_ask_one(size_t server, enum ath_nvml_function function,
                              const union ath_nvml_argument *arguments)
{
    nvmlReturn_t status = NVML_ERROR_UNINITIALIZED;
    pthread_mutex_lock(&lock);
    if (state.users)
        status = server < state.servers.count ? ask(server, function, arguments)
                                              : NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_unlock(&lock);
    return status;
}

size_t ath_nvml_servers(unsigned int out_devices[ATH_SERVERS_MAX])
{
    pthread_mutex_lock(&lock);
    size_t count = state.users ? state.servers.count : 0;
    for (size_t i = 0; i < count; i++)
        out_devices[i] = state.links[i].devices;
    pthread_mutex_unlock(&lock);
    return count;
}

nvmlReturn_t ath_nvml_refuse(enum ath_nvml_function function)
{
    static atomic_bool is_said[ATH_NVML_FUNCTION_COUNT];
    const struct ath_nvml_facts *facts = &ath_nvml_functions[function];
    if (ath_client_logs_calls() && !atomic_exchange(&is_said[function], true))
        fprintf(stderr, "aitherion: %s is not supported: %s\n", facts->name, facts->reason);
    return facts->class == ATH_NVML_FORBIDDEN ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_SUPPORTED;
}

/* ---- beginning and end ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* The child of a fork leaves the sessions to its parent and opens its own. */
static void in_child(void)
{
    close_links();
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static nvmlReturn_t begin_server(size_t server)
{
    const union ath_nvml_argument none = { 0 };
    state.links[server].retry_ms = 0;
    nvmlReturn_t status = ask(server, ATH_NVML_nvmlInit_v2, &none);
    return status ? status : take_snapshot(server);
}

static nvmlReturn_t begin(void)
{
    nvmlReturn_t status = find_servers();
    for (size_t i = 0; !status && i < state.servers.count; i++)
        status = begin_server(i);
    if (status) {
        close_links();
        ath_nvml_kept_forget();
    }
    return status;
}

nvmlReturn_t ath_nvml_by_hand_nvmlInit_v2(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    nvmlReturn_t status = state.users ? NVML_SUCCESS : begin();
    if (!status)
        state.users++;
    pthread_mutex_unlock(&lock);
    return status;
}

nvmlReturn_t ath_nvml_by_hand_nvmlShutdown(void)
{
    nvmlReturn_t status = NVML_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!state.users) {
        status = NVML_ERROR_UNINITIALIZED;
    } else if (!--state.users) {
        close_links();
        ath_nvml_kept_forget();
        ath_nvml_forget_sets();
    }
    pthread_mutex_unlock(&lock);
    return status;
}
