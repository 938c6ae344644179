/* Reads files on the program's side, which the server does not have. */
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/jit_options.h"

CUresult ath_cuda_read_file(const char *path, void **out, size_t *out_size)
{
    ath_auto_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts))
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    size_t size = (size_t)facts.st_size, done = 0;
    ath_auto_free char *bytes =
        ath_cuda_allocate(size + sizeof(uint64_t)); /* room to read a magic number past the end */
    if (!bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    while (done < size) {
        ssize_t got = read(fd, bytes + done, size - done);
        if (got <= 0)
            return CUDA_ERROR_OPERATING_SYSTEM;
        done += (size_t)got;
    }
    *out = ath_steal(&bytes);
    *out_size = size;
    return CUDA_SUCCESS;
}
