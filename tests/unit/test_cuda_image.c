/* Checks of received images: the size that an image gives for itself, against the bytes that came.
 */
#include "config.h"

#include "cuda/common/bytes.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"
#include "unit.h"

struct fat {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes;
    uint8_t code[32];
};

static const struct fat fat_binary = {
    .magic = 0xba55ed50u, .version = 1, .head_bytes = 16, .bytes = 32
};

/* In memory of just that size, so that reading beyond it is seen by a sanitizer. */
static bool is_whole(const void *image, size_t length)
{
    void *copy = malloc(length ? length : 1);
    if (length)
        memcpy(copy, image, length);
    bool whole = ath_cuda_is_whole_image(copy, length);
    free(copy);
    return whole;
}

TEST(fat_binaries)
{
    struct fat fat = fat_binary;
    ck_assert(is_whole(&fat, sizeof fat));
    ck_assert_uint_eq(ath_cuda_bytes_of_image(&fat), sizeof fat);
    for (size_t length = 0; length < sizeof fat; length++)
        ck_assert(!is_whole(&fat, length));
    fat.bytes = UINT64_MAX;
    ck_assert(!is_whole(&fat, sizeof fat));
    fat.bytes = 32;
    fat.head_bytes = UINT16_MAX;
    ck_assert(!is_whole(&fat, sizeof fat));
}

/* An ELF file of one section with 16 bytes. */
struct elf {
    Elf64_Ehdr head;
    Elf64_Shdr sections[1];
    uint8_t code[16];
};

static struct elf elf_file(void)
{
    struct elf elf = { .head = { .e_ident = ELFMAG,
                                 .e_shoff = offsetof(struct elf, sections),
                                 .e_shnum = 1,
                                 .e_shentsize = sizeof(Elf64_Shdr) } };
    elf.head.e_ident[EI_CLASS] = ELFCLASS64;
    elf.sections[0] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
                                    .sh_offset = offsetof(struct elf, code),
                                    .sh_size = sizeof elf.code };
    return elf;
}

TEST(elf_files)
{
    struct elf elf = elf_file();
    ck_assert(is_whole(&elf, sizeof elf));
    for (size_t length = 0; length < sizeof elf; length++)
        ck_assert(!is_whole(&elf, length));
    elf.sections[0].sh_size = UINT64_MAX;
    ck_assert(!is_whole(&elf, sizeof elf));
    elf.sections[0].sh_type = SHT_NOBITS; /* which takes no room in the file */
    ck_assert(is_whole(&elf, sizeof elf));
}

TEST(elf_heads)
{
    struct elf elf = elf_file();
    elf.head.e_shoff = UINT64_MAX;
    ck_assert(!is_whole(&elf, sizeof elf));
    elf = elf_file();
    elf.head.e_shnum = UINT16_MAX;
    ck_assert(!is_whole(&elf, sizeof elf));
    elf = elf_file();
    elf.head.e_shentsize = 1;
    ck_assert(!is_whole(&elf, sizeof elf));
    elf = elf_file();
    elf.head.e_phoff = sizeof elf;
    elf.head.e_phnum = 1;
    elf.head.e_phentsize = 56;
    ck_assert(!is_whole(&elf, sizeof elf));
    elf = elf_file();
    elf.head.e_ident[EI_CLASS] = ELFCLASS32;
    ck_assert(!is_whole(&elf, sizeof elf));
}

TEST(texts_and_wrappers)
{
    static const struct {
        uint32_t magic, version;
        const void *image;
        void *more;
    } wrapper = { 0x466243b1, 1, &fat_binary, NULL };
    ck_assert(is_whole(".version 8.0", sizeof ".version 8.0"));
    ck_assert(!is_whole(".version 8.0", sizeof ".version 8.0" - 1));
    ck_assert(!is_whole(&wrapper, sizeof wrapper));
    ck_assert(ath_cuda_unwrapped_image(&wrapper) == &fat_binary);
    ck_assert(!ath_cuda_is_whole_image(NULL, 0));
}
