/* Threads that call the driver. */
#pragma once
#include <pthread.h>

/*
 * Makes a thread as pthread_create() does, with at least the stack that the first thread of a
 * program usually has (8 MiB): the driver's compiler of PTX runs on the caller's stack and
 * recurses. If stacks have no limit, as in services with LimitSTACK=infinity, the C library gives a
 * thread only 2 MiB (x86-64). Returns 0 or a positive errno.
 */
int ath_driver_thread_make(pthread_t *out, void *(*run)(void *), void *argument);
