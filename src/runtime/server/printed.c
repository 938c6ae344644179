/*
 * A file in memory is standard output: the driver can write as much as it likes without waiting for
 * somebody to read, as it would with a pipe. What was read is given back as holes.
 */
#include "config.h"

#include "runtime/server/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int caught = -1; /* the file, for as long as the process */
static off_t taken;

int ath_printed_catch(void)
{
    ath_auto_close int fd = memfd_create("aitherion-printed", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    fflush(stdout);
    if (dup2(fd, STDOUT_FILENO) < 0)
        return -errno;
    caught = ath_steal_fd(&fd);
    return 0;
}

size_t ath_printed_take(void *room, size_t size)
{
    struct stat now;
    if (caught < 0)
        return 0;
    fflush(stdout); /* the driver's last words may still be there */
    if (fstat(caught, &now) || now.st_size <= taken)
        return 0;
    ssize_t got = pread(caught, room, size, taken);
    if (got <= 0)
        return 0;
    (void)fallocate(caught, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, taken, got);
    taken += got;
    return (size_t)got;
}
