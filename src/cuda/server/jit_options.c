/* Options of the driver's compiler and linker: takes them, and answers what the driver wrote. */
#include "config.h"

#include "cuda/server/jit_options.h"
#include "proto/cuda-wire.h"

static bool is_log(uint32_t option)
{
    return option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER;
}

/* The smallest of all sizes given: which of them the driver uses is its own choice. */
static uint64_t room_of_log(struct ath_wire_list list, CUjit_option log)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        if (ath_cuda_wire_jit_option_option(from) == log)
            least = ath_cuda_least(least, ath_cuda_wire_jit_option_value(from));
    }
    return least;
}

/* Returns whether the size given for a log is the room there is; lists of names do not travel. */
static bool are_safe(struct ath_wire_list list)
{
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        uint32_t option = ath_cuda_wire_jit_option_option(from);
        uint64_t value = ath_cuda_wire_jit_option_value(from);
        if ((option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES &&
             value > room_of_log(list, CU_JIT_INFO_LOG_BUFFER)) ||
            (option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
             value > room_of_log(list, CU_JIT_ERROR_LOG_BUFFER)) ||
            option == CU_JIT_GLOBAL_SYMBOL_NAMES || option == CU_JIT_GLOBAL_SYMBOL_ADDRESSES ||
            option == CU_JIT_REFERENCED_KERNEL_NAMES || option == CU_JIT_REFERENCED_VARIABLE_NAMES)
            return false;
    }
    return true;
}

/* A log gets a buffer of the size that the client gave; a larger size would have the driver write
 * behind the buffer. */
struct ath_cuda_jit_options ath_cuda_jit_options_take(struct ath_cuda_side *side,
                                                      struct ath_wire_list list)
{
    struct ath_cuda_jit_options made = { ath_cuda_room(side, list.count, sizeof(CUjit_option)),
                                         ath_cuda_room(side, list.count, sizeof(void *)),
                                         ath_cuda_room(side, list.count, sizeof(uint64_t)),
                                         list.count };
    for (uint32_t i = 0; made.options && made.values && made.rooms && i < list.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        uint64_t value = ath_cuda_wire_jit_option_value(from);
        made.options[i] = (CUjit_option)ath_cuda_wire_jit_option_option(from);
        made.rooms[i] = is_log(made.options[i]) ? value : 0;
        made.values[i] =
            is_log(made.options[i]) ? ath_cuda_room(side, value, 1) : (void *)(uintptr_t)value;
    }
    if (!are_safe(list))
        side->status = CUDA_ERROR_INVALID_VALUE;
    return made;
}

void ath_cuda_jit_options_answer(struct ath_wire_array list,
                                 const struct ath_cuda_jit_options *options)
{
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option_builder to = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_jit_option_set_option(to, (uint32_t)options->options[i]);
        if (!is_log(options->options[i])) {
            ath_cuda_wire_jit_option_set_value(to, (uintptr_t)options->values[i]);
            continue;
        }
        size_t room = (size_t)options->rooms[i], length = strnlen(options->values[i], room);
        ath_cuda_wire_jit_option_set_value(to, room);
        ath_cuda_wire_jit_option_set_contents(
            to, (struct ath_wire_bytes){ options->values[i], length + (length < room) });
    }
}
