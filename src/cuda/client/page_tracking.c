/* docs.kernel.org/admin-guide/mm/userfaultfd.html ("Write Protect Notifications",
 * UFFD_FEATURE_WP_ASYNC) and admin-guide/mm/pagemap.html (PAGEMAP_SCAN). Headers of older kernels
 * lack both, so the constants and the structure are repeated here. */
#include "config.h"

#include "cuda/client/page_tracking.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    /* UFFD_USER_MODE_ONLY: needs no privilege; no fault is reported to us */
    USER_MODE_ONLY = 1,
    WRITTEN = 1 << 1,          /* PAGE_IS_WRITTEN */
    SCAN_WP_MATCHING = 1 << 0, /* pages that are found count as unwritten again */
    SCAN_CHECK_WPASYNC = 1 << 1,
};
#define WP_ASYNC ((uint64_t)1 << 15) /* UFFD_FEATURE_WP_ASYNC */

struct scan { /* struct pm_scan_arg */
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan) /* PAGEMAP_SCAN */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watcher = -1, pages = -1; /* open until the process ends */

static int open_watcher(void)
{
    ath_auto_close int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY);
    struct uffdio_api api = { .api = UFFD_API, .features = WP_ASYNC };
    return fd < 0 || ioctl(fd, UFFDIO_API, &api) ? -1 : ath_steal_fd(&fd);
}

static void open_both(void)
{
    pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    watcher = pages < 0 ? -1 : open_watcher();
}

int ath_page_tracking_watch(uintptr_t first, size_t bytes)
{
    struct uffdio_register range = { .range = { first, bytes }, .mode = UFFDIO_REGISTER_MODE_WP };
    struct ath_page_walk walk = { .at = first, .end = first + bytes };
    int status = 0;
    pthread_once(&once, open_both);
    if (watcher < 0 || ioctl(watcher, UFFDIO_REGISTER, &range))
        return -ENOTSUP;
    while (!status)
        status = ath_page_tracking_next(&walk, &first, &first);
    if (status == -ENODATA)
        return 0;
    ioctl(watcher, UFFDIO_UNREGISTER, &range.range);
    return -ENOTSUP;
}

static int scan(struct ath_page_walk *walk)
{
    struct scan scan = { .size = sizeof scan,
                         .flags = SCAN_WP_MATCHING | SCAN_CHECK_WPASYNC,
                         .start = walk->at,
                         .end = walk->end,
                         .vec = (uintptr_t)walk->runs,
                         .vec_len = sizeof walk->runs / sizeof *walk->runs,
                         .category_mask = WRITTEN,
                         .return_mask = WRITTEN };
    int found = ioctl(pages, SCAN, &scan);
    if (found < 0)
        return -errno;
    walk->count = (size_t)found;
    walk->next = 0;
    walk->at = (uintptr_t)scan.walk_end;
    return 0;
}

int ath_page_tracking_next(struct ath_page_walk *walk, uintptr_t *out_first, uintptr_t *out_end)
{
    while (walk->next == walk->count) {
        int status = walk->at < walk->end ? scan(walk) : -ENODATA;
        if (status)
            return status;
    }
    *out_first = (uintptr_t)walk->runs[walk->next].first;
    *out_end = (uintptr_t)walk->runs[walk->next].end;
    walk->next++;
    return 0;
}

uint64_t ath_page_tracking_faults(void)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}
