/* Makes ELF files for tests, in either byte order: the structs of <elf.h>, and a table of texts. */
#pragma once
#include <check.h>
#include <elf.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_MAX = 16, MADE_STRINGS = 4096, MADE_NOTE = 512, MADE_ADDRESS = 0x400000 };

struct made_elf {
    bool is_big;
    uint16_t type, machine; /* 0: ET_DYN, EM_X86_64 */
    const char *loader, *rpath, *runpath;
    const char *needed[MADE_MAX];
    uint64_t flags_1;
    const char *late; /* JSON of a note about libraries opened late */
};

struct made_bytes {
    uint8_t bytes[16384];
    size_t length;
};

static inline uint16_t made_16(const struct made_elf *elf, uint16_t value)
{
    return elf->is_big ? htobe16(value) : htole16(value);
}

static inline uint32_t made_32(const struct made_elf *elf, uint32_t value)
{
    return elf->is_big ? htobe32(value) : htole32(value);
}

static inline uint64_t made_64(const struct made_elf *elf, uint64_t value)
{
    return elf->is_big ? htobe64(value) : htole64(value);
}

static inline size_t made_add(struct made_bytes *out, const void *bytes, size_t length)
{
    size_t at = out->length = (out->length + 7) & ~(size_t)7;
    ck_assert_uint_le(at + length, sizeof out->bytes);
    memcpy(out->bytes + at, bytes, length);
    out->length = at + length;
    return at;
}

static inline Elf64_Phdr made_segment(const struct made_elf *elf, uint32_t type, size_t at,
                                      size_t length)
{
    return (Elf64_Phdr){ .p_type = made_32(elf, type),
                         .p_offset = made_64(elf, at),
                         .p_vaddr = made_64(elf, MADE_ADDRESS + at),
                         .p_filesz = made_64(elf, length),
                         .p_memsz = made_64(elf, length) };
}

/* A table of texts, the first one empty. */
struct made_strings {
    char bytes[MADE_STRINGS];
    size_t length;
};

static inline uint64_t made_string(struct made_strings *strings, const char *text)
{
    size_t at = strings->length;
    memcpy(strings->bytes + at, text, strlen(text) + 1);
    strings->length += strlen(text) + 1;
    return at;
}

static inline size_t made_note(const struct made_elf *elf, struct made_bytes *out, size_t *out_size)
{
    uint8_t note[MADE_NOTE] = { 0 };
    uint32_t head[3] = { made_32(elf, 4), made_32(elf, (uint32_t)strlen(elf->late) + 1),
                         made_32(elf, 0x407c0c0a) };
    memcpy(note, head, sizeof head);
    memcpy(note + sizeof head, "FDO", 4);
    memcpy(note + sizeof head + 4, elf->late, strlen(elf->late));
    *out_size = (sizeof head + 4 + strlen(elf->late) + 1 + 3) & ~(size_t)3;
    return made_add(out, note, *out_size);
}

/* Writes the header, the program headers, then the data; one loadable segment covers the file. */
static inline void made_elf(const struct made_elf *elf, struct made_bytes *out)
{
    Elf64_Phdr segments[4];
    size_t count = 0, room = sizeof(Elf64_Ehdr) + sizeof segments;
    struct made_strings strings = { .length = 1 };
    Elf64_Dyn entries[MADE_MAX + 8];
    size_t entry_count = 0;

    *out = (struct made_bytes){ .length = room };
    if (elf->loader) {
        size_t at = made_add(out, elf->loader, strlen(elf->loader) + 1);
        segments[count++] = made_segment(elf, PT_INTERP, at, strlen(elf->loader) + 1);
    }
    if (elf->late) {
        size_t size, at = made_note(elf, out, &size);
        segments[count++] = made_segment(elf, PT_NOTE, at, size);
    }
#define MADE_ENTRY(tag, value)                                                                     \
    entries[entry_count++] = (Elf64_Dyn)                                                           \
    {                                                                                              \
        .d_tag = (Elf64_Sxword)made_64(elf, tag), .d_un.d_val = made_64(elf, value)                \
    }
    for (size_t i = 0; i < MADE_MAX && elf->needed[i]; i++)
        MADE_ENTRY(DT_NEEDED, made_string(&strings, elf->needed[i]));
    if (elf->rpath)
        MADE_ENTRY(DT_RPATH, made_string(&strings, elf->rpath));
    if (elf->runpath)
        MADE_ENTRY(DT_RUNPATH, made_string(&strings, elf->runpath));
    if (elf->flags_1)
        MADE_ENTRY(DT_FLAGS_1, elf->flags_1);
    size_t strings_at = made_add(out, strings.bytes, strings.length);
    MADE_ENTRY(DT_STRTAB, MADE_ADDRESS + strings_at);
    MADE_ENTRY(DT_STRSZ, strings.length);
    MADE_ENTRY(DT_NULL, 0);
#undef MADE_ENTRY
    size_t at = made_add(out, entries, entry_count * sizeof *entries);
    segments[count++] = made_segment(elf, PT_DYNAMIC, at, entry_count * sizeof *entries);
    segments[count++] = made_segment(elf, PT_LOAD, 0, out->length);

    Elf64_Ehdr head = { .e_type = made_16(elf, elf->type ? elf->type : ET_DYN),
                        .e_machine = made_16(elf, elf->machine ? elf->machine : EM_X86_64),
                        .e_phoff = made_64(elf, sizeof head),
                        .e_phentsize = made_16(elf, sizeof(Elf64_Phdr)),
                        .e_phnum = made_16(elf, (uint16_t)count) };
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = elf->is_big ? ELFDATA2MSB : ELFDATA2LSB;
    memcpy(out->bytes, &head, sizeof head);
    memcpy(out->bytes + sizeof head, segments, count * sizeof *segments);
}
