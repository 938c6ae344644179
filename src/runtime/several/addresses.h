/*
 * Whose memory an address is: what each server's library gave out, by range. Two servers may give
 * out the same address; where that can be helped another one is taken. Kernels get their parameters
 * unseen, so that a program's own mix-up is not noticed here. Any thread.
 */
#pragma once
#include "runtime/several/several.h"

enum { ATH_SEVERAL_REJECTED_MAX = 64 };

/* Addresses that another server has as well, and what is behind them: held until one is found that
 * is free. */
struct ath_several_rejected {
    size_t count;
    CUdeviceptr addresses[ATH_SEVERAL_REJECTED_MAX + 2];
    size_t behind; /* bytes to take there before the next try: twice as many each time */
    bool is_hopeless;
};

struct ath_several_range {
    CUdeviceptr address;
    size_t bytes;
    unsigned int index; /* the server's */
    bool is_host;       /* pinned memory of the program's, which every server's library can copy */
    CUcontext context;  /* that was current */
};

/* The range that an address is in: the current context's server's before others'. */
bool ath_several_find(CUdeviceptr address, struct ath_several_range *out);

/*
 * Whether memory just given out lies where another server has some. If not its range is kept; else
 * the address is noted in *rejected, for the caller to give back, and true as long as it is worth
 * trying again.
 */
bool ath_several_is_taken(const struct ath_several *to, CUdeviceptr address, size_t bytes,
                          struct ath_several_rejected *rejected);

/* CUDA_ERROR_OUT_OF_MEMORY where no free range was found at last. */
CUresult ath_several_took(const struct ath_several *to,
                          const struct ath_several_rejected *rejected);

/* Keeps a range whatever else is there. bytes 0: the server is asked how much it is. */
void ath_several_keep(const struct ath_several *to, CUdeviceptr address, size_t bytes);

/* Whether servers other than this one have given out any. */
bool ath_several_has_others(const struct ath_several *than);

/* Pinned memory of the program's. */
void ath_several_keep_host(const struct ath_several *to, const void *memory, size_t bytes);

/* Takes out the range that begins at an address that is about to be freed: before the server is
 * told, since it may give the address out again at once. bytes 0: there is none. */
struct ath_several_range ath_several_leave(const struct ath_several *to, CUdeviceptr address);
/* It was not freed. */
void ath_several_stay(const struct ath_several_range *range);

/* All of a context's. */
void ath_several_addresses_end(CUcontext context);
