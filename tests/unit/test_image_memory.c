/* How much GPU memory an image declares: PTX, cubins, fat binaries, and images that lie. */
#include "config.h"

#include "runtime/quota/image.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/common/bytes.h"

#include "unit.h"

/* In memory of just that size, so that a sanitizer sees reading beyond it. */
static uint64_t memory_of(const void *image, size_t length)
{
    void *copy = malloc(length);
    memcpy(copy, image, length);
    uint64_t bytes = ath_image_memory(copy);
    free(copy);
    return bytes;
}

static uint64_t of_text(const char *text)
{
    return memory_of(text, strlen(text) + 1);
}

#define HEAD ".version 6.0\n.target sm_50\n.address_size 64\n"

TEST(variables_of_ptx)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        { HEAD, 0 },
        { HEAD ".global .u32 a;", 4 },
        { HEAD ".visible .global .align 8 .b8 a[1073741824];", 1u << 30 },
        { HEAD ".global .align 16 .v4 .f32 a[3][5];", 240 },
        { HEAD ".global .v2 .f64 a;", 16 },
        { HEAD ".global .b128 a[2];", 32 },
        { HEAD ".weak .global .attribute(.managed) .u16 a[0x10], b, c[010];", 32 + 2 + 16 },
        { HEAD ".global .u32 a[3] = { 1, 2, 3 }, b = 7; .global .s64 c[0b11U];", 12 + 4 + 24 },
        { HEAD ".global/* , */.b8 a[5];// .global .b8 b[7];\n;.global .b8 c[11];", 16 },
        { HEAD ".extern .global .b8 a[5];\n.global .b8 b[7];", 7 },
        { HEAD ".shared .b8 a[5];.const .b8 b[7];", 0 },
        { HEAD ".entry k() { ld.global.u32 %r1, [a]; st.global.v4.f32 [a+16], {%f1}; }", 0 },
        { HEAD ".globally .b8 a[5];", 0 },
        { HEAD ".global .b8 a[18446744073709551615];.global .b8 b[2];", UINT64_MAX },
        { HEAD ".global .b64 a[99999999999999999999999999];", UINT64_MAX },
        { HEAD ".global", 0 },
        { HEAD ".global .b8 a[", 0 },
        { HEAD ".global .align", 0 },
        { HEAD ".global .u", 0 },
        { HEAD "/* .global .b8 a[5];", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(of_text(rows[i].text) == rows[i].bytes, "%s: %llu", rows[i].text,
                      (unsigned long long)of_text(rows[i].text));
}

/* A cubin with four sections: names, code, variables without contents, shared memory. */
struct cubin {
    Elf64_Ehdr head;
    char names[40];
    Elf64_Shdr sections[4];
};

static struct cubin make_cubin(void)
{
    static const char names[] = "\0.text.k\0.nv.global\0.nv.shared.k";
    struct cubin cubin = { .head = { .e_ident = ELFMAG,
                                     .e_shoff = offsetof(struct cubin, sections),
                                     .e_shnum = 4,
                                     .e_shentsize = sizeof(Elf64_Shdr) },
                           .sections = { { .sh_type = SHT_STRTAB,
                                           .sh_offset = offsetof(struct cubin, names),
                                           .sh_size = sizeof names },
                                         { .sh_name = 1, .sh_flags = SHF_ALLOC, .sh_size = 40 },
                                         { .sh_name = 9,
                                           .sh_type = SHT_NOBITS,
                                           .sh_flags = SHF_ALLOC | SHF_WRITE,
                                           .sh_size = 5000 },
                                         { .sh_name = 20,
                                           .sh_type = SHT_NOBITS,
                                           .sh_flags = SHF_ALLOC | SHF_WRITE,
                                           .sh_size = 700 } } };
    cubin.head.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(cubin.names, names, sizeof names);
    return cubin;
}

TEST(sections_of_a_cubin)
{
    struct cubin cubin = make_cubin();
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), 5040);
    cubin.sections[1].sh_flags = 0;
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), 5000);
    cubin.sections[2].sh_size = UINT64_MAX;
    cubin.sections[1].sh_flags = SHF_ALLOC;
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), UINT64_MAX);
}

/* A name that cannot be read is no name of shared memory. */
TEST(a_cubin_that_lies_about_its_names)
{
    struct cubin cubin = make_cubin();
    cubin.sections[0].sh_offset = UINT64_MAX;
    cubin.sections[0].sh_type = SHT_NOBITS;
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), 5740);
    cubin = make_cubin();
    cubin.sections[3].sh_name = UINT32_MAX;
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), 5740);
    cubin = make_cubin();
    cubin.head.e_shstrndx = 4;
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), 5740);
    cubin.head.e_ident[EI_CLASS] = ELFCLASS32;
    ck_assert_uint_eq(memory_of(&cubin, sizeof cubin), 0);
}

struct part {
    uint16_t kind, version;
    uint32_t head_bytes;
    uint64_t bytes, unused[3], flags, more[2];
};

struct fat {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes;
    struct part first;
    struct cubin cubin;
    struct part second;
    char text[80];
};

static struct fat make_fat(void)
{
    struct fat fat = {
        .magic = 0xba55ed50u,
        .version = 1,
        .head_bytes = 16,
        .bytes = sizeof fat - 16,
        .first = { .kind = 2, .head_bytes = sizeof(struct part), .bytes = sizeof(struct cubin) },
        .cubin = make_cubin(),
        .second = { .kind = 1, .head_bytes = sizeof(struct part), .bytes = sizeof fat.text },
        .text = HEAD ".global .b8 a[6000];"
    };
    return fat;
}

/* The driver takes one of the parts. */
TEST(the_largest_part_of_a_fat_binary)
{
    struct fat fat = make_fat();
    ck_assert_uint_eq(sizeof(struct part), 64);
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 6000);
    fat.second.flags = 0x2000;
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 5040);
    fat.first.flags = 0x8000;
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 0);
}

TEST(a_fat_binary_that_lies)
{
    struct fat fat = make_fat();
    fat.first.bytes = UINT64_MAX;
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 0);
    fat = make_fat();
    fat.second.bytes++;
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 5040);
    fat = make_fat();
    fat.first.head_bytes = 0;
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 0);
    fat = make_fat();
    fat.second.head_bytes = UINT32_MAX;
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 5040);
    fat = make_fat();
    memset(fat.text, ' ', sizeof fat.text); /* no NUL byte at its end */
    memcpy(fat.text + sizeof fat.text - 16, ".global .u32 a;;", 16);
    ck_assert_uint_eq(memory_of(&fat, sizeof fat), 5040);
}

/* The pages of memory end with a text, which is shorter than the number that other images begin
 * with. */
TEST(texts_are_not_read_beyond_their_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t length = 1; length < 6; length++) {
        char *text = pages + page - length;
        memset(text, '.', length - 1);
        ck_assert(ath_cuda_is_whole_image(text, length));
        ck_assert_uint_eq(ath_cuda_bytes_of_image(text), length);
        ck_assert_uint_eq(ath_image_memory(text), 0);
    }
    munmap(pages, 2 * page);
}

TEST(code_that_nvcc_linked_counts_with_its_image)
{
    struct fat first = make_fat(), second = make_fat();
    const void *const more[] = { &second, &second, NULL };
    const struct {
        uint32_t magic, version;
        const void *image;
        const void *more;
    } wrapper = { 0x466243b1u, 2, &first, more };
    ck_assert_uint_eq(ath_image_memory(&wrapper), 18000);
}
