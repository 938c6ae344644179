/*
 * The blocks of memory of each size, and the streams and events of each kind, that a program's last
 * start took. On a slow line the next start of the same command line asks for all of them
 * with the first ones (memory_ahead.h, start_stock.h), so that they take one round trip or two.
 *
 * The plan is a fact (code_facts.h), of the first device on which the program takes something. When
 * the program ends it is replaced by what this run took: of each kind at most 64, and at most 128
 * kinds.
 *
 * Any thread; the lock is a leaf.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-methods.h"

enum { ATH_CUDA_PLAN_COUNT = 64, ATH_CUDA_PLAN_BYTES = 160 };

struct ath_cuda_plan_row {
    enum ath_cuda_method method;
    size_t length;                     /* of `what` */
    uint8_t what[ATH_CUDA_PLAN_BYTES]; /* tells kinds of a method apart; the caller chooses it */
    size_t left; /* so many more than this run the last one took of the kind */
};

/* Reads the plan, once, if the current context is a device's primary one. Not between
 * ath_cuda_begin() and ath_cuda_end(). */
void ath_cuda_start_plan_begin(void);

/* Notes that the program takes one of a kind in the current context. */
void ath_cuda_start_plan_take(enum ath_cuda_method method, const void *what, size_t length);

/* The rows in the order in which the program took the first of each kind. Returns false beyond the
 * end, and if the current context's device has no plan. */
bool ath_cuda_start_plan_row(size_t index, struct ath_cuda_plan_row *out);

/* Makes what this run took the plan of the next one. The fact file is saved behind it. */
void ath_cuda_start_plan_save(void);
void ath_cuda_start_plan_clear(void);
