/* Shared by fuzz targets: promises, and the bytes of an input, which are taken one after another.
 * Behind the end of an input all bytes are 0. */
#pragma once
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void insist(bool is_true, const char *promise)
{
    if (!is_true) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

struct fuzz_input {
    const uint8_t *at, *end;
};

static inline size_t fuzz_left(const struct fuzz_input *input)
{
    return (size_t)(input->end - input->at);
}

/* A number of at most eight bytes. */
static inline uint64_t fuzz_take(struct fuzz_input *input, size_t bytes)
{
    uint64_t value = 0;
    bytes = bytes < fuzz_left(input) ? bytes : fuzz_left(input);
    memcpy(&value, input->at, bytes);
    input->at += bytes;
    return le64toh(value);
}

/* At most so many of the next bytes. */
static inline struct fuzz_input fuzz_part(struct fuzz_input *input, size_t most)
{
    size_t length = most < fuzz_left(input) ? most : fuzz_left(input);
    struct fuzz_input part = { input->at, input->at + length };
    input->at += length;
    return part;
}

/* Fills a value with the next bytes, and with zeros behind the end. */
static inline void fuzz_fill(struct fuzz_input *input, void *to, size_t bytes)
{
    struct fuzz_input part = fuzz_part(input, bytes);
    memset(to, 0, bytes);
    memcpy(to, part.at, fuzz_left(&part));
}
