/* Makes threads whose stack is large enough for calls of the driver. */
#include "config.h"

#include "cuda/server/driver_thread.h"

enum { LEAST_STACK = 8 * 1024 * 1024 };

int ath_driver_thread_make(pthread_t *out, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    size_t stack = 0;
    int status = pthread_attr_init(&attributes);
    if (status)
        return status;
    pthread_attr_getstacksize(&attributes, &stack);
    if (stack < LEAST_STACK)
        status = pthread_attr_setstacksize(&attributes, LEAST_STACK);
    if (!status)
        status = pthread_create(out, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return status;
}
