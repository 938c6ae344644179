/* The arguments of a question to the wire, and the results of its answer back. */
#include "config.h"

#include "nvml/client/question.h"

#include <string.h>

/* ---- what goes ---- */

/* The number of items for which a list has room, as the program says. */
static uint64_t items_of(const union ath_nvml_argument *arguments,
                         const struct ath_nvml_facts *facts, int count_at)
{
    const union ath_nvml_argument *count = &arguments[count_at];
    if (facts->parameters[count_at].form == ATH_NVML_GIVEN_NUMBER)
        return count->number;
    return count->pointer ? *(const unsigned int *)count->pointer : 0;
}

static nvmlReturn_t give_struct(const struct ath_nvml_parameter *parameter, const void *from,
                                struct ath_nvml_given *out)
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
                              const union ath_nvml_argument *arguments, struct ath_nvml_given *out)
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

static nvmlReturn_t give(const struct ath_nvml_question *question, size_t at,
                         const union ath_nvml_argument *arguments, struct ath_nvml_given *out)
{
    const struct ath_nvml_facts *facts = &ath_nvml_functions[question->function];
    const struct ath_nvml_parameter *parameter = &facts->parameters[at];
    const union ath_nvml_argument *argument = &arguments[at];

    *out = (struct ath_nvml_given){ .is_there = true, .number = 1 };
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
    default: /* a returned handle */
        return NVML_SUCCESS;
    }
}

nvmlReturn_t ath_nvml_question_give(struct ath_nvml_question *question,
                                    const union ath_nvml_argument *arguments)
{
    nvmlReturn_t status = NVML_SUCCESS;
    for (size_t i = 0; !status && i < ath_nvml_functions[question->function].parameter_count; i++)
        status = give(question, i, arguments, &question->given[i]);
    return status;
}

static void put_given(const struct ath_nvml_given *given, struct ath_nvml_value_builder to)
{
    if (given->is_bytes)
        ath_nvml_value_set_bytes(to, given->bytes);
    else if (given->is_there)
        ath_nvml_value_set_number(to, given->number);
}

void ath_nvml_question_put(const struct ath_nvml_question *question,
                           struct ath_nvml_call_builder to)
{
    size_t parameters = ath_nvml_functions[question->function].parameter_count;
    ath_nvml_call_set_function(to, (uint16_t)question->function);
    struct ath_wire_array values = ath_nvml_call_init_given(to, (uint32_t)parameters);
    for (uint32_t at = 0; at < parameters; at++)
        put_given(&question->given[at], ath_nvml_value_place(values, at));
}

/* ---- what comes back ---- */

void ath_nvml_take_bytes(void *to, size_t room, struct ath_wire_bytes from)
{
    size_t length = from.length < room ? from.length : room;
    if (length)
        memcpy(to, from.data, length);
}

static void take_text(char *to, size_t room, struct ath_wire_bytes from)
{
    if (!room)
        return;
    ath_nvml_take_bytes(to, room - 1, from);
    to[from.length < room ? from.length : room - 1] = '\0';
}

static void take_handles(size_t server, void *to, size_t room, struct ath_wire_list from)
{
    void **handles = to;
    for (uint32_t i = 0; i < from.count && (i + 1) * sizeof *handles <= room; i++)
        handles[i] = ath_nvml_handle(server, ath_wire_u64(ath_wire_item(from, i), 0, 0));
}

/* Translates the handles in a returned structure, in place. */
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

static void take_value(const struct ath_nvml_question *question, size_t at, void *to,
                       struct ath_nvml_value value)
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
            ath_nvml_take_bytes(to, room, ath_nvml_value_bytes(value));
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

nvmlReturn_t ath_nvml_question_take(const struct ath_nvml_question *question,
                                    const union ath_nvml_argument *arguments,
                                    struct ath_nvml_answer answer)
{
    struct ath_wire_list results = ath_nvml_answer_results(answer);
    size_t parameters = ath_nvml_functions[question->function].parameter_count;
    for (uint32_t i = 0; i < parameters && i < results.count; i++)
        take_value(question, i, arguments[i].pointer, ath_nvml_value_item(results, i));
    return (nvmlReturn_t)ath_nvml_answer_status(answer);
}
