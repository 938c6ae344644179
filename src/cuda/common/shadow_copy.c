/* Allocates shadow copies: large ones as pages of their own, small ones by calloc(). */
#include "config.h"

#include "cuda/common/shadow_copy.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { IN_PAGES = 1024 * 1024 }; /* less lies beside others */

uint8_t *ath_cuda_shadow_copy_make(size_t bytes)
{
    if (bytes < IN_PAGES)
        return calloc(1, bytes);
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void ath_cuda_shadow_copy_free(uint8_t *same, size_t bytes)
{
    if (!same)
        return;
    if (bytes < IN_PAGES)
        free(same);
    else
        munmap(same, bytes);
}
