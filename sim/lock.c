/* The lock of the simulated driver. */
#include "config.h"

#include "sim/lock.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

int sim_lock(void)
{
    pthread_mutex_lock(&lock);
    return 0;
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void sim_lock_anew(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void sim_wait(void)
{
    pthread_cond_wait(&change, &lock);
}

void sim_changed(void)
{
    pthread_cond_broadcast(&change);
}
