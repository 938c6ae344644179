/* What the kernel says of the program's mappings. */
#include "config.h"

#include "runtime/cuda/by_hand/mapped_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct mapping {
    uint64_t first, end, inode;
    bool is_shared;
};

/* "7f0a1000-7f0a3000 rw-s 00000000 00:1a 42        /dev/shm/name" */
static bool parse(const char *line, struct mapping *out)
{
    char *at;
    out->first = strtoull(line, &at, 16);
    if (*at != '-')
        return false;
    out->end = strtoull(at + 1, &at, 16);
    if (strlen(at) < 6)
        return false;
    out->is_shared = at[4] == 's';
    at += 6;
    for (int words = 2; words && (at = strchr(at, ' ')); words--) /* offset, device */
        at++;
    out->inode = at ? strtoull(at, NULL, 10) : 0;
    return at;
}

bool ath_cuda_is_mapped_file(const void *address, size_t bytes)
{
    ath_auto_fclose FILE *maps = fopen("/proc/self/maps", "re");
    ath_auto_free char *line = NULL;
    size_t room = 0;
    uint64_t first = (uintptr_t)address, end = first + bytes;
    while (maps && getline(&line, &room, maps) > 0) {
        struct mapping mapping;
        if (parse(line, &mapping) && mapping.first < end && first < mapping.end &&
            mapping.is_shared && mapping.inode)
            return true;
    }
    return false;
}
