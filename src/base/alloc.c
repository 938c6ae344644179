/* Allocation that never returns NULL, and growing arrays. */
#include "config.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(void)
{
    fputs("aitherion: out of memory\n", stderr);
    abort();
}

void *ath_xalloc(size_t size)
{
    void *pointer = calloc(1, size ? size : 1);
    if (!pointer)
        out_of_memory();
    return pointer;
}

void *ath_xrealloc(void *pointer, size_t size)
{
    pointer = realloc(pointer, size ? size : 1);
    if (!pointer)
        out_of_memory();
    return pointer;
}

char *ath_xstrdup(const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    return memcpy(ath_xalloc(size), text, size);
}

char *ath_xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        out_of_memory();
    return text;
}

void *ath_push(void *array, size_t *count, size_t item_size)
{
    void **items = array;
    size_t used = *count;

    if ((used & (used - 1)) == 0) { /* 0, 1, 2, 4, 8...: the capacity is used up */
        size_t bytes;
        if (__builtin_mul_overflow(used ? used * 2 : 1, item_size, &bytes))
            out_of_memory();
        *items = ath_xrealloc(*items, bytes);
    }
    *count = used + 1;
    return memset((char *)*items + used * item_size, 0, item_size);
}
