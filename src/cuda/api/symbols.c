/* The rules of cuGetProcAddress(). A name without a version means the newest version that the given
 * CUDA version had, so a program built with an older toolkit gets the version that it was built
 * for. A full name (cuMemAlloc_v2) is found too. */
#include "config.h"

#include "cuda/api/symbols.h"

#include <string.h>

static const struct ath_cuda_symbol *exact(const char *name)
{
    for (size_t i = 0; i < ath_cuda_symbol_count; i++)
        if (!strcmp(ath_cuda_symbols[i].name, name) && strcmp(ath_cuda_symbols[i].base, name))
            return &ath_cuda_symbols[i];
    return NULL;
}

/* Finds the newest version of a base name in a CUDA version, among the per-thread ones or the
 * others. */
static const struct ath_cuda_symbol *newest(const char *base, int version, bool is_thread,
                                            bool *out_is_known)
{
    const struct ath_cuda_symbol *found = NULL;
    for (size_t i = 0; i < ath_cuda_symbol_count; i++) {
        const struct ath_cuda_symbol *symbol = &ath_cuda_symbols[i];
        if (strcmp(symbol->base, base))
            continue;
        *out_is_known = true;
        if (symbol->is_thread == is_thread && symbol->since <= version &&
            (!found || symbol->since >= found->since))
            found = symbol;
    }
    return found;
}

const struct ath_cuda_symbol *ath_cuda_symbol_find(const char *name, int version, bool per_thread,
                                                   CUdriverProcAddressQueryResult *out_status)
{
    bool is_known = false;
    const struct ath_cuda_symbol *found = exact(name);
    if (!found && per_thread)
        found = newest(name, version, true, &is_known);
    if (!found)
        found = newest(name, version, false, &is_known);
    *out_status = found      ? CU_GET_PROC_ADDRESS_SUCCESS
                  : is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                             : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found;
}
