/* Finds the server of an address by the ranges that each server allocated. Two servers may allocate
 * the same address; then another address is tried if possible. A kernel's parameters are not
 * checked, so a program that passes another server's address is not noticed here. Any thread. */
#pragma once
#include "cuda/several/several.h"

enum { ATH_SEVERAL_REJECTED_MAX = 256 };

/* Addresses that another server has too, and the memory behind them. All are held until a free
 * address is found. */
struct ath_several_rejected {
    size_t count;
    CUdeviceptr addresses[ATH_SEVERAL_REJECTED_MAX + 2];
    size_t behind; /* bytes to allocate before the next try: twice as many each time */
    bool is_hopeless;
};

struct ath_several_range {
    CUdeviceptr address;
    size_t bytes;
    unsigned int index; /* the server's number */
    bool is_host;       /* pinned memory of the program, which every server's library can copy */
    CUcontext context;  /* current when the memory was made */
};

/* Finds the range of an address. The current context's server is searched first. */
bool ath_several_find(CUdeviceptr address, struct ath_several_range *out);

/* Returns whether new memory overlaps another server's memory. If not, its range is kept and false
 * returned. If it does, the address is added to *rejected, which the caller frees later; returns
 * true as long as another try makes sense. */
bool ath_several_is_taken(const struct ath_several *to, CUdeviceptr address, size_t bytes,
                          struct ath_several_rejected *rejected);

/* Adds memory that was allocated before the next try; address 0: there is none of rejected->behind
 * bytes. If it lies where no other server has memory, it does not move the next address, so the
 * sizes begin again with the smallest: a hole between taken memory is filled by small pieces. */
void ath_several_put_behind(const struct ath_several *to, struct ath_several_rejected *rejected,
                            CUdeviceptr address);

/* Returns CUDA_ERROR_OUT_OF_MEMORY if no free range was found. */
CUresult ath_several_took(const struct ath_several *to,
                          const struct ath_several_rejected *rejected);

/* Keeps a range without a check. bytes 0: the server is asked for the size. */
void ath_several_keep(const struct ath_several *to, CUdeviceptr address, size_t bytes);

/* Returns whether any other server has allocated memory. */
bool ath_several_has_others(const struct ath_several *than);

/* Keeps the range of pinned memory of the program. */
void ath_several_keep_host(const struct ath_several *to, const void *memory, size_t bytes);

/* Removes the range that begins at an address, before the call that frees it: the server may
 * allocate the address again at once. Returns bytes 0 if there is none. */
struct ath_several_range ath_several_leave(const struct ath_several *to, CUdeviceptr address);
/* Keeps the range again: the memory was not freed. */
void ath_several_stay(const struct ath_several_range *range);

/* Removes the ranges of a context that ended. */
void ath_several_addresses_end(CUcontext context);
