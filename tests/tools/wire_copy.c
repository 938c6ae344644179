/*
 * Reads framed messages from standard input with our readers. Prints each as a line of JSON on
 * standard error, and a framed copy made with our builders on standard output.
 *
 *     wire_copy TYPE < messages > copies 2> lines
 *     wire_copy --list
 */
#include "config.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "copies.h"

enum { MESSAGE_BYTES_MAX = 64 << 20 };

static const struct copied *find(const char *name)
{
    for (size_t i = 0; i < copied_count; i++)
        if (!strcmp(copied_types[i].name, name))
            return &copied_types[i];
    return NULL;
}

static int fail(const char *why)
{
    fprintf(stderr, "wire_copy: %s\n", why);
    return 1;
}

static int copy_one(const struct copied *type, const uint8_t *bytes, size_t length)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = MESSAGE_BYTES_MAX };
    struct ath_wire_struct root;
    int status;

    if (ath_wire_open(bytes, length, type->shape, &root))
        return fail("the message is malformed");
    type->run(root, &builder, stderr);
    fputc('\n', stderr);
    const uint8_t *made = ath_wire_finish(&builder, &length, &status);
    if (!made)
        return fail(strerror(-status));
    return fwrite(made, 1, length, stdout) == length ? 0 : fail("cannot write");
}

int main(int argc, char *argv[])
{
    const struct copied *type = argc == 2 ? find(argv[1]) : NULL;
    uint32_t head[2];

    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < copied_count; i++)
            puts(copied_types[i].name);
        return 0;
    }
    if (!type)
        return fail("no such type");
    while (fread(head, sizeof head, 1, stdin) == 1) {
        size_t length = (size_t)le32toh(head[1]) * ATH_WIRE_WORD;
        if (head[0] || length > MESSAGE_BYTES_MAX)
            return fail("not one segment");
        ath_auto_free uint8_t *bytes = malloc(length + 1);
        if (!bytes || fread(bytes, 1, length, stdin) != length)
            return fail("cut off");
        if (copy_one(type, bytes, length))
            return 1;
    }
    return 0;
}
