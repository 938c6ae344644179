/*
 * Makes one list of the devices of several servers. The table says which servers a function
 * concerns ($several and $apart in proto/nvml.capnp). A lost server fails for its own devices only.
 */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "nvml/client/client.h"

enum {
    EVENT_SETS_MAX = 64,
    EVENT_SETS =
        0xff, /* instead of a server's index, in the handle of an event set: it spans all servers */
};

struct call {
    enum ath_nvml_function function;
    const union ath_nvml_argument *arguments;
    size_t servers;
    unsigned int devices[ATH_SERVERS_MAX]; /* by server */
};

typedef nvmlReturn_t (*asker)(const struct call *call);

static nvmlReturn_t ask_one(const struct call *call, size_t server)
{
    return ath_nvml_ask_one(server, call->function, call->arguments);
}

/* The server of the first handle; without handles the first server. */
static size_t owner(const struct call *call)
{
    const struct ath_nvml_facts *facts = &ath_nvml_functions[call->function];
    for (size_t i = 0; i < facts->parameter_count; i++)
        if (facts->parameters[i].form == ATH_NVML_GIVEN_HANDLE)
            return ath_nvml_server_of(call->arguments[i].pointer);
    return 0;
}

static nvmlReturn_t ask_owner(const struct call *call)
{
    return ask_one(call, owner(call));
}

/* The table has the result for devices of two different servers. */
static nvmlReturn_t ask_of_two(const struct call *call)
{
    const struct ath_nvml_facts *facts = &ath_nvml_functions[call->function];
    const union ath_nvml_argument *arguments = call->arguments;
    size_t first = ath_nvml_server_of(arguments[0].pointer),
           second = ath_nvml_server_of(arguments[1].pointer);
    int *out = arguments[facts->parameter_count - 1].pointer;
    if (first == second)
        return ask_one(call, first);
    if (first >= call->servers || second >= call->servers || !out || !arguments[0].pointer ||
        !arguments[1].pointer)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = facts->apart;
    return NVML_SUCCESS;
}

/* ---- numbers of devices ---- */

static unsigned int devices_before(const struct call *call, size_t server)
{
    unsigned int sum = 0;
    for (size_t i = 0; i < server && i < call->servers; i++)
        sum += call->devices[i];
    return sum;
}

static nvmlReturn_t count(const struct call *call)
{
    unsigned int *out = call->arguments[0].pointer;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = devices_before(call, call->servers);
    return NVML_SUCCESS;
}

static nvmlReturn_t device_at_place(const struct call *call)
{
    uint64_t place = call->arguments[0].number;
    for (size_t i = 0; i < call->servers; i++) {
        if (place < call->devices[i]) {
            union ath_nvml_argument of_server[] = { { .number = place }, call->arguments[1] };
            return ath_nvml_ask_one(i, call->function, of_server);
        }
        place -= call->devices[i];
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t place_of_device(const struct call *call)
{
    unsigned int *out = call->arguments[1].pointer;
    size_t server = owner(call);
    nvmlReturn_t status = ask_one(call, server);
    if (!status && out)
        *out += devices_before(call, server);
    return status;
}

/* ---- all servers ---- */

/* Asks one server after the other until one knows the answer. */
static nvmlReturn_t find(const struct call *call)
{
    nvmlReturn_t first = ask_one(call, 0), status = first;
    for (size_t i = 1; status && i < call->servers; i++)
        status = ask_one(call, i);
    return status ? first : NVML_SUCCESS;
}

static nvmlReturn_t least(const struct call *call)
{
    int *out = call->arguments[0].pointer, found = 0;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < call->servers; i++) {
        nvmlReturn_t status = ask_one(call, i);
        if (status)
            return status;
        found = !i || *out < found ? *out : found;
    }
    *out = found;
    return NVML_SUCCESS;
}

/* ---- event sets ---- */

/* An event set: one at each server. */
static struct event_set {
    atomic_bool is_made;
    void *of_server[ATH_SERVERS_MAX];
} sets[EVENT_SETS_MAX];

static struct event_set *find_set(const void *handle)
{
    uint64_t number = ath_nvml_number_of(handle);
    if (ath_nvml_server_of(handle) != EVENT_SETS || !number || number > EVENT_SETS_MAX ||
        !atomic_load(&sets[number - 1].is_made))
        return NULL;
    return &sets[number - 1];
}

static struct event_set *take_place(void)
{
    for (size_t i = 0; i < EVENT_SETS_MAX; i++)
        if (!atomic_exchange(&sets[i].is_made, true))
            return &sets[i];
    return NULL;
}

static nvmlReturn_t free_set(struct event_set *set)
{
    nvmlReturn_t status = NVML_SUCCESS;
    for (size_t i = 0; i < ATH_SERVERS_MAX; i++) {
        union ath_nvml_argument argument = { .pointer = set->of_server[i] };
        if (argument.pointer && ath_nvml_ask_one(i, ATH_NVML_nvmlEventSetFree, &argument))
            status = NVML_ERROR_UNKNOWN;
    }
    memset(set->of_server, 0, sizeof set->of_server);
    atomic_store(&set->is_made, false);
    return status;
}

static nvmlReturn_t make_set(const struct call *call)
{
    void **out = call->arguments[0].pointer;
    struct event_set *set = out ? take_place() : NULL;
    nvmlReturn_t status = NVML_SUCCESS;
    if (!set)
        return out ? NVML_ERROR_MEMORY : NVML_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; !status && i < call->servers; i++) {
        union ath_nvml_argument argument = { .pointer = &set->of_server[i] };
        status = ath_nvml_ask_one(i, call->function, &argument);
    }
    if (status)
        (void)free_set(set);
    else
        *out = ath_nvml_handle(EVENT_SETS, (uint64_t)(set - sets) + 1);
    return status;
}

static nvmlReturn_t register_events(const struct call *call, const struct event_set *set)
{
    size_t server = owner(call);
    union ath_nvml_argument arguments[] = { call->arguments[0], call->arguments[1], { 0 } };
    if (server >= call->servers)
        return NVML_ERROR_INVALID_ARGUMENT;
    arguments[2].pointer = set->of_server[server];
    return ath_nvml_ask_one(server, call->function, arguments);
}

/* Each server gets its part of the time in turn. */
static nvmlReturn_t wait_for_event(const struct call *call, const struct event_set *set)
{
    uint64_t time_ms = call->arguments[2].number, part_ms = time_ms / call->servers;
    nvmlReturn_t status = NVML_ERROR_TIMEOUT;
    for (size_t i = 0; status == NVML_ERROR_TIMEOUT && i < call->servers; i++) {
        union ath_nvml_argument arguments[] = {
            { .pointer = set->of_server[i] },
            call->arguments[1],
            { .number = time_ms && !part_ms ? 1 : part_ms },
        };
        status = ath_nvml_ask_one(i, call->function, arguments);
    }
    return status;
}

static nvmlReturn_t ask_of_set(const struct call *call)
{
    bool has_device = call->function == ATH_NVML_nvmlDeviceRegisterEvents;
    if (call->function == ATH_NVML_nvmlEventSetCreate)
        return make_set(call);
    struct event_set *set = find_set(call->arguments[has_device ? 2 : 0].pointer);
    if (!set)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (has_device)
        return register_events(call, set);
    return call->function == ATH_NVML_nvmlEventSetFree ? free_set(set) : wait_for_event(call, set);
}

void ath_nvml_forget_sets(void)
{
    for (size_t i = 0; i < EVENT_SETS_MAX; i++)
        atomic_store(&sets[i].is_made, false);
}

/* ---- all functions ---- */

nvmlReturn_t ath_nvml_ask(enum ath_nvml_function function, const union ath_nvml_argument *arguments)
{
    static const asker askers[] = {
        [ATH_NVML_SEVERAL_OWNER] = ask_owner,       [ATH_NVML_SEVERAL_APART] = ask_of_two,
        [ATH_NVML_SEVERAL_COUNT] = count,           [ATH_NVML_SEVERAL_PLACE] = device_at_place,
        [ATH_NVML_SEVERAL_INDEX] = place_of_device, [ATH_NVML_SEVERAL_FIND] = find,
        [ATH_NVML_SEVERAL_LEAST] = least,           [ATH_NVML_SEVERAL_SETS] = ask_of_set,
    };
    struct call call = { .function = function, .arguments = arguments };
    call.servers = ath_nvml_servers(call.devices);
    return call.servers < 2 ? ask_one(&call, 0)
                            : askers[ath_nvml_functions[function].several](&call);
}
