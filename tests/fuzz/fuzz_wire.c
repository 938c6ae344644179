/*
 * Fuzzes the decoder: the first byte of an input says which struct of the schemas its rest is. A
 * message that is found right is read whole, and its copy must be right as well and read the same.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "copies.h"

enum { COPY_BYTES_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true, const char *promise)
{
    if (!is_true) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

/* Reads a whole message, returns it as text that the caller frees, and makes a copy, which must be
 * valid. */
static char *read_whole(const struct copied *type, struct ath_wire_struct root,
                        struct ath_wire_builder *copy, struct ath_wire_struct *out_copy)
{
    char *text = NULL;
    size_t length = 0;
    int status;
    FILE *out = open_memstream(&text, &length);
    insist(out != NULL, "there is memory");
    type->run(root, copy, out);
    fclose(out);
    const uint8_t *made = ath_wire_finish(copy, &length, &status);
    insist(made != NULL, "a copy has room: a message cannot say more than it holds");
    insist(!ath_wire_open(made + 8, length - 8, type->shape, out_copy), "a copy is right");
    return text;
}

/* The first copy leaves out a union's member that the schema does not know, so the second one is
 * compared with it. */
static void check_copies(const struct copied *type, struct ath_wire_struct root)
{
    ATH_AUTO(ath_wire_builder) one = { .max_bytes = COPY_BYTES_MAX };
    ATH_AUTO(ath_wire_builder) two = { .max_bytes = COPY_BYTES_MAX };
    ATH_AUTO(ath_wire_builder) three = { .max_bytes = COPY_BYTES_MAX };
    struct ath_wire_struct copy, copy_of_copy, last;
    ath_auto_free char *first = read_whole(type, root, &one, &copy);
    ath_auto_free char *second = read_whole(type, copy, &two, &copy_of_copy);
    ath_auto_free char *third = read_whole(type, copy_of_copy, &three, &last);
    insist(*first == '{' && !strcmp(second, third), "a copy says the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ath_wire_struct root;

    if (!size)
        return 0;
    const struct copied *type = &copied_types[data[0] % copied_count];
    size_t length = size - 1 - (size - 1) % ATH_WIRE_WORD;
    ath_auto_free uint8_t *exact = malloc(length + 1); /* ASan sees reads beyond it */
    insist(exact != NULL, "there is memory");
    memcpy(exact, data + 1, length);
    if (!ath_wire_open(exact, length, type->shape, &root))
        check_copies(type, root);
    return 0;
}
