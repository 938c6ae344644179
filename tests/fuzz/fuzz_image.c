/*
 * Fuzzes the reader of modules' images from clients: an input is a fat binary, an ELF file or PTX.
 * An image that the server takes for whole is read by both readers, which must not read beyond it.
 */
#include "config.h"

#include "base/cleanup.h"
#include "cuda/common/bytes.h"
#include "runtime/quota/image.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ath_auto_free uint8_t *exact = malloc(size ? size : 1); /* ASan sees reads beyond it */
    insist(exact != NULL, "there is memory");
    memcpy(exact, data, size);
    if (!ath_cuda_is_whole_image(exact, size))
        return 0;
    insist(ath_cuda_bytes_of_image(exact) <= size, "a whole image ends where its head says");
    insist(ath_cuda_unwrapped_image(exact) == exact, "a client's image points nowhere");
    ath_image_memory(exact);
    return 0;
}
