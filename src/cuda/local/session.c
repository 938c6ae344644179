/* Opens the session before the driver is initialized. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cuda/local/connection.h"
#include "cuda/local/local.h"
#include "cuda/local/remote_books.h"
#include "remote/session/open.h"
#include "runtime/quota/quota.h"

static CUresult result_of(int status)
{
    switch (status) {
    case 0:
        return CUDA_SUCCESS;
    case -ENODEV:
    case -ENOTSUP:
    case -EREMOTEIO:
        return CUDA_ERROR_NO_DEVICE;
    case -EACCES:
    case -ENOKEY:
    case -EPERM:
        return CUDA_ERROR_NOT_PERMITTED;
    default:
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
}

/* The runtime names the devices by UUID, so that their numbers are the same on both sides. Children
 * that the program starts get the same choice. */
static int open_session(void)
{
    static struct ath_local_grant grant;
    struct ath_err err = { 0 };
    int status = ath_local_connect(&grant, &err);
    if (status) {
        if (!ath_client_is_disabled())
            ath_client_complain(&err);
        return status;
    }
    if (*grant.visible)
        setenv("CUDA_VISIBLE_DEVICES", grant.visible, true);
    ath_quota_set_devices(ath_local_books(grant.only_counts), grant.devices, grant.count);
    return 0;
}

CUresult ath_local_open(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_tried;
    static int outcome;
    pthread_mutex_lock(&lock);
    if (!is_tried)
        outcome = open_session();
    is_tried = true;
    int status = outcome;
    pthread_mutex_unlock(&lock);
    return result_of(status);
}
