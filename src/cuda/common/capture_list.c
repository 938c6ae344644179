/* A list: there are few. */
#include "config.h"

#include "cuda/common/capture_list.h"

#include <stdlib.h>

struct ath_cuda_capture {
    struct ath_cuda_capture *next;
    CUstream stream;
    CUcontext context;
    uint32_t thread;
};

void ath_cuda_capture_list_add(struct ath_cuda_capture_list *captures, CUstream stream,
                               CUcontext context, uint32_t thread)
{
    struct ath_cuda_capture *added = malloc(sizeof *added);
    if (!added)
        return;
    pthread_mutex_lock(&captures->lock);
    *added = (struct ath_cuda_capture){
        .next = captures->first, .stream = stream, .context = context, .thread = thread
    };
    captures->first = added;
    captures->count++;
    pthread_mutex_unlock(&captures->lock);
}

static void drop(struct ath_cuda_capture_list *captures, struct ath_cuda_capture **at)
{
    struct ath_cuda_capture *gone = *at;
    *at = gone->next;
    captures->count--;
    free(gone);
}

void ath_cuda_capture_list_remove(struct ath_cuda_capture_list *captures, CUstream stream,
                                  uint32_t thread)
{
    bool is_own = stream == CU_STREAM_PER_THREAD;
    pthread_mutex_lock(&captures->lock);
    struct ath_cuda_capture **at = &captures->first;
    while (*at && ((*at)->stream != stream || (is_own && (*at)->thread != thread)))
        at = &(*at)->next;
    if (*at)
        drop(captures, at);
    pthread_mutex_unlock(&captures->lock);
}

void ath_cuda_capture_list_end_context(struct ath_cuda_capture_list *captures, CUcontext context)
{
    pthread_mutex_lock(&captures->lock);
    for (struct ath_cuda_capture **at = &captures->first; *at;) {
        if (!context || (*at)->context == context)
            drop(captures, at);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&captures->lock);
}

bool ath_cuda_capture_list_has_thread(struct ath_cuda_capture_list *captures, uint32_t thread)
{
    if (!captures->count)
        return false;
    pthread_mutex_lock(&captures->lock);
    const struct ath_cuda_capture *at = captures->first;
    while (at && at->thread != thread)
        at = at->next;
    pthread_mutex_unlock(&captures->lock);
    return at;
}
