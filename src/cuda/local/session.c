/* Opens the session before the driver is initialized. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/log.h"
#include "cuda/common/open_result.h"
#include "cuda/local/connection.h"
#include "cuda/local/local.h"
#include "cuda/local/remote_books.h"
#include "cuda/turns/gate.h"
#include "remote/session/open.h"
#include "runtime/part/part.h"
#include "runtime/quota/quota.h"
#include "turns/private_page.h"

static void say_free_passing(void *unused)
{
    (void)unused;
    ath_log(ATH_LOG_NORMAL, "%s",
            _("the runtime gives no turns on the GPUs any more; the program goes on without"));
}

/* Lets calls that occupy a GPU wait for the session's turn. */
static int begin_turns(const struct ath_local_grant *grant, struct ath_cuda_driver *driver,
                       struct ath_err *err)
{
    if (grant->turns_fd < 0)
        return 0;
    struct ath_turn_private_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, grant->turns_memory, 0);
    if (page == MAP_FAILED)
        return ath_err_system(err, -errno, "%s", _("cannot map the words about turns"));
    close(grant->turns_memory);
    const struct ath_turn_gate_setup setup = {
        .wish = &page->wish,
        .grant = &page->grant,
        .beat_ms = &page->beat_ms,
        .pipe_fd = grant->turns_fd,
        .session = grant->session,
        .devices = grant->devices,
        .device_count = grant->count,
        .has_unseen_contexts = true, /* by the driver's export tables */
        .passes_freely = say_free_passing,
    };
    ath_turn_gate_begin(&setup, driver);
    return 0;
}

static void say_part(const char *text)
{
    ath_log(ATH_LOG_NORMAL, "%s", text);
}

static void tell_part(const char *text)
{
    ath_log(ATH_LOG_VERBOSE, "%s", text);
}

/* Leaves the program a part of each GPU's multiprocessors. */
static int begin_part(const struct ath_local_grant *grant, struct ath_cuda_driver *driver,
                      struct ath_err *err)
{
    const struct ath_part_setup setup = { .percent = grant->sm_percent,
                                          .devices = grant->devices,
                                          .device_count = grant->count,
                                          .books = ath_local_books(grant->only_counts),
                                          .say = say_part,
                                          .tell = tell_part };
    if (grant->sm_percent && ath_part_lacks(driver))
        return ath_err_set(err, -ENOTSUP, ATH_E_LIBRARY, "%s",
                           _("a part of the multiprocessors (--sm-share) needs a driver for CUDA "
                             "12.4 or newer"));
    ath_part_begin(&setup, driver);
    return 0;
}

/* Puts the part, the gate and the shares in front of the driver's functions. Until now they
 * answered that the driver is not initialized. */
static int wrap(const struct ath_local_grant *grant, struct ath_err *err)
{
    static struct ath_cuda_driver driver;
    driver = ath_local.driver;
    int status = begin_part(grant, &driver, err);
    if (!status)
        status = begin_turns(grant, &driver, err);
    if (status)
        return status;
    ath_quota_set_devices(ath_local_books(grant->only_counts), grant->devices, grant->count);
    ath_quota_wrap(&ath_local_captures, &driver);
    ath_part_show(&driver);
    ath_local.driver = driver;
    return 0;
}

/* The runtime names the devices by UUID, so that their numbers are the same on both sides. Children
 * that the program starts get the same choice. */
static int open_session(void)
{
    static struct ath_local_grant grant;
    struct ath_err err = { 0 };
    int status = ath_local_connect(&grant, &err);
    if (!status)
        status = wrap(&grant, &err);
    if (status) {
        if (!ath_client_is_disabled())
            ath_client_complain(&err);
        return status;
    }
    if (*grant.visible)
        setenv("CUDA_VISIBLE_DEVICES", grant.visible, true);
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
    return ath_cuda_result_of_open(status);
}
