/* A separate function, since cppcheck and clang's analyzer ignore the cleanup attribute and would
 * report leaks. */
#include "config.h"

#include "cuda/client/allocate.h"

#include <stdlib.h>

void *ath_cuda_allocate(size_t bytes)
{
    return calloc(1, bytes);
}
