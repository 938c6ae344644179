/* Memory for the command line tool: running out of it ends the program with a word on standard
 * error. */
#pragma once
#include <stddef.h>

/* Zeroed memory of size bytes, never NULL (size 0 counts as 1). The caller frees it. */
void *ath_xalloc(size_t size) __attribute__((malloc, returns_nonnull));

void *ath_xrealloc(void *pointer, size_t size) __attribute__((returns_nonnull));

/* A copy of text; NULL stays NULL. */
char *ath_xstrdup(const char *text);

char *ath_xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/*
 * Appends one zeroed item to a growing array and returns it. The capacity is the count rounded up
 * to a power of two, so that an array is just a pointer and a count:
 *
 *     struct ath_gpu *gpu = ath_push(&machine->gpus, &machine->gpu_count, sizeof *gpu);
 *
 * array  address of the pointer to the first item (NULL with count 0 to begin with)
 */
void *ath_push(void *array, size_t *count, size_t item_size) __attribute__((returns_nonnull));

/* How many items an array has. */
#define ATH_COUNT(array) (sizeof(array) / sizeof *(array))
