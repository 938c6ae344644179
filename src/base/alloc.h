/* Memory for the command line tool and its tests. When memory runs out, a function of this file
 * prints "out of memory" and aborts. The runtime does not use these functions: it returns
 * -ENOMEM. */
#pragma once
#include <stddef.h>

/* Returns size zeroed bytes, never NULL (size 0 counts as 1). The caller frees them. */
void *ath_xalloc(size_t size) __attribute__((malloc, returns_nonnull));

void *ath_xrealloc(void *pointer, size_t size) __attribute__((returns_nonnull));

/* Returns a copy of text; NULL stays NULL. The caller frees it. */
char *ath_xstrdup(const char *text);

char *ath_xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/*
 * Appends one zeroed item to a growing array and returns it. The capacity is the count rounded up
 * to a power of two, so that an array needs only a pointer and a count:
 *
 *     struct ath_gpu *gpu = ath_push(&machine->gpus, &machine->gpu_count, sizeof *gpu);
 *
 * array  address of the pointer to the first item; start with NULL and count 0
 *
 * The items may move: earlier pointers to them are then invalid.
 */
void *ath_push(void *array, size_t *count, size_t item_size) __attribute__((returns_nonnull));

/* The number of items of an array (not of a pointer). */
#define ATH_COUNT(array) (sizeof(array) / sizeof *(array))
