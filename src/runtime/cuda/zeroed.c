/* A function of its own, since cppcheck and clang's analyzer do not know the attribute by which
 * owned locals are freed, and take what they see allocated for leaked. */
#include "config.h"

#include "runtime/cuda/zeroed.h"

#include <stdlib.h>

void *ath_cuda_zeroed(size_t bytes)
{
    return calloc(1, bytes);
}
