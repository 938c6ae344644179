/* Sends options of the driver's compiler and linker, and takes what the driver wrote. */
#include "config.h"

#include "cuda/client/jit_options.h"

#include "cuda/common/call_side.h"
#include "proto/cuda-wire.h"

/* An option's value is a number stored in a pointer, except the two logs, which are buffers. Their
 * sizes are separate options. Options that point to lists of names or addresses are not supported:
 * nvcc and NVRTC have used none since CUDA 12. */
static bool is_log(unsigned int option)
{
    return option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER;
}

static bool is_list(unsigned int option)
{
    return (option >= CU_JIT_GLOBAL_SYMBOL_NAMES && option <= CU_JIT_GLOBAL_SYMBOL_ADDRESSES) ||
           option == CU_JIT_REFERENCED_KERNEL_NAMES || option == CU_JIT_REFERENCED_VARIABLE_NAMES;
}

struct ath_cuda_log_rooms ath_cuda_log_rooms_of(const CUjit_option *options, void **values,
                                                unsigned int count)
{
    struct ath_cuda_log_rooms rooms = { 0 };
    for (unsigned int i = count; options && values && i-- > 0;) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            rooms.info = (uint32_t)(uintptr_t)values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            rooms.error = (uint32_t)(uintptr_t)values[i];
    }
    return rooms;
}

static uint32_t room_of(const struct ath_cuda_log_rooms *rooms, CUjit_option log)
{
    return log == CU_JIT_INFO_LOG_BUFFER ? rooms->info : rooms->error;
}

CUresult ath_cuda_check_options(const CUjit_option *options, void **values, unsigned int count)
{
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++)
        if (is_list(options[i]))
            return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* The number that travels: the room of a log, and the value of another option. */
static uint64_t number_of(const CUjit_option *options, void **values, unsigned int i,
                          const struct ath_cuda_log_rooms *rooms)
{
    return is_log(options[i]) ? room_of(rooms, options[i]) : (uintptr_t)values[i];
}

void ath_cuda_put_options(struct ath_wire_array list, const CUjit_option *options, void **values,
                          unsigned int count)
{
    struct ath_cuda_log_rooms rooms = ath_cuda_log_rooms_of(options, values, count);
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option_builder to = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_jit_option_set_option(to, (uint32_t)options[i]);
        ath_cuda_wire_jit_option_set_value(to, number_of(options, values, i, &rooms));
    }
}

void ath_cuda_fingerprint_options(struct ath_fingerprint *print, const CUjit_option *options,
                                  void **values, unsigned int count)
{
    struct ath_cuda_log_rooms rooms = ath_cuda_log_rooms_of(options, values, count);
    ath_fingerprint_add(print, &count, sizeof count);
    for (unsigned int i = 0; i < count; i++) {
        bool is_answer = options[i] == CU_JIT_WALL_TIME; /* the driver does not read it */
        const uint64_t option[] = { (uint64_t)options[i],
                                    is_answer ? 0 : number_of(options, values, i, &rooms) };
        ath_fingerprint_add(print, option, sizeof option);
    }
}

void ath_cuda_take_options(struct ath_wire_list list, const CUjit_option *options, void **values,
                           unsigned int count, const struct ath_cuda_log_rooms *rooms)
{
    for (uint32_t i = 0; i < list.count && i < count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        struct ath_wire_bytes log = ath_cuda_wire_jit_option_contents(from);
        if (!is_log(options[i]))
            values[i] = (void *)(uintptr_t)ath_cuda_wire_jit_option_value(from);
        else if (values[i] && log.length <= room_of(rooms, options[i]))
            ath_cuda_copy_bytes(values[i], log.length, log);
    }
}
