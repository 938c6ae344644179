/*
 * Shared by the files of this folder: the session of this process, and its devices.
 *
 * The wrapping functions have CUDA's signatures, which leave no room for a pointer to the session.
 * So the state is global; a process has one session. quota.h fills it before the first call, and it
 * does not change after that.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-server.h"
#include "remote/session/device_list.h"
#include "runtime/quota/books.h"

struct ath_session_quota {
    const struct ath_books *books;
    const atomic_uint *captures;     /* that are under way */
    struct ath_cuda_driver driver;   /* the driver's own functions */
    size_t devices[ATH_DEVICES_MAX]; /* the server's number of each CUDA device */
    size_t count;
};

extern struct ath_session_quota ath_quota;

/* Returns whether the session has a device of this CUDA number. */
bool ath_quota_has_device(CUdevice device);

/* The server's number of the device of the current context; SIZE_MAX without a context. */
size_t ath_quota_current_device(void);

/* The server's number of the device at a location; SIZE_MAX if the location is no device. */
size_t ath_quota_device_at(const CUmemLocation *location);

/* Counts the current context if it is a primary one that was made past the library: a static CUDA
 * runtime does so by the driver's export tables. Called before memory is taken. */
void ath_quota_find_primary(void);

/* The current context; NULL without one. */
CUcontext ath_quota_current_context(void);
