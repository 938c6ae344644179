/* A session with each server under one lock, and the answers that hold. */
#include "config.h"

#include "runtime/nvml/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proto/nvml-client.h"
#include "runtime/client/open.h"

enum {
    RETRY_MS = 10000, /* a server that did not come back is not looked for before */
    KEY_BYTES = 512,  /* static functions take less */
    KEPT_MAX = 8192,
};

/* A parameter as it goes. */
struct given {
    bool is_there, is_bytes;
    uint64_t number;
    struct ath_wire_bytes bytes;
    size_t room; /* for what comes back */
};

struct question {
    size_t server; /* its place among them */
    enum ath_nvml_function function;
    struct given given[ATH_NVML_PARAMETERS_MAX];
};

/* A message whose answers hold. */
struct kept_frame {
    struct kept_frame *next;
    struct ath_frame frame;
};

/* An answer in one of them, to what is in key. */
struct kept {
    struct kept *next;
    struct ath_nvml_answer answer;
    size_t length;
    uint8_t key[];
};

struct key {
    uint8_t bytes[KEY_BYTES];
    size_t length; /* above KEY_BYTES: it did not fit */
};

struct link {
    bool is_open, has_complained;
    struct ath_session session;
    uint64_t retry_ms;    /* when a lost server may be looked for again */
    unsigned int devices; /* that it had at nvmlInit() */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    unsigned int users; /* of nvmlInit() */
    bool has_complained;
    struct ath_servers servers;
    struct link links[ATH_SERVERS_MAX]; /* to each of them */
    struct kept *kept;
    size_t kept_count;
    struct kept_frame *frames;
} state; /* under lock */

/* ---- what goes ---- */

/* How many items a list has room for, as the program says. */
static uint64_t items_of(const union ath_nvml_argument *arguments,
                         const struct ath_nvml_facts *facts, int count_at)
{
    const union ath_nvml_argument *count = &arguments[count_at];
    if (facts->parameters[count_at].form == ATH_NVML_GIVEN_NUMBER)
        return count->number;
    return count->pointer ? *(const unsigned int *)count->pointer : 0;
}

static nvmlReturn_t give_struct(const struct ath_nvml_parameter *parameter, const void *from,
                                struct given *out)
{
    uint32_t version;
    out->room = parameter->size;
    if (parameter->is_versioned) {
        memcpy(&version, from, sizeof version);
        out->room = ath_nvml_versioned_bytes(parameter, version);
    }
    out->is_bytes = parameter->is_versioned || parameter->form == ATH_NVML_GIVEN_BYTES;
    out->bytes = (struct ath_wire_bytes){ from, out->room };
    return out->room ? NVML_SUCCESS : NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

static nvmlReturn_t give_list(const struct ath_nvml_facts *facts, size_t at,
                              const union ath_nvml_argument *arguments, struct given *out)
{
    const struct ath_nvml_parameter *parameter = &facts->parameters[at];
    uint64_t most = ATH_NVML_ROOM_MAX / parameter->size;
    uint64_t count = items_of(arguments, facts, parameter->count_at);
    if (parameter->is_filled)
        count = ATH_NVML_FILLED_MAX;
    if (count > most && parameter->is_changed)
        return NVML_ERROR_INVALID_ARGUMENT;
    out->room = (size_t)(count < most ? count : most) * parameter->size;
    out->is_bytes = parameter->is_changed;
    out->bytes = (struct ath_wire_bytes){ arguments[at].pointer, out->room };
    return NVML_SUCCESS;
}

static nvmlReturn_t give(const struct question *question, size_t at,
                         const union ath_nvml_argument *arguments, struct given *out)
{
    const struct ath_nvml_facts *facts = &ath_nvml_functions[question->function];
    const struct ath_nvml_parameter *parameter = &facts->parameters[at];
    const union ath_nvml_argument *argument = &arguments[at];

    *out = (struct given){ .is_there = true, .number = 1 };
    if (parameter->form == ATH_NVML_GIVEN_NUMBER) {
        out->number = argument->number;
        return NVML_SUCCESS;
    }
    out->is_there = argument->pointer != NULL;
    if (!out->is_there)
        return NVML_SUCCESS;
    switch (parameter->form) {
    case ATH_NVML_GIVEN_HANDLE:
        out->number = ath_nvml_number_of(argument->pointer);
        return ath_nvml_server_of(argument->pointer) == question->server
                   ? NVML_SUCCESS
                   : NVML_ERROR_INVALID_ARGUMENT;
    case ATH_NVML_GIVEN_TEXT:
        out->is_bytes = true;
        out->bytes = (struct ath_wire_bytes){ argument->pointer, strlen(argument->pointer) };
        return out->bytes.length < ATH_NVML_TEXT_MAX ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
    case ATH_NVML_GIVEN_BYTES:
    case ATH_NVML_RESULT:
        return give_struct(parameter, argument->pointer, out);
    case ATH_NVML_RESULT_TEXT:
        out->room =
            parameter->count_at < 0 ? parameter->size : arguments[parameter->count_at].number;
        return NVML_SUCCESS;
    case ATH_NVML_RESULT_ITEMS:
    case ATH_NVML_RESULT_HANDLES:
        return give_list(facts, at, arguments, out);
    case ATH_NVML_COUNT:
        out->number = *(const unsigned int *)argument->pointer;
        return NVML_SUCCESS;
    default: /* a handle that comes back */
        return NVML_SUCCESS;
    }
}

static void put(const struct given *given, struct ath_nvml_value_builder to)
{
    if (given->is_bytes)
        ath_nvml_value_set_bytes(to, given->bytes);
    else if (given->is_there)
        ath_nvml_value_set_number(to, given->number);
}

/* ---- what comes back ---- */

static void take_bytes(void *to, size_t room, struct ath_wire_bytes from)
{
    size_t length = from.length < room ? from.length : room;
    if (length)
        memcpy(to, from.data, length);
}

static void take_text(char *to, size_t room, struct ath_wire_bytes from)
{
    if (!room)
        return;
    take_bytes(to, room - 1, from);
    to[from.length < room ? from.length : room - 1] = '\0';
}

static void take_handles(size_t server, void *to, size_t room, struct ath_wire_list from)
{
    void **handles = to;
    for (uint32_t i = 0; i < from.count && (i + 1) * sizeof *handles <= room; i++)
        handles[i] = ath_nvml_handle(server, ath_wire_u64(ath_wire_item(from, i), 0, 0));
}

/* The handles in a structure that came back, in place. */
static void take_held(size_t server, const struct ath_nvml_facts *facts, size_t at, void *to,
                      size_t room)
{
    for (size_t i = 0; i < facts->held_count; i++) {
        const struct ath_nvml_held *held = &facts->held[i];
        uint8_t *place = (uint8_t *)to + held->offset;
        uint64_t number;
        if (held->parameter != at || held->offset + sizeof number > room)
            continue;
        memcpy(&number, place, sizeof number);
        void *handle = ath_nvml_handle(server, number);
        memcpy(place, &handle, sizeof handle);
    }
}

static void take_number(size_t server, uint8_t form, void *to, uint64_t number)
{
    if (form == ATH_NVML_RESULT_HANDLE)
        *(void **)to = ath_nvml_handle(server, number);
    else if (form == ATH_NVML_COUNT)
        *(unsigned int *)to = (unsigned int)number;
}

static void take(const struct question *question, size_t at, void *to, struct ath_nvml_value value)
{
    const struct ath_nvml_facts *facts = &ath_nvml_functions[question->function];
    uint8_t form = facts->parameters[at].form;
    size_t room = question->given[at].room, length = ath_nvml_value_bytes(value).length;
    if (!to || form == ATH_NVML_GIVEN_NUMBER || form == ATH_NVML_GIVEN_HANDLE)
        return;
    switch (ath_nvml_value_which(value)) {
    case ATH_NVML_VALUE_NUMBER:
        take_number(question->server, form, to, ath_nvml_value_number(value));
        break;
    case ATH_NVML_VALUE_BYTES:
        if (form == ATH_NVML_RESULT_TEXT)
            take_text(to, room, ath_nvml_value_bytes(value));
        else if (form == ATH_NVML_RESULT || form == ATH_NVML_RESULT_ITEMS)
            take_bytes(to, room, ath_nvml_value_bytes(value));
        take_held(question->server, facts, at, to, length < room ? length : room);
        break;
    case ATH_NVML_VALUE_HANDLES:
        if (form == ATH_NVML_RESULT_HANDLES)
            take_handles(question->server, to, room, ath_nvml_value_handles(value));
        break;
    default:
        break;
    }
}

static nvmlReturn_t take_answer(const struct question *question,
                                const union ath_nvml_argument *arguments,
                                struct ath_nvml_answer answer)
{
    struct ath_wire_list results = ath_nvml_answer_results(answer);
    size_t parameters = ath_nvml_functions[question->function].parameter_count;
    for (uint32_t i = 0; i < parameters && i < results.count; i++)
        take(question, i, arguments[i].pointer, ath_nvml_value_item(results, i));
    return (nvmlReturn_t)ath_nvml_answer_status(answer);
}

/* ---- answers that hold ---- */

static void add_to_key(struct key *key, const void *bytes, size_t length)
{
    if (key->length + length <= sizeof key->bytes && length)
        memcpy(key->bytes + key->length, bytes, length);
    key->length += length;
}

static void make_key(const struct question *question, struct key *out)
{
    const struct given *given = question->given;
    out->length = 0;
    add_to_key(out, &question->server, sizeof question->server);
    add_to_key(out, &question->function, sizeof question->function);
    for (size_t i = 0; i < ath_nvml_functions[question->function].parameter_count; i++) {
        uint64_t head[2] = { given[i].is_bytes ? 2 : given[i].is_there,
                             given[i].is_bytes   ? given[i].bytes.length
                             : given[i].is_there ? given[i].number
                                                 : 0 };
        add_to_key(out, head, sizeof head);
        if (given[i].is_bytes)
            add_to_key(out, given[i].bytes.data, given[i].bytes.length);
    }
}

static void forget_all(void)
{
    for (struct kept *one = state.kept, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    for (struct kept_frame *one = state.frames, *next; one; one = next) {
        next = one->next;
        ath_frame_free(&one->frame);
        free(one);
    }
    state.kept = NULL;
    state.kept_count = 0;
    state.frames = NULL;
}

static const struct kept *find_kept(const struct key *key)
{
    const struct kept *one = state.kept;
    while (one && (one->length != key->length || memcmp(one->key, key->bytes, key->length) != 0))
        one = one->next;
    return one;
}

static void keep(const struct key *key, struct ath_nvml_answer answer)
{
    struct kept *one = key->length > sizeof key->bytes ? NULL : malloc(sizeof *one + key->length);
    if (!one)
        return; /* it is asked again */
    *one = (struct kept){ .next = state.kept, .answer = answer, .length = key->length };
    memcpy(one->key, key->bytes, key->length);
    state.kept = one;
    state.kept_count++;
}

/* The answers in a session's frame, in a copy that stays; none without memory. */
static struct ath_wire_list keep_frame(const struct ath_frame *frame)
{
    struct ath_control_message message;
    if (state.kept_count >= KEPT_MAX)
        forget_all();
    struct kept_frame *one = calloc(1, sizeof *one);
    if (!one)
        return (struct ath_wire_list){ 0 };
    if (ath_frame_copy(&one->frame, frame->bytes, frame->length) ||
        ath_control_message_open(ath_frame_message(&one->frame),
                                 ath_frame_message_length(&one->frame), &message)) {
        ath_frame_free(&one->frame);
        free(one);
        return (struct ath_wire_list){ 0 };
    }
    one->next = state.frames;
    state.frames = one;
    return ath_nvml_answers_answers(ath_control_message_nvml_answers(message));
}

static bool holds(struct ath_nvml_answer answer)
{
    uint32_t status = ath_nvml_answer_status(answer);
    return status == NVML_SUCCESS || status == NVML_ERROR_NOT_SUPPORTED;
}

/* Those answers to static questions, of one server, that hold. */
static void keep_answers(const struct question *questions, uint32_t count)
{
    struct ath_wire_list answers = keep_frame(&state.links[questions->server].session.frame);
    for (uint32_t i = 0; i < count && i < answers.count; i++) {
        struct ath_nvml_answer answer = ath_nvml_answer_item(answers, i);
        struct key key;
        if (ath_nvml_functions[questions[i].function].class != ATH_NVML_STATIC || !holds(answer))
            continue;
        make_key(&questions[i], &key);
        keep(&key, answer);
    }
}

/* ---- the sessions ---- */

static void close_session(struct link *link)
{
    if (link->is_open)
        ath_session_free(&link->session);
    link->is_open = false;
}

static void close_all(void)
{
    for (size_t i = 0; i < ATH_SERVERS_MAX; i++)
        close_session(&state.links[i]);
}

/* Says what is wrong once, not each time that it is. */
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
    return report(ath_client_servers(&state.servers, &err), &state.has_complained, &err);
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

static int exchange(struct ath_session *session, const struct question *questions, uint32_t count,
                    struct ath_wire_list *out)
{
    struct ath_control_message message;
    struct ath_err err;
    struct ath_wire_array calls =
        ath_nvml_calls_init_calls(ath_control_message_init_nvml(ath_session_begin(session)), count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_nvml_call_builder call = ath_nvml_call_place(calls, i);
        size_t parameters = ath_nvml_functions[questions[i].function].parameter_count;
        ath_nvml_call_set_function(call, (uint16_t)questions[i].function);
        struct ath_wire_array values = ath_nvml_call_init_given(call, (uint32_t)parameters);
        for (uint32_t at = 0; at < parameters; at++)
            put(&questions[i].given[at], ath_nvml_value_place(values, at));
    }
    int status = ath_session_ask(session, ATH_CONTROL_MESSAGE_NVML_ANSWERS, &message, &err);
    if (status)
        return status;
    *out = ath_nvml_answers_answers(ath_control_message_nvml_answers(message));
    return out->count == count ? 0 : -EBADMSG;
}

/* Questions to one server. A session that the server ended while it was silent is opened again,
 * once. */
static nvmlReturn_t ask_server(const struct question *questions, uint32_t count,
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

static nvmlReturn_t give_all(struct question *question, const union ath_nvml_argument *arguments)
{
    nvmlReturn_t status = NVML_SUCCESS;
    for (size_t i = 0; !status && i < ath_nvml_functions[question->function].parameter_count; i++)
        status = give(question, i, arguments, &question->given[i]);
    return status;
}

static nvmlReturn_t ask(size_t server, enum ath_nvml_function function,
                        const union ath_nvml_argument *arguments)
{
    struct question question = { .server = server, .function = function };
    bool is_static = ath_nvml_functions[function].class == ATH_NVML_STATIC;
    struct ath_wire_list answers;

    nvmlReturn_t status = give_all(&question, arguments);
    if (status)
        return status;
    if (is_static) {
        struct key key;
        make_key(&question, &key);
        const struct kept *kept = find_kept(&key);
        if (kept)
            return take_answer(&question, arguments, kept->answer);
    }
    status = ask_server(&question, 1, &answers);
    if (status)
        return status;
    status = take_answer(&question, arguments, ath_nvml_answer_item(answers, 0));
    if (is_static)
        keep_answers(&question, 1);
    return status;
}

/* ---- what every program asks ---- */

static const struct snapshot {
    enum ath_nvml_function function;
    uint64_t text_room; /* as NVML's macros have it */
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

/* The question as a program would put it, of the device at a server's place. */
static void pose(size_t server, const struct snapshot *snapshot, uint64_t place,
                 struct question *out)
{
    static uint64_t target[64]; /* where the answer would go: nothing is written there */
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
    *out = (struct question){ .server = server, .function = snapshot->function };
    give_all(out, arguments);
}

/* What static facts a program begins with, in two messages to a server; who cannot have them so
 * asks anew, but for how many devices it has. */
static nvmlReturn_t take_snapshot(size_t server)
{
    static struct question questions[SNAPSHOT_DEVICES_MAX * OF_DEVICE]; /* under lock */
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
    take_bytes(&devices, sizeof devices, number);
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
    if (ath_client_variable("AITHERION_CUDA_LOG") && !atomic_exchange(&is_said[function], true))
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

/* The sessions stay the parent's; the child opens its own. */
static void in_child(void)
{
    close_all();
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
        close_all();
        forget_all();
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
        close_all();
        forget_all();
        ath_nvml_forget_sets();
    }
    pthread_mutex_unlock(&lock);
    return status;
}
