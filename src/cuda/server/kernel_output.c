/*
 * Each stream is a file in memory: the driver can write any amount without waiting for a
 * reader, as it would with a pipe. Parts that were read are freed by punching holes.
 */
#include "config.h"

#include "cuda/server/kernel_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct {
    int fd; /* -1: not caught */
    off_t taken;
} caught[] = { [ATH_KERNEL_OUTPUT] = { -1, 0 }, [ATH_KERNEL_ERRORS] = { -1, 0 } };

/* A sanitizer's report belongs to the log: the process may end with it. */
extern void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

int ath_kernel_output_catch(int *out_log)
{
    ath_auto_close int out = memfd_create("aitherion-printed", MFD_CLOEXEC);
    ath_auto_close int err = memfd_create("aitherion-errors", MFD_CLOEXEC);
    ath_auto_close int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (out < 0 || err < 0 || log < 0)
        return -errno;
    fflush(NULL);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        return -errno;
    caught[ATH_KERNEL_OUTPUT].fd = STDOUT_FILENO;
    caught[ATH_KERNEL_ERRORS].fd = STDERR_FILENO;
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)log);
    *out_log = ath_steal_fd(&log);
    return 0;
}

size_t ath_kernel_output_take(enum ath_kernel_stream stream, void *room, size_t size)
{
    struct stat now;
    int fd = caught[stream].fd;
    if (fd < 0)
        return 0;
    if (stream == ATH_KERNEL_OUTPUT)
        fflush(stdout); /* the driver may still write when it ends */
    if (fstat(fd, &now) || now.st_size <= caught[stream].taken)
        return 0;
    ssize_t got = pread(fd, room, size, caught[stream].taken);
    if (got <= 0)
        return 0;
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, caught[stream].taken, got);
    caught[stream].taken += got;
    return (size_t)got;
}
