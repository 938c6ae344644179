/* Finds out which side the memory at an address belongs to. */
#include "config.h"

#include "cuda/client/program_memory.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/client/client.h"
#include "cuda/client/connection.h"
#include "cuda/client/graph_memory.h"
#include "cuda/client/mirror.h"
#include "proto/cuda-client.h"

enum { KERNEL_SET = 8 }; /* bytes of the kernel's signal set */

CUresult ath_cuda_ready(enum ath_cuda_method method)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, method);
    if (!status)
        status = ath_cuda_end(&exchange, CUDA_SUCCESS);
    if (status)
        return status;
    return ath_cuda_current_context() ? ath_cuda_known_fault(ath_cuda_own_context())
                                      : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult ath_cuda_ready_on(enum ath_cuda_method method, CUstream stream)
{
    struct ath_cuda_exchange exchange;
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD)
        return ath_cuda_ready(method);
    CUresult status = ath_cuda_begin(&exchange, method);
    if (status)
        return status;
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    return ath_cuda_end(&exchange, CUDA_SUCCESS);
}

/* Returns whether the program has mapped a page. mincore() fails with ENOMEM if not. */
static bool is_mapped_here(CUdeviceptr address)
{
    unsigned char resident;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return !mincore((void *)((uintptr_t)address / page * page), 1, &resident);
}

/* Memory that the server reaches at its own address counts as the GPU's. The GPU may also have an
 * allocation at an address that the program has mapped, so the server is asked. */
bool ath_cuda_is_program_memory(CUdeviceptr address, size_t bytes)
{
    struct ath_cuda_host_memory found;
    CUdeviceptr base;
    size_t size;
    if (ath_cuda_host_find((const void *)(uintptr_t)address, &found))
        return !ath_cuda_host_reaches((const void *)(uintptr_t)address, bytes);
    if (!is_mapped_here(address))
        return false;
    return ath_cuda_do_cuMemGetAddressRange_v2(&base, &size, address) != CUDA_SUCCESS &&
           !ath_cuda_is_graph_memory(address);
}

/* Since Linux 2.6.19 MS_ASYNC does nothing, except fail with ENOMEM if a part is not mapped:
 * msync(2). */
bool ath_cuda_is_all_mapped(const void *address, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)address / page * page;
    return !msync((void *)begin, (uintptr_t)address - begin + bytes, MS_ASYNC) || errno != ENOMEM;
}

static uintptr_t page_of(const void *address)
{
    return (uintptr_t)address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Returns whether the word around an address can be read. The kernel copies the set before it looks
 * at how (sigprocmask(2)), so the call fails with EFAULT or EINVAL and changes nothing. */
static bool is_readable(const void *address)
{
    const uintptr_t set = (uintptr_t)address & ~(uintptr_t)(KERNEL_SET - 1);
    return !syscall(SYS_rt_sigprocmask, -1, set, NULL, (size_t)KERNEL_SET) || errno != EFAULT;
}

/* Returns whether the word around an address can be written: the kernel adds 0 to the word in one
 * step and fails with EFAULT (futex(2), FUTEX_WAKE_OP). No thread waits for `unused`. */
static bool is_writable(const void *address)
{
    static int unused;
    const uintptr_t word = (uintptr_t)address & ~(uintptr_t)(sizeof(int) - 1);
    const unsigned int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    return syscall(SYS_futex, &unused, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, word,
                   add_nothing) >= 0 ||
           errno != EFAULT;
}

/* Returns whether a range begins in registered memory and goes beyond its end. A copy of it is
 * refused, also if the rest is registered by another call; one that only ends there is not (driver
 * 580). */
static bool is_cut(const void *address, size_t bytes)
{
    struct ath_cuda_host_memory found;
    return ath_cuda_host_find(address, &found) && found.kind == ATH_CUDA_HOST_REGISTERED &&
           bytes > found.address + found.bytes - (uintptr_t)address;
}

static bool can(bool (*is_good)(const void *address), const void *address, size_t bytes)
{
    if (!bytes)
        return true;
    if (!page_of(address) || (uintptr_t)address + bytes < bytes) /* a null set is no error */
        return false;
    if (is_cut(address, bytes))
        return false;
    const uint8_t *last = (const uint8_t *)address + bytes - 1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return is_good(address) && (page_of(last) == page_of(address) || is_good(last)) &&
           (page_of(last) - page_of(address) <= page || ath_cuda_is_all_mapped(address, bytes));
}

bool ath_cuda_can_read(const void *address, size_t bytes)
{
    return can(is_readable, address, bytes);
}

bool ath_cuda_can_write(const void *address, size_t bytes)
{
    return can(is_writable, address, bytes);
}
