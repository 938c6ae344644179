/* PyTorch copied the 320 tensors of ResNet-50 to the GPU with one wait behind each (H200, tcp):
 * ten seconds on a line of 30 ms. */
#include "config.h"

#include "cuda/client/stream_rest.h"

#include "cuda/client/connection.h"
#include "cuda/client/memory_reuse.h"
#include "cuda/client/mirror.h"
#include "remote/switches.h"

/* Guarded by the connection's order. */
static struct {
    CUstream stream;
    CUcontext context;
    uint32_t thread;
    uint64_t number; /* the last call that leaves the stream so; 0: none */
    bool has_copies;
    bool shares_memory; /* of the program, forever */
} rest;

/* Returns whether the last call of all left the stream at rest. The caller holds the order. */
static bool is_about(CUstream stream, uint64_t last_number)
{
    return rest.number && rest.number == last_number && rest.stream == stream &&
           rest.context == ath_cuda_own_context() && rest.thread == ath_cuda_own_thread()->id;
}

/* The caller holds the order. */
static enum ath_cuda_rest state_of(CUstream stream)
{
    if (ath_cuda_connection.state != ATH_CUDA_LINK_GOOD ||
        !is_about(stream, ath_cuda_connection.last_number))
        return ATH_CUDA_IS_BUSY;
    bool has_mirrors = ath_cuda_has_mirrors();
    if (rest.has_copies)
        return has_mirrors || rest.shares_memory ? ATH_CUDA_IS_BUSY : ATH_CUDA_HAS_COPIES;
    if (has_mirrors)
        /* once only: a loop may wait for values that another stream writes into a mirror */
        rest.number = 0;
    return ATH_CUDA_AT_REST;
}

enum ath_cuda_rest ath_cuda_stream_rest(CUstream stream)
{
    if (!ath_cuda_own_thread() || ath_is_off(ATH_SWITCH_RESTS) || ath_cuda_memory_reuse_holds())
        return ATH_CUDA_IS_BUSY;
    pthread_mutex_lock(&ath_cuda_connection.order);
    enum ath_cuda_rest state = state_of(stream);
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return ath_cuda_known_fault(ath_cuda_own_context()) ? ATH_CUDA_IS_BUSY : state;
}

void ath_cuda_stream_rests(const struct ath_cuda_exchange *exchange, CUstream stream)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    if (exchange->is_answered && exchange->number == ath_cuda_connection.last_number) {
        rest.stream = stream;
        rest.context = ath_cuda_own_context();
        rest.thread = exchange->thread->id;
        rest.number = exchange->number;
        rest.has_copies = false;
    }
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

void ath_cuda_stream_goes_on(const struct ath_cuda_exchange *exchange, CUstream stream,
                             bool is_waited_for)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    if (is_about(stream, exchange->number - 1)) {
        rest.number = exchange->number;
        rest.has_copies = !is_waited_for;
    }
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

void ath_cuda_rest_note_sent(enum ath_cuda_method method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (facts->exports)
        rest.shares_memory = true;
    if (facts->no_work && rest.number + 1 == ath_cuda_connection.last_number && rest.number)
        rest.number++;
}
