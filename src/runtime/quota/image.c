/*
 * Sizes of the sections of cubins, and of the variables in PTX (PTX ISA, "Variables").
 *
 * A fat binary has a head (u32 magic, u16 version, u16 bytes of the head, u64 bytes of the rest)
 * and parts, each with a head of its own: u16 kind (1 PTX, 2 ELF), u16 version, u32 bytes of the
 * head, u64 bytes of the code, and flags in a u64 at offset 40, whose bits 12 to 15 mean
 * compressed.
 */
#include "config.h"

#include "runtime/quota/image.h"

#include <ctype.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/common/bytes.h"

enum { KIND_PTX = 1, KIND_ELF = 2, PART_HEAD_BYTES = 64 };
static const uint32_t fatbin_magic = 0xba55ed50;
static const uint64_t compressed = 0xf000;

static uint64_t add(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* ---- ELF ---- */

/* Returns whether a section's name begins with a text. */
static bool is_named(const uint8_t *bytes, size_t length, const Elf64_Shdr *names, uint32_t name,
                     const char *text)
{
    size_t text_length = strlen(text);
    return names->sh_offset <= length && names->sh_size <= length - names->sh_offset &&
           name < names->sh_size && text_length <= names->sh_size - name &&
           !memcmp(bytes + names->sh_offset + name, text, text_length);
}

/* Sections that are in the GPU's memory when the code is loaded: all that are allocated, except
 * shared memory, which is on the chip. */
static uint64_t elf_memory(const uint8_t *bytes, size_t length)
{
    Elf64_Ehdr head;
    Elf64_Shdr names = { 0 }, section;
    uint64_t sum = 0;
    if (length < sizeof head)
        return 0;
    memcpy(&head, bytes, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof section ||
        head.e_shoff > length || head.e_shnum > (length - head.e_shoff) / sizeof section)
        return 0;
    const uint8_t *table = bytes + head.e_shoff;
    if (head.e_shstrndx < head.e_shnum)
        memcpy(&names, table + head.e_shstrndx * sizeof names, sizeof names);
    for (size_t i = 0; i < head.e_shnum; i++) {
        memcpy(&section, table + i * sizeof section, sizeof section);
        if (section.sh_flags & SHF_ALLOC &&
            !is_named(bytes, length, &names, section.sh_name, ".nv.shared"))
            sum = add(sum, section.sh_size);
    }
    return sum;
}

/* ---- PTX ---- */

struct text {
    const char *at, *end;
};

static bool begins(const struct text *text, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text->end - text->at) >= length && !memcmp(text->at, word, length);
}

static bool is_in_name(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '$' || letter == '%';
}

/* Skips blanks and comments. */
static void skip_blanks(struct text *text)
{
    while (text->at < text->end) {
        if (isspace((unsigned char)*text->at)) {
            text->at++;
            continue;
        }
        const char *close = begins(text, "//") ? "\n" : begins(text, "/*") ? "*/" : NULL;
        if (!close)
            return;
        text->at += 2;
        while (text->at < text->end && !begins(text, close))
            text->at++;
        text->at += text->at < text->end ? strlen(close) : 0;
    }
}

/* Reads an unsigned number: decimal, 0x, 0 or 0b. Returns 0 if there is none. */
static uint64_t read_number(struct text *text)
{
    unsigned int base = 10;
    uint64_t value = 0;
    if (begins(text, "0x") || begins(text, "0X")) {
        base = 16;
        text->at += 2;
    } else if (begins(text, "0b") || begins(text, "0B")) {
        base = 2;
        text->at += 2;
    } else if (begins(text, "0")) {
        base = 8;
    }
    for (; text->at < text->end && isxdigit((unsigned char)*text->at); text->at++) {
        char letter = (char)tolower((unsigned char)*text->at);
        unsigned int digit =
            (unsigned int)(isdigit((unsigned char)letter) ? letter - '0' : letter - 'a' + 10);
        if (digit >= base)
            break;
        value = add(multiply(value, base), digit);
    }
    while (text->at < text->end && (*text->at == 'U' || *text->at == 'u'))
        text->at++;
    return value;
}

/* Skips a word, and what stands in parentheses behind it. */
static void skip_word(struct text *text)
{
    while (text->at < text->end && is_in_name(*text->at))
        text->at++;
    if (begins(text, "("))
        while (text->at < text->end && *text->at++ != ')')
            ;
}

/* Reads ".align 4 .v2 .f32" and the like, up to the name. Returns the bytes of an element. */
static uint64_t read_type(struct text *text)
{
    uint64_t bytes = 0, count = 1;
    for (skip_blanks(text); begins(text, "."); skip_blanks(text)) {
        struct text number = { ++text->at + 1, text->end };
        if (begins(text, "align")) {
            text->at += strlen("align");
            skip_blanks(text);
            read_number(text);
            continue;
        }
        if (text->at < text->end && strchr("busf", *text->at) && number.at < text->end &&
            isdigit((unsigned char)*number.at))
            bytes = strtoul((const char[4]){ number.at[0],
                                             number.at + 1 < text->end ? number.at[1] : '\0',
                                             number.at + 2 < text->end ? number.at[2] : '\0' },
                            NULL, 10) /
                    8;
        else if (begins(text, "v2"))
            count = 2;
        else if (begins(text, "v4"))
            count = 4;
        skip_word(text);
    }
    return bytes * count;
}

/* Skips an initializer. */
static void skip_value(struct text *text)
{
    unsigned int depth = 0;
    for (; text->at < text->end && (depth || (*text->at != ',' && *text->at != ';')); text->at++) {
        depth += *text->at == '{';
        depth -= *text->at == '}' && depth;
    }
}

/* Reads what stands behind ".global": one type, and one or more variables. */
static uint64_t read_variables(struct text *text)
{
    uint64_t element = read_type(text), sum = 0;
    do {
        uint64_t bytes = element;
        skip_blanks(text);
        skip_word(text);
        for (skip_blanks(text); begins(text, "["); skip_blanks(text)) {
            text->at++;
            skip_blanks(text);
            bytes = multiply(bytes, begins(text, "]") ? 1 : read_number(text));
            while (text->at < text->end && *text->at++ != ']')
                ;
        }
        sum = add(sum, bytes);
        skip_value(text);
    } while (begins(text, ",") && text->at++);
    return sum;
}

/* Skips what stands up to the next blank, comment, or end of a statement. */
static void skip_token(struct text *text)
{
    while (text->at < text->end && !isspace((unsigned char)*text->at) && !begins(text, "/*") &&
           !begins(text, "//"))
        if (strchr(";{}", *text->at++))
            return;
}

/* ".global" also stands in instructions (ld.global), but there it is a part of a word. A variable
 * that is only declared here (.extern) has its memory in another module. */
static uint64_t ptx_memory(const char *code, size_t length)
{
    struct text text = { code, code + strnlen(code, length) };
    uint64_t sum = 0;
    bool is_extern = false;
    for (skip_blanks(&text); text.at < text.end; skip_blanks(&text)) {
        if (begins(&text, ".global")) {
            text.at += strlen(".global");
            uint64_t bytes = text.at < text.end && is_in_name(*text.at) ? 0 : read_variables(&text);
            sum = add(sum, is_extern ? 0 : bytes);
            is_extern = false;
            continue;
        }
        is_extern = begins(&text, ".extern");
        skip_token(&text);
    }
    return sum;
}

/* ---- fat binaries ---- */

static uint64_t part_memory(uint16_t kind, const uint8_t *code, size_t length)
{
    if (kind == KIND_PTX)
        return ptx_memory((const char *)code, length);
    return kind == KIND_ELF ? elf_memory(code, length) : 0;
}

/* The driver takes one of the parts: the one for its GPU. */
static uint64_t fatbin_memory(const uint8_t *bytes, size_t length)
{
    uint16_t head_bytes, kind;
    uint64_t most = 0, flags, code_bytes;
    uint32_t part_bytes;
    memcpy(&head_bytes, bytes + 6, sizeof head_bytes);
    for (size_t at = head_bytes; at < length && length - at >= PART_HEAD_BYTES;
         at += part_bytes + code_bytes) {
        memcpy(&kind, bytes + at, sizeof kind);
        memcpy(&part_bytes, bytes + at + 4, sizeof part_bytes);
        memcpy(&code_bytes, bytes + at + 8, sizeof code_bytes);
        memcpy(&flags, bytes + at + 40, sizeof flags);
        if (part_bytes < PART_HEAD_BYTES || part_bytes > length - at ||
            code_bytes > length - at - part_bytes)
            break;
        uint64_t memory =
            flags & compressed ? 0 : part_memory(kind, bytes + at + part_bytes, (size_t)code_bytes);
        most = memory > most ? memory : most;
    }
    return most;
}

static uint64_t memory_of(const void *image)
{
    const uint8_t *bytes = ath_cuda_unwrapped_image(image);
    size_t length = ath_cuda_bytes_of_image(bytes);
    uint32_t magic;
    if (length < sizeof magic)
        return 0;
    memcpy(&magic, bytes, sizeof magic);
    if (magic == fatbin_magic)
        return length >= 16 ? fatbin_memory(bytes, length) : 0;
    return memcmp(bytes, ELFMAG, SELFMAG) != 0 ? ptx_memory((const char *)bytes, length)
                                               : elf_memory(bytes, length);
}

/* Code that nvcc linked into an image beforehand is loaded with it. */
uint64_t ath_image_memory(const void *image)
{
    const void *const *more = ath_cuda_prelinked_images(image);
    uint64_t sum = memory_of(image);
    for (; more && *more; more++)
        sum = add(sum, memory_of(*more));
    return sum;
}
