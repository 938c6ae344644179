/*
 * Fuzzes the readers of what decides which libraries are packed: an ELF file, or (where the input
 * begins with its magic) the dynamic linker's cache.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "container/linker/elf.h"
#include "container/linker/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_elf(const uint8_t *data, size_t size)
{
    ath_auto_close int fd = memfd_create("fuzz", MFD_CLOEXEC);
    ATH_AUTO(ath_elf) elf = { 0 };
    struct ath_err err;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort(); /* without a memory file nothing would be tested */
    if (!ath_elf_read(fd, "fuzz", &elf, &err))
        ath_elf_architecture(elf.machine, elf.is_big);
}

/* Every text must end within the cache. */
static void read_cache(const uint8_t *data, size_t size)
{
    ATH_AUTO(ath_ld_cache) cache = { 0 };
    struct ath_ld_entry entry;
    uint8_t *bytes = ath_xalloc(size);
    size_t place = 0;

    memcpy(bytes, data, size);
    ath_ld_cache_take(bytes, size, &cache);
    while (ath_ld_cache_next(&cache, &place, &entry))
        if (strlen(entry.name) + strlen(entry.path) > 2 * size)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 6 && (!memcmp(data, "glibc-", 6) || !memcmp(data, "ld.so-", 6)))
        read_cache(data, size);
    else
        read_elf(data, size);
    return 0;
}
