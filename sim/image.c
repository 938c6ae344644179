/*
 * Reads the names of kernels and variables from a program's image, if that is simple. No code of an
 * image is run, and compressed parts are not read. Facts about the formats:
 *
 * - The runtime's wrapper: magic 0x466243b1, a version, the address of a fat binary. In version 2
 *   (relocatable code) a list of further fat binaries follows, which ends with NULL; the driver can
 *   link these itself if the first has nothing for the GPU.
 * - The fat binary: u32 magic 0xba55ed50, u16 version, u16 header size, u64 size of the rest. An
 *   entry: u16 kind (1 PTX, 2 ELF), u16 version, u32 header size, u64 size, u32 compute capability
 *   at offset 28, u64 flags at offset 40; bits 12 to 15 mean compressed.
 * - ELF of EM_CUDA (190), and PTX text.
 */
#include "config.h"

#include "sim/image.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/facts.h"

enum {
    EM_OF_CUDA = 190,
    SYMBOLS_MAX = 65536,
    FILE_BYTES_MAX = 256 << 20,
    ENTRY_BYTES = 64,
    KIND_PTX = 1,
    KIND_ELF = 2,
};
static const uint32_t wrapper_magic = 0x466243b1, fatbin_magic = 0xba55ed50;
static const uint64_t compressed_flags = 0xf000;

/* Adds a symbol; name is copied. */
static CUresult add(struct sim_image *image, struct sim_symbol symbol, size_t length)
{
    for (size_t i = 0; i < image->count;
         i++) /* an image contains a symbol once for each kind of GPU */
        if (!strncmp(image->symbols[i].name, symbol.name, length) &&
            !image->symbols[i].name[length])
            return CUDA_SUCCESS;
    if (image->count == SYMBOLS_MAX)
        return CUDA_ERROR_INVALID_IMAGE;
    struct sim_symbol *grown = realloc(image->symbols, (image->count + 1) * sizeof *image->symbols);
    if (grown)
        image->symbols = grown;
    symbol.name = grown ? strndup(symbol.name, length) : NULL;
    if (!symbol.name)
        return CUDA_ERROR_OUT_OF_MEMORY;
    image->symbols[image->count++] = symbol;
    return CUDA_SUCCESS;
}

CUresult sim_image_add_variable(struct sim_image *image, const char *name, size_t bytes)
{
    return add(image, (struct sim_symbol){ .name = (char *)(uintptr_t)name, .bytes = bytes },
               strlen(name));
}

CUresult sim_image_add(struct sim_image *image, const struct sim_symbol *symbol)
{
    return add(image, *symbol, strlen(symbol->name));
}

void sim_image_free(struct sim_image *image)
{
    for (size_t i = 0; i < image->count; i++)
        free(image->symbols[i].name);
    free(image->symbols);
    *image = (struct sim_image){ 0 };
}

/* ---- PTX ---- */

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || (text[length] && strchr("_$%", text[length])))
        length++;
    return length;
}

static size_t type_bytes(const char *type)
{
    size_t bits = strtoul(type + 1, NULL, 10);
    return bits ? bits / 8 : 1;
}

/* Reads what follows ".global": ".align 4 .f32 name;", ".attribute(.managed) .b8 name[64]", with or
 * without an initializer. */
static CUresult add_variable(struct sim_image *image, const char *at)
{
    static const char managed[] = "attribute(.managed)";
    struct sim_symbol symbol = { 0 };
    size_t bytes = 0, elements = 1;
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '.')
            break;
        const char *word = ++at;
        at += name_length(at);
        if (!strncmp(word, "align", 5)) {
            at += strspn(at, " \t");
            at += strspn(at, "0123456789");
        } else if (!strncmp(word, managed, strlen(managed))) {
            symbol.is_managed = true;
            at = word + strlen(managed);
        } else if (word[0] && strchr("busf", word[0]) && isdigit((unsigned char)word[1])) {
            bytes = type_bytes(word);
        }
    }
    size_t length = name_length(at);
    if (at[length] == '[')
        elements = strtoul(at + length + 1, NULL, 10);
    symbol.name = (char *)(uintptr_t)at;
    symbol.bytes = bytes * elements;
    return length && symbol.bytes ? add(image, symbol, length) : CUDA_SUCCESS;
}

static CUresult read_ptx(const char *text, struct sim_image *image)
{
    CUresult status = CUDA_SUCCESS;
    image->is_runnable = true;
    for (const char *at = text; !status && (at = strchr(at, '.')); at++) {
        if (!strncmp(at, ".entry", 6) && isspace((unsigned char)at[6])) {
            const char *name = at + 6 + strspn(at + 6, " \t\r\n");
            status = add(image,
                         (struct sim_symbol){ .name = (char *)(uintptr_t)name, .is_kernel = true },
                         name_length(name));
        } else if ((!strncmp(at, ".global", 7) || !strncmp(at, ".const", 6)) &&
                   (at == text || isspace((unsigned char)at[-1]))) {
            const char *after = at + (at[1] == 'g' ? 7 : 6);
            /* "ld.global" matches too, but has no blank after it. */
            if (isspace((unsigned char)*after))
                status = add_variable(image, after);
        }
    }
    return status;
}

/* ---- ELF ---- */

/* The caller does not know the length: the file ends where its section table says. */
static CUresult read_elf(const unsigned char *bytes, size_t length, struct sim_image *image)
{
    Elf64_Ehdr header;
    if (length < sizeof header)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&header, bytes, sizeof header);
    if (header.e_type == ET_REL && !image->is_linking)
        return CUDA_SUCCESS; /* no code that can run */
    image->is_runnable = true;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_OF_CUDA ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > length ||
        header.e_shnum > (length - header.e_shoff) / sizeof(Elf64_Shdr))
        return CUDA_ERROR_INVALID_IMAGE;
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr table, names;
        memcpy(&table, bytes + header.e_shoff + i * sizeof table, sizeof table);
        if (table.sh_type != SHT_SYMTAB)
            continue;
        if (table.sh_link >= header.e_shnum || table.sh_offset > length ||
            table.sh_size > length - table.sh_offset)
            return CUDA_ERROR_INVALID_IMAGE;
        memcpy(&names, bytes + header.e_shoff + table.sh_link * sizeof names, sizeof names);
        if (names.sh_offset > length || names.sh_size > length - names.sh_offset)
            return CUDA_ERROR_INVALID_IMAGE;
        for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, bytes + table.sh_offset + at, sizeof symbol);
            /* A kernel is a global function with STO_CUDA_ENTRY; STO_CUDA_MANAGED is 4. */
            bool is_kernel = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_other & 0x10;
            bool is_managed = !is_kernel && symbol.st_other & 0x04;
            bool is_variable = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size &&
                               (is_managed || ELF64_ST_BIND(symbol.st_info) != STB_LOCAL);
            if ((!is_kernel && !is_variable) || symbol.st_name >= names.sh_size)
                continue;
            const char *name = (const char *)bytes + names.sh_offset + symbol.st_name;
            size_t name_bytes = strnlen(name, names.sh_size - symbol.st_name);
            CUresult status = add(image,
                                  (struct sim_symbol){ .name = (char *)(uintptr_t)name,
                                                       .is_kernel = is_kernel,
                                                       .is_managed = is_managed,
                                                       .bytes = symbol.st_size },
                                  name_bytes);
            if (status)
                return status;
        }
    }
    return CUDA_SUCCESS;
}

/* Returns the length of an ELF file from its headers. */
static size_t elf_length(const unsigned char *bytes)
{
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    size_t end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    size_t segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
    return end > segments ? end : segments;
}

/* ---- fat binaries ---- */

/* Code also runs on later minor versions, PTX on all later versions. */
static bool is_for_device(uint16_t kind, uint32_t capability)
{
    const uint32_t own = 10 * SIM_COMPUTE_MAJOR + SIM_COMPUTE_MINOR;
    if (kind == KIND_ELF)
        return capability / 10 == SIM_COMPUTE_MAJOR && capability <= own;
    return kind == KIND_PTX && capability <= own;
}

static CUresult read_entry(const unsigned char *entry, size_t header_bytes, size_t bytes,
                           struct sim_image *image)
{
    uint16_t kind;
    uint32_t capability;
    uint64_t flags;
    memcpy(&kind, entry, sizeof kind);
    memcpy(&capability, entry + 28, sizeof capability);
    memcpy(&flags, entry + 40, sizeof flags);
    if (!is_for_device(kind, capability))
        return CUDA_SUCCESS;
    const unsigned char *content = entry + header_bytes;
    if (flags & compressed_flags || (kind != KIND_PTX && kind != KIND_ELF)) {
        image->is_opaque = image->is_runnable = true;
        return CUDA_SUCCESS;
    }
    if (kind == KIND_ELF)
        return read_elf(content, bytes, image);
    char *text = strndup((const char *)content, bytes);
    CUresult status = text ? read_ptx(text, image) : CUDA_ERROR_OUT_OF_MEMORY;
    free(text);
    return status;
}

static CUresult read_fatbin(const unsigned char *bytes, struct sim_image *image)
{
    uint16_t header_bytes;
    uint64_t size;
    memcpy(&header_bytes, bytes + 6, sizeof header_bytes);
    memcpy(&size, bytes + 8, sizeof size);
    const unsigned char *end = bytes + header_bytes + size;
    for (const unsigned char *at = bytes + header_bytes; at < end;) {
        uint32_t entry_header;
        uint64_t entry_bytes;
        size_t rest = (size_t)(end - at);
        if (rest < ENTRY_BYTES)
            return CUDA_ERROR_INVALID_IMAGE;
        memcpy(&entry_header, at + 4, sizeof entry_header);
        memcpy(&entry_bytes, at + 8, sizeof entry_bytes);
        if (entry_header < ENTRY_BYTES || entry_header > rest || entry_bytes > rest - entry_header)
            return CUDA_ERROR_INVALID_IMAGE;
        CUresult status = read_entry(at, entry_header, entry_bytes, image);
        if (status)
            return status;
        at += entry_header + entry_bytes;
    }
    return CUDA_SUCCESS;
}

static CUresult read_magic_fatbin(const unsigned char *bytes, struct sim_image *out)
{
    uint32_t magic;
    memcpy(&magic, bytes, sizeof magic);
    return magic == fatbin_magic ? read_fatbin(bytes, out) : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult read_wrapper(const unsigned char *wrapper, struct sim_image *out)
{
    uint32_t version;
    const unsigned char *data, *const *linked;
    memcpy(&version, wrapper + 4, sizeof version);
    memcpy(&data, wrapper + 8, sizeof data);
    memcpy(&linked, wrapper + 16, sizeof linked);
    CUresult status = read_magic_fatbin(data, out);
    out->is_linking = true;
    for (; version == 2 && !status && !out->is_runnable && *linked; linked++)
        status = read_magic_fatbin(*linked, out);
    return status;
}

/* Uses the stack as a compiler does that recurses. */
static void recurse(unsigned int depth)
{
    volatile char frame[64 * 1024];
    frame[0] = (char)depth;
    if (depth)
        recurse(depth - 1);
    frame[sizeof frame - 1] = frame[0];
}

static CUresult compile_ptx(const void *image, struct sim_image *out)
{
    enum { DEEP = 7 * 16 };
    if (sim_facts_compiler_is_deep())
        recurse(DEEP);
    return strstr(image, ".target") ? read_ptx(image, out) : CUDA_ERROR_INVALID_PTX;
}

static CUresult read_any(const void *image, struct sim_image *out)
{
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic == wrapper_magic)
        return read_wrapper(image, out);
    if (magic == fatbin_magic)
        return read_fatbin(image, out);
    if (!memcmp(image, ELFMAG, SELFMAG))
        return read_elf(image, elf_length(image), out);
    if (!isgraph(*(const unsigned char *)image) && !isspace(*(const unsigned char *)image))
        return CUDA_ERROR_INVALID_IMAGE;
    if (!strstr(image, ".version"))
        return CUDA_ERROR_INVALID_IMAGE;
    return compile_ptx(image, out);
}

static CUresult read_whole(const void *image, bool is_linking, struct sim_image *out)
{
    *out = (struct sim_image){ .is_linking = is_linking };
    CUresult status = read_any(image, out);
    if (!status && !out->is_runnable)
        status = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (status)
        sim_image_free(out);
    return status;
}

CUresult sim_image_read(const void *image, struct sim_image *out)
{
    return read_whole(image, false, out);
}

CUresult sim_image_read_input(const void *image, struct sim_image *out)
{
    return read_whole(image, true, out);
}

char *sim_read_file(const char *path, size_t *out_size)
{
    FILE *file = path ? fopen(path, "rbe") : NULL;
    char *bytes = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        long length = ftell(file);
        rewind(file);
        bytes = length > 0 && length < FILE_BYTES_MAX ? malloc((size_t)length + 64) : NULL;
        if (bytes)
            memset(bytes + length, 0, 64);
        if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
            free(bytes);
            bytes = NULL;
        }
        *out_size = (size_t)length;
    }
    if (file)
        fclose(file);
    return bytes;
}
