/*
 * Fuzzes NVML's server: an input is made into calls, each a function's number and values of every
 * kind, and what the library would answer is made of it as well, counts beyond all room among it.
 * In every case only memory that was allocated for a call may be read or written.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "nvml/server/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS_MAX = 16, MESSAGE_MAX = 1 << 20, DEVICES = 2 };

static struct {
    const uint8_t *at, *end;
} input;

static uint64_t take(size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(input.end - input.at) < bytes)
        bytes = (size_t)(input.end - input.at);
    memcpy(&value, input.at, bytes);
    input.at += bytes;
    return le64toh(value);
}

/* ---- the library ---- */

static char objects[8];
static const struct ath_nvml_facts *called;

/* Every argument is in a register or eight bytes on the stack, whatever its type. */
static nvmlReturn_t answer_anything(void *a, void *b, void *c, void *d, void *e, void *f, void *g,
                                    void *h)
{
    void *arguments[] = { a, b, c, d, e, f, g, h };
    for (size_t i = 0; i < called->parameter_count; i++) {
        const struct ath_nvml_parameter *parameter = &called->parameters[i];
        if (parameter->form == ATH_NVML_RESULT && arguments[i])
            memset(arguments[i], (int)take(1), parameter->size);
        else if (parameter->form == ATH_NVML_RESULT_HANDLE && arguments[i])
            *(void **)arguments[i] = take(1) % 2 ? &objects[take(1) % sizeof objects] : NULL;
        else if (parameter->form == ATH_NVML_COUNT && arguments[i])
            *(unsigned int *)arguments[i] = (unsigned int)take(4);
    }
    return (nvmlReturn_t)(take(1) % 10);
}

/* ---- the calls ---- */

static void put_value(struct ath_nvml_value_builder to)
{
    switch (take(1) % 6) {
    case 0:
        break;
    case 1:
        ath_nvml_value_set_number(to, take(1));
        break;
    case 2:
        ath_nvml_value_set_number(to, take(8));
        break;
    case 3: {
        struct ath_wire_array handles = ath_nvml_value_init_handles(to, (uint32_t)take(1));
        for (uint32_t i = 0; i < handles.count; i++)
            ath_wire_array_set_bits(handles, i, take(1));
        break;
    }
    default: {
        size_t length = (size_t)take(1), left = (size_t)(input.end - input.at);
        length = length < left ? length : left;
        ath_nvml_value_set_bytes(to, (struct ath_wire_bytes){ input.at, length });
        input.at += length;
    }
    }
}

static void put_calls(struct ath_nvml_calls_builder to)
{
    struct ath_wire_array calls = ath_nvml_calls_init_calls(to, (uint32_t)take(1) % CALLS_MAX + 1);
    for (uint32_t i = 0; i < calls.count; i++) {
        struct ath_nvml_call_builder call = ath_nvml_call_place(calls, i);
        ath_nvml_call_set_function(call, (uint16_t)(take(2) % (ATH_NVML_FUNCTION_COUNT + 2)));
        struct ath_wire_array given = ath_nvml_call_init_given(call, (uint32_t)take(1) % 10);
        for (uint32_t at = 0; at < given.count; at++)
            put_value(ath_nvml_value_place(given, at));
    }
}

/* ---- a session ---- */

static bool memory_room(const void *data, size_t device, const struct ath_memory_limit *asked,
                        int64_t *out_limit_bytes, int64_t *out_left_bytes)
{
    (void)data;
    (void)asked;
    *out_limit_bytes = 1 << 20;
    *out_left_bytes = (1 << 20) - (int64_t)device;
    return true;
}

static void begin(struct ath_nvml_server *nvml, const struct ath_nvml_host *host)
{
    *nvml = (struct ath_nvml_server){ .host = host, .is_ready = true };
    for (size_t i = 0; i < ATH_NVML_FUNCTION_COUNT; i++)
        nvml->functions[i] = (void (*)(void))answer_anything;
    nvml->objects = calloc(DEVICES, sizeof *nvml->objects);
    if (!nvml->objects)
        abort();
    for (size_t i = 0; i < DEVICES; i++)
        nvml->objects[i] = (struct ath_nvml_object){ ATH_NVML_HANDLE_DEVICE, &objects[i] };
    nvml->object_count = DEVICES;
}

/* One call at a time, so that the library knows which call it answers. */
static void serve(struct ath_nvml_server *nvml, struct ath_nvml_call call)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = MESSAGE_MAX };
    ATH_AUTO(ath_wire_builder) answer = { .max_bytes = MESSAGE_MAX };
    struct ath_nvml_calls calls;
    size_t length;
    int status;
    uint16_t function = ath_nvml_call_function(call);
    struct ath_nvml_call_builder copy =
        ath_nvml_call_place(ath_nvml_calls_init_calls(ath_nvml_calls_start(&builder), 1), 0);
    struct ath_wire_list given = ath_nvml_call_given(call);

    called = &ath_nvml_functions[function < ATH_NVML_FUNCTION_COUNT ? function : 0];
    ath_nvml_call_set_function(copy, function);
    struct ath_wire_array to = ath_nvml_call_init_given(copy, given.count);
    for (uint32_t i = 0; i < given.count; i++) {
        struct ath_nvml_value value = ath_nvml_value_item(given, i);
        if (ath_nvml_value_which(value) == ATH_NVML_VALUE_NUMBER)
            ath_nvml_value_set_number(ath_nvml_value_place(to, i), ath_nvml_value_number(value));
        else if (ath_nvml_value_which(value) == ATH_NVML_VALUE_BYTES)
            ath_nvml_value_set_bytes(ath_nvml_value_place(to, i), ath_nvml_value_bytes(value));
    }
    const uint8_t *frame = ath_wire_finish(&builder, &length, &status);
    if (!frame || ath_nvml_calls_open(frame + 8, length - 8, &calls))
        abort();
    ath_nvml_serve(nvml, calls, ath_nvml_answers_start(&answer));
    ath_wire_finish(&answer, &length, &status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ath_devices devices = { .count = DEVICES };
    static const struct ath_nvml_host host = { .devices = &devices, .memory_room = memory_room };
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = MESSAGE_MAX };
    ATH_AUTO(ath_nvml_server) nvml;
    struct ath_nvml_calls calls;
    size_t length;
    int status;

    input.at = data;
    input.end = data + size;
    put_calls(ath_nvml_calls_start(&builder));
    const uint8_t *frame = ath_wire_finish(&builder, &length, &status);
    if (!frame)
        return 0;
    if (ath_nvml_calls_open(frame + 8, length - 8, &calls))
        abort();
    begin(&nvml, &host);
    struct ath_wire_list list = ath_nvml_calls_calls(calls);
    for (uint32_t i = 0; i < list.count; i++)
        serve(&nvml, ath_nvml_call_item(list, i));
    return 0;
}
