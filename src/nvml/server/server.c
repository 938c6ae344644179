/* Converts calls from the wire to the library and back, by the form of each parameter. */
#include "config.h"

#include "nvml/server/server.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    OBJECTS_MAX = 65536,
    STRUCT_ROOM = 64 * 1024, /* bytes of a structure at most; NVML's largest has less than half */
};

/* A call that is being served. */
struct served {
    struct ath_nvml_server *nvml;
    const struct ath_nvml_facts *facts;
    struct ath_wire_list given;
    union ath_nvml_argument arguments[ATH_NVML_PARAMETERS_MAX];
    void *rooms[ATH_NVML_PARAMETERS_MAX];  /* results, allocated for this call */
    size_t bytes[ATH_NVML_PARAMETERS_MAX]; /* of each result, how many may be returned */
};

static void served_free(struct served *served)
{
    for (size_t i = 0; i < ATH_NVML_PARAMETERS_MAX; i++)
        free(served->rooms[i]);
}

/* ---- handles ---- */

/* Returns the number on the wire for a pointer of the library; 0 for NULL, or if memory runs
 * out. */
static uint64_t wire_of(struct ath_nvml_server *nvml, uint8_t kind, void *pointer)
{
    size_t place = 0;
    if (!pointer)
        return 0;
    for (size_t i = 0; i < nvml->object_count; i++)
        if (nvml->objects[i].kind == kind && nvml->objects[i].pointer == pointer)
            return i + 1;
    while (place < nvml->object_count && nvml->objects[place].kind)
        place++;
    if (place == nvml->object_count) {
        if (place == OBJECTS_MAX)
            return 0;
        struct ath_nvml_object *more = realloc(nvml->objects, (place + 1) * sizeof *nvml->objects);
        if (!more)
            return 0;
        nvml->objects = more;
        nvml->object_count++;
    }
    nvml->objects[place] = (struct ath_nvml_object){ .kind = kind, .pointer = pointer };
    return place + 1;
}

static nvmlReturn_t own_of(const struct ath_nvml_server *nvml, uint8_t kind, uint64_t wire,
                           void **out)
{
    *out = NULL;
    if (!wire)
        return NVML_SUCCESS;
    if (wire > nvml->object_count || nvml->objects[wire - 1].kind != kind)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = nvml->objects[wire - 1].pointer;
    return *out ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

int ath_nvml_place_of(const struct ath_nvml_server *nvml, const void *device)
{
    for (size_t i = 0; device && i < nvml->host->devices->count && i < nvml->object_count; i++)
        if (nvml->objects[i].pointer == device)
            return (int)i;
    return -1;
}

/* ---- the library ---- */

nvmlReturn_t ath_nvml_native(struct ath_nvml_server *nvml, enum ath_nvml_function function,
                             const union ath_nvml_argument *arguments)
{
    if (!nvml->functions[function]) {
        void *symbol = dlsym(nvml->library, ath_nvml_functions[function].name);
        memcpy(&nvml->functions[function], &symbol, sizeof symbol);
    }
    if (!nvml->functions[function])
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    return ath_nvml_callers[function](nvml->functions[function], arguments);
}

/* Finds a device by address, or else by UUID, or else (simulated devices, which are all served)
 * by index. */
static void *find_device(struct ath_nvml_server *nvml, size_t place)
{
    const struct ath_device *device = &nvml->host->devices->items[place];
    void *found = NULL;
    union ath_nvml_argument arguments[] = { { .number = place }, { .pointer = &found } };
    enum ath_nvml_function function = ATH_NVML_nvmlDeviceGetHandleByIndex_v2;
    if (*device->pci) {
        arguments[0].pointer = (void *)(uintptr_t)device->pci;
        function = ATH_NVML_nvmlDeviceGetHandleByPciBusId_v2;
    } else if (*device->uuid) {
        arguments[0].pointer = (void *)(uintptr_t)device->uuid;
        function = ATH_NVML_nvmlDeviceGetHandleByUUID;
    }
    return ath_nvml_native(nvml, function, arguments) ? NULL : found;
}

static nvmlReturn_t find_devices(struct ath_nvml_server *nvml)
{
    size_t count = nvml->host->devices->count;
    nvml->objects = calloc(count ? count : 1, sizeof *nvml->objects);
    if (!nvml->objects)
        return NVML_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        nvml->objects[i] = (struct ath_nvml_object){ .kind = ATH_NVML_HANDLE_DEVICE,
                                                     .pointer = find_device(nvml, i) };
    nvml->object_count = count;
    return NVML_SUCCESS;
}

static nvmlReturn_t load(struct ath_nvml_server *nvml)
{
    if (nvml->host->open_library(nvml->host->data, "libnvidia-ml.so.1", &nvml->library))
        return NVML_ERROR_LIBRARY_NOT_FOUND;
    nvmlReturn_t status = ath_nvml_native(nvml, ATH_NVML_nvmlInit_v2, NULL);
    return status ? status : find_devices(nvml);
}

void ath_nvml_server_free(struct ath_nvml_server *nvml)
{
    if (nvml)
        free(nvml->objects);
}

bool ath_nvml_has_events(const struct ath_nvml_server *nvml)
{
    for (size_t i = 0; i < nvml->object_count; i++)
        if (nvml->objects[i].kind == ATH_NVML_HANDLE_EVENT_SET)
            return true;
    return false;
}

/* ---- from the wire ---- */

static void *make_result_room(struct served *served, size_t at, size_t room, size_t bytes)
{
    served->rooms[at] = calloc(1, room ? room : 1);
    served->bytes[at] = bytes;
    return served->arguments[at].pointer = served->rooms[at];
}

static nvmlReturn_t take_text(struct served *served, size_t at, struct ath_wire_bytes text)
{
    if (text.length >= ATH_NVML_TEXT_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    char *room = make_result_room(served, at, text.length + 1, 0);
    if (room && text.length)
        memcpy(room, text.data, text.length);
    return room ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

static nvmlReturn_t take_struct(struct served *served, size_t at, struct ath_wire_bytes bytes)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    size_t size = parameter->size;
    if (parameter->is_versioned) {
        uint32_t version = 0;
        if (bytes.length >= sizeof version)
            memcpy(&version, bytes.data, sizeof version);
        size = ath_nvml_versioned_bytes(parameter, version);
        if (!size)
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    bool is_given = parameter->is_versioned || parameter->form == ATH_NVML_GIVEN_BYTES;
    if (is_given && bytes.length != size)
        return NVML_ERROR_INVALID_ARGUMENT;
    void *room = make_result_room(served, at, size < STRUCT_ROOM ? STRUCT_ROOM : size, size);
    if (room && is_given && bytes.data)
        memcpy(room, bytes.data, size);
    return room ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

static nvmlReturn_t take_value(struct served *served, size_t at, struct ath_nvml_value value)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    union ath_nvml_argument *argument = &served->arguments[at];
    struct ath_wire_bytes bytes = { 0 };
    uint64_t number = 0;

    if (ath_nvml_value_which(value) == ATH_NVML_VALUE_NUMBER)
        number = ath_nvml_value_number(value);
    else if (ath_nvml_value_which(value) == ATH_NVML_VALUE_BYTES)
        bytes = ath_nvml_value_bytes(value);
    else
        return NVML_SUCCESS; /* NULL */
    switch (parameter->form) {
    case ATH_NVML_GIVEN_NUMBER:
        argument->number = number;
        return NVML_SUCCESS;
    case ATH_NVML_GIVEN_HANDLE:
        return own_of(served->nvml, parameter->handle, number, &argument->pointer);
    case ATH_NVML_GIVEN_TEXT:
        return take_text(served, at, bytes);
    case ATH_NVML_GIVEN_BYTES:
    case ATH_NVML_RESULT:
        return take_struct(served, at, bytes);
    case ATH_NVML_RESULT_HANDLE:
        return make_result_room(served, at, sizeof(void *), sizeof(void *)) ? NVML_SUCCESS
                                                                            : NVML_ERROR_MEMORY;
    case ATH_NVML_COUNT:
        if (!make_result_room(served, at, sizeof(unsigned int), sizeof(unsigned int)))
            return NVML_ERROR_MEMORY;
        *(unsigned int *)argument->pointer =
            number < ATH_NVML_ROOM_MAX ? (unsigned int)number : ATH_NVML_ROOM_MAX;
        return NVML_SUCCESS;
    default: /* lists and texts come later, when all counts are known */
        return NVML_SUCCESS;
    }
}

/* Makes room for a text, never more than NVML can fill, and passes that size to the library. */
static nvmlReturn_t make_text(struct served *served, size_t at)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    uint64_t size = parameter->size;
    if (parameter->count_at >= 0) {
        union ath_nvml_argument *capacity = &served->arguments[parameter->count_at];
        if (capacity->number > ATH_NVML_TEXT_MAX)
            capacity->number = ATH_NVML_TEXT_MAX;
        size = capacity->number;
    }
    return make_result_room(served, at, (size_t)size + 1, (size_t)size) ? NVML_SUCCESS
                                                                        : NVML_ERROR_MEMORY;
}

/* The number of items of a list now, which the library may have changed. */
static uint64_t items_of(const struct served *served, size_t at)
{
    size_t count_at = (size_t)served->facts->parameters[at].count_at;
    const union ath_nvml_argument *count = &served->arguments[count_at];
    if (served->facts->parameters[count_at].form == ATH_NVML_GIVEN_NUMBER)
        return count->number;
    return count->pointer ? *(const unsigned int *)count->pointer : 0;
}

static nvmlReturn_t make_list(struct served *served, size_t at, struct ath_nvml_value value)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    union ath_nvml_argument *count = &served->arguments[parameter->count_at];
    uint64_t items = items_of(served, at), most = ATH_NVML_ROOM_MAX / parameter->size;
    if (items > most) {
        if (served->facts->parameters[parameter->count_at].form == ATH_NVML_GIVEN_NUMBER)
            return NVML_ERROR_INVALID_ARGUMENT;
        *(unsigned int *)count->pointer = (unsigned int)most;
        items = most;
    }
    if (parameter->is_filled && items < ATH_NVML_FILLED_MAX)
        items = ATH_NVML_FILLED_MAX;
    size_t bytes = (size_t)items * parameter->size;
    void *room = make_result_room(served, at, bytes, bytes);
    if (!room || !parameter->is_changed)
        return room ? NVML_SUCCESS : NVML_ERROR_MEMORY;
    struct ath_wire_bytes given = ath_nvml_value_bytes(value);
    if (ath_nvml_value_which(value) != ATH_NVML_VALUE_BYTES || given.length != bytes)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (bytes)
        memcpy(room, given.data, bytes);
    return NVML_SUCCESS;
}

static nvmlReturn_t make_late(struct served *served, size_t at)
{
    uint8_t form = served->facts->parameters[at].form;
    struct ath_nvml_value value = ath_nvml_value_item(served->given, (uint32_t)at);
    if (ath_nvml_value_which(value) == ATH_NVML_VALUE_NONE)
        return NVML_SUCCESS;
    if (form == ATH_NVML_RESULT_TEXT)
        return make_text(served, at);
    if (form == ATH_NVML_RESULT_ITEMS || form == ATH_NVML_RESULT_HANDLES)
        return make_list(served, at, value);
    return NVML_SUCCESS;
}

static nvmlReturn_t take_given(struct served *served)
{
    nvmlReturn_t status = NVML_SUCCESS;
    for (size_t i = 0; !status && i < served->facts->parameter_count; i++)
        status = take_value(served, i, ath_nvml_value_item(served->given, (uint32_t)i));
    for (size_t i = 0; !status && i < served->facts->parameter_count; i++)
        status = make_late(served, i);
    return status;
}

/* ---- to the wire ---- */

/* Removes devices that are not served from a list; the others move up. */
static void leave_out(struct served *served, size_t at)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    void **handles = served->arguments[at].pointer;
    uint64_t items = items_of(served, at), most = served->bytes[at] / sizeof *handles;
    unsigned int *count = served->arguments[parameter->count_at].pointer, left = 0;
    if (parameter->handle != ATH_NVML_HANDLE_DEVICE || !handles || !count)
        return;
    for (uint64_t i = 0; i < items && i < most; i++)
        if (ath_nvml_place_of(served->nvml, handles[i]) >= 0)
            handles[left++] = handles[i];
    *count = left;
}

static void put_handles(struct served *served, size_t at, struct ath_nvml_value_builder to)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    void **handles = served->arguments[at].pointer;
    uint64_t items = items_of(served, at), most = served->bytes[at] / sizeof *handles;
    struct ath_wire_array array =
        ath_nvml_value_init_handles(to, (uint32_t)(items < most ? items : most));
    for (uint32_t i = 0; i < array.count; i++)
        ath_wire_array_set_bits(array, i, wire_of(served->nvml, parameter->handle, handles[i]));
}

/* Translates the handles in a structure to the client's, in place. */
static void translate_held(struct served *served, size_t at)
{
    const struct ath_nvml_facts *facts = served->facts;
    for (size_t i = 0; i < facts->held_count; i++) {
        const struct ath_nvml_held *held = &facts->held[i];
        uint8_t *place = (uint8_t *)served->arguments[at].pointer + held->offset;
        void *own;
        if (held->parameter != at)
            continue;
        memcpy(&own, place, sizeof own);
        uint64_t wire = wire_of(served->nvml, held->handle, own);
        memcpy(place, &wire, sizeof wire);
    }
}

static void put_bytes(const struct served *served, size_t at, size_t length,
                      struct ath_nvml_value_builder to)
{
    ath_nvml_value_set_bytes(to, (struct ath_wire_bytes){ served->arguments[at].pointer, length });
}

static void put_result(struct served *served, size_t at, struct ath_nvml_value_builder to)
{
    const struct ath_nvml_parameter *parameter = &served->facts->parameters[at];
    const union ath_nvml_argument *argument = &served->arguments[at];
    uint64_t bytes;
    switch (parameter->form) {
    case ATH_NVML_RESULT:
        translate_held(served, at);
        put_bytes(served, at, served->bytes[at], to);
        break;
    case ATH_NVML_RESULT_HANDLE:
        ath_nvml_value_set_number(
            to, wire_of(served->nvml, parameter->handle, *(void **)argument->pointer));
        break;
    case ATH_NVML_RESULT_TEXT:
        put_bytes(served, at, strnlen(argument->pointer, served->bytes[at]), to);
        break;
    case ATH_NVML_RESULT_ITEMS:
        bytes = items_of(served, at) * parameter->size;
        put_bytes(served, at, bytes < served->bytes[at] ? (size_t)bytes : served->bytes[at], to);
        break;
    case ATH_NVML_RESULT_HANDLES:
        put_handles(served, at, to);
        break;
    case ATH_NVML_COUNT:
        ath_nvml_value_set_number(to, *(const unsigned int *)argument->pointer);
        break;
    default:
        break;
    }
}

/* A list that was too short still returns the length that it needs. */
static void put_results(struct served *served, nvmlReturn_t status,
                        struct ath_nvml_answer_builder answer)
{
    const struct ath_nvml_facts *facts = served->facts;
    if (status != NVML_SUCCESS && status != NVML_ERROR_INSUFFICIENT_SIZE)
        return;
    struct ath_wire_array results =
        ath_nvml_answer_init_results(answer, (uint32_t)facts->parameter_count);
    for (size_t i = 0; !status && i < facts->parameter_count; i++)
        if (facts->parameters[i].form == ATH_NVML_RESULT_HANDLES)
            leave_out(served, i);
    for (size_t i = 0; i < facts->parameter_count; i++)
        if (served->rooms[i] && (!status || facts->parameters[i].form == ATH_NVML_COUNT))
            put_result(served, i, ath_nvml_value_place(results, (uint32_t)i));
}

/* ---- a call ---- */

static nvmlReturn_t call_library(struct served *served, enum ath_nvml_function function)
{
    struct ath_nvml_server *nvml = served->nvml;
    nvmlReturn_t status = ath_nvml_owns[function]
                              ? ath_nvml_owns[function](nvml, served->arguments)
                              : ath_nvml_native(nvml, function, served->arguments);
    if (!status && served->facts->frees) {
        uint64_t wire =
            wire_of(nvml, served->facts->parameters[0].handle, served->arguments[0].pointer);
        if (wire)
            nvml->objects[wire - 1] = (struct ath_nvml_object){ 0 };
    }
    return status;
}

static nvmlReturn_t serve(struct ath_nvml_server *nvml, struct ath_nvml_call call,
                          struct ath_nvml_answer_builder answer)
{
    uint16_t function = ath_nvml_call_function(call);
    if (function >= ATH_NVML_FUNCTION_COUNT || !ath_nvml_callers[function])
        return NVML_ERROR_NOT_SUPPORTED;
    if (!nvml->is_ready)
        nvml->status = load(nvml);
    nvml->is_ready = true;
    if (nvml->status)
        return nvml->status;
    ATH_AUTO(served)
    served = { .nvml = nvml,
               .facts = &ath_nvml_functions[function],
               .given = ath_nvml_call_given(call) };
    nvmlReturn_t status = take_given(&served);
    if (!status)
        status = call_library(&served, (enum ath_nvml_function)function);
    put_results(&served, status, answer);
    return status;
}

void ath_nvml_serve(struct ath_nvml_server *nvml, struct ath_nvml_calls calls,
                    struct ath_nvml_answers_builder answers)
{
    struct ath_wire_list list = ath_nvml_calls_calls(calls);
    uint32_t count = list.count < ATH_NVML_MAX_CALLS ? list.count : ATH_NVML_MAX_CALLS;
    nvml->asked =
        (struct ath_memory_limit){ .bytes = ath_nvml_calls_memory_limit_bytes(calls),
                                   .fraction = ath_nvml_calls_memory_limit_fraction(calls) };
    struct ath_wire_array made = ath_nvml_answers_init_answers(answers, count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_nvml_answer_builder answer = ath_nvml_answer_place(made, i);
        ath_nvml_answer_set_status(answer,
                                   (uint32_t)serve(nvml, ath_nvml_call_item(list, i), answer));
    }
}
