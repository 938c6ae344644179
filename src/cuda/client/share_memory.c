/* The program's side of memory that is passed on by a file descriptor (a ticket). */
#include "config.h"

#include "cuda/common/memory_token.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* The bytes in the socket. */
struct ticket {
    char magic[16];
    uint64_t length;
    uint8_t token[ATH_CUDA_TOKEN_MAX];
};
static const char magic[sizeof((struct ticket *)NULL)->magic] = "aitherion share";

struct given {
    struct given *next;
    int end; /* the program has the other end */
    struct ticket ticket;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct given *givens;

/* ---- tickets that the program has ---- */

static bool is_closed(const struct given *given)
{
    struct pollfd one = { .fd = given->end };
    return poll(&one, 1, 0) > 0 && one.revents & POLLHUP;
}

/* Removes a ticket that the program has closed from the list. Returns NULL if there is none. */
static struct given *take_closed(void)
{
    pthread_mutex_lock(&lock);
    struct given **at = &givens;
    while (*at && !is_closed(*at))
        at = &(*at)->next;
    struct given *taken = *at;
    if (taken)
        *at = taken->next;
    pthread_mutex_unlock(&lock);
    return taken;
}

static void given_free(struct given *given)
{
    close(given->end);
    free(given);
}

static struct ath_wire_bytes token_of(const struct ticket *ticket)
{
    return (struct ath_wire_bytes){ ticket->token, (size_t)ticket->length };
}

static void forget_ticket(const struct ticket *ticket)
{
    struct ath_cuda_exchange exchange;
    if (ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athForgetShare))
        return;
    ath_cuda_wire_forget_share_set_token(ath_cuda_wire_call_init_forget_share(exchange.call),
                                         token_of(ticket));
    ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

void ath_cuda_shares_sweep(void)
{
    for (struct given *closed; (closed = take_closed()); given_free(closed))
        forget_ticket(&closed->ticket);
}

void ath_cuda_shares_clear(void)
{
    pthread_mutex_lock(&lock);
    for (struct given *given = givens, *next; given; given = next) {
        next = given->next;
        given_free(given);
    }
    givens = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- exporting ---- */

/* Makes the program's descriptor for a ticket. */
static CUresult give_ticket(const struct ticket *ticket, int *out)
{
    int ends[2];
    struct given *given = malloc(sizeof *given);
    if (!given)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        free(given);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *given = (struct given){ .end = ends[0], .ticket = *ticket };
    if (send(ends[0], ticket, sizeof *ticket, MSG_NOSIGNAL) != (ssize_t)sizeof *ticket) {
        close(ends[1]);
        given_free(given);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    pthread_mutex_lock(&lock);
    given->next = givens;
    givens = given;
    pthread_mutex_unlock(&lock);
    *out = ends[1];
    return CUDA_SUCCESS;
}

/* Converts the server's token into the handle that the program asked for. */
static CUresult export_token(struct ath_wire_bytes token, CUmemAllocationHandleType type, void *out)
{
    struct ticket ticket = { .length = token.length };
    if (token.length > sizeof ticket.token)
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        ath_cuda_copy_bytes(out, sizeof(CUmemFabricHandle), token);
        return CUDA_SUCCESS;
    }
    memcpy(ticket.magic, magic, sizeof magic);
    ath_cuda_copy_bytes(ticket.token, sizeof ticket.token, token);
    CUresult status = give_ticket(&ticket, out);
    if (status)
        forget_ticket(&ticket);
    return status;
}

CUresult ath_cuda_by_hand_cuMemExportToShareableHandle(void *shareable_handle,
                                                       CUmemGenericAllocationHandle handle,
                                                       CUmemAllocationHandleType handle_type,
                                                       unsigned long long flags)
{
    struct ath_cuda_exchange exchange;
    ath_cuda_shares_sweep();
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemExportToShareableHandle);
    if (status)
        return status;
    if (!shareable_handle)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_mem_export_to_shareable_handle_builder call =
        ath_cuda_wire_call_init_mem_export_to_shareable_handle(exchange.call);
    ath_cuda_wire_mem_export_to_shareable_handle_set_handle(
        call,
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_MEM_GENERIC_ALLOCATION_HANDLE, handle));
    ath_cuda_wire_mem_export_to_shareable_handle_set_type(call, (uint32_t)handle_type);
    ath_cuda_wire_mem_export_to_shareable_handle_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    struct ticket ticket = { 0 };
    if (!status) {
        struct ath_wire_bytes token = ath_cuda_wire_mem_export_to_shareable_handle_result_token(
            ath_cuda_wire_answer_mem_export_to_shareable_handle(exchange.answer));
        ticket.length = token.length;
        ath_cuda_copy_bytes(ticket.token, sizeof ticket.token, token);
    }
    status = ath_cuda_end(&exchange, status);
    return status ? status : export_token(token_of(&ticket), handle_type, shareable_handle);
}

CUresult ath_cuda_by_hand_cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
                                                           CUmemAllocationHandleType handle_type,
                                                           unsigned long long flags)
{
    struct ath_cuda_exchange exchange;
    ath_cuda_shares_sweep();
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemPoolExportToShareableHandle);
    if (status)
        return status;
    if (!handle)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_mem_pool_export_to_shareable_handle_builder call =
        ath_cuda_wire_call_init_mem_pool_export_to_shareable_handle(exchange.call);
    ath_cuda_wire_mem_pool_export_to_shareable_handle_set_pool(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_MEMORY_POOL, (uintptr_t)pool));
    ath_cuda_wire_mem_pool_export_to_shareable_handle_set_type(call, (uint32_t)handle_type);
    ath_cuda_wire_mem_pool_export_to_shareable_handle_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    struct ticket ticket = { 0 };
    if (!status) {
        struct ath_wire_bytes token =
            ath_cuda_wire_mem_pool_export_to_shareable_handle_result_token(
                ath_cuda_wire_answer_mem_pool_export_to_shareable_handle(exchange.answer));
        ticket.length = token.length;
        ath_cuda_copy_bytes(ticket.token, sizeof ticket.token, token);
    }
    status = ath_cuda_end(&exchange, status);
    return status ? status : export_token(token_of(&ticket), handle_type, handle);
}

/* ---- importing ---- */

/* Reads the ticket behind a handle of the program. Returns false if it is not one of ours. */
static bool read_ticket(const void *handle, CUmemAllocationHandleType type, struct ticket *out)
{
    *out = (struct ticket){ .length = sizeof(CUmemFabricHandle) };
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        if (handle)
            memcpy(out->token, handle, sizeof(CUmemFabricHandle));
        return handle;
    }
    ssize_t got = recv((int)(intptr_t)handle, out, sizeof *out, MSG_PEEK | MSG_DONTWAIT);
    return got == (ssize_t)sizeof *out && !memcmp(out->magic, magic, sizeof magic) &&
           out->length <= sizeof out->token;
}

CUresult ath_cuda_by_hand_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                         void *os_handle,
                                                         CUmemAllocationHandleType sh_handle_type)
{
    struct ath_cuda_exchange exchange;
    struct ticket ticket;
    ath_cuda_shares_sweep();
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemImportFromShareableHandle);
    if (status)
        return status;
    if (!handle || !read_ticket(os_handle, sh_handle_type, &ticket))
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_mem_import_from_shareable_handle_builder call =
        ath_cuda_wire_call_init_mem_import_from_shareable_handle(exchange.call);
    ath_cuda_wire_mem_import_from_shareable_handle_set_token(call, token_of(&ticket));
    ath_cuda_wire_mem_import_from_shareable_handle_set_type(call, (uint32_t)sh_handle_type);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *handle = ath_cuda_to_own(
            &exchange.side, ATH_CUDA_KIND_MEM_GENERIC_ALLOCATION_HANDLE,
            ath_cuda_wire_mem_import_from_shareable_handle_result_handle(
                ath_cuda_wire_answer_mem_import_from_shareable_handle(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
                                                             CUmemAllocationHandleType handle_type,
                                                             unsigned long long flags)
{
    struct ath_cuda_exchange exchange;
    struct ticket ticket;
    ath_cuda_shares_sweep();
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemPoolImportFromShareableHandle);
    if (status)
        return status;
    if (!pool || !read_ticket(handle, handle_type, &ticket))
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_mem_pool_import_from_shareable_handle_builder call =
        ath_cuda_wire_call_init_mem_pool_import_from_shareable_handle(exchange.call);
    ath_cuda_wire_mem_pool_import_from_shareable_handle_set_token(call, token_of(&ticket));
    ath_cuda_wire_mem_pool_import_from_shareable_handle_set_type(call, (uint32_t)handle_type);
    ath_cuda_wire_mem_pool_import_from_shareable_handle_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *pool = (CUmemoryPool)(uintptr_t)ath_cuda_to_own(
            &exchange.side, ATH_CUDA_KIND_MEMORY_POOL,
            ath_cuda_wire_mem_pool_import_from_shareable_handle_result_pool(
                ath_cuda_wire_answer_mem_pool_import_from_shareable_handle(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

/* ---- before memory ends (or cuMemCreate() needs some): closed tickets must not hold it ---- */

CUresult ath_cuda_by_hand_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ath_cuda_shares_sweep();
    return ath_cuda_do_cuMemRelease(handle);
}

CUresult ath_cuda_by_hand_cuMemPoolDestroy(CUmemoryPool pool)
{
    ath_cuda_shares_sweep();
    return ath_cuda_do_cuMemPoolDestroy(pool);
}
