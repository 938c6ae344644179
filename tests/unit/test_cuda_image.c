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

/* A fat binary of two entries with heads of 64 bytes. */
struct two {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes;
    struct {
        uint16_t kind, version;
        uint32_t head_bytes;
        uint64_t bytes;
        uint32_t unknown[3], capability;
        uint64_t more[4];
        uint8_t code[24];
    } entries[2];
};
enum { PTX = 1, ELF = 2 };

static struct two two_entries(uint16_t first, uint32_t of_first, uint16_t second,
                              uint32_t of_second)
{
    struct two two = { .magic = 0xba55ed50u, .version = 1, .head_bytes = 16 };
    two.bytes = sizeof two.entries;
    for (int i = 0; i < 2; i++) {
        two.entries[i].kind = i ? second : first;
        two.entries[i].capability = i ? of_second : of_first;
        two.entries[i].head_bytes = 64;
        two.entries[i].bytes = 24;
    }
    return two;
}

static bool has_code(const struct two *two, size_t length, unsigned int capability)
{
    void *copy = malloc(length);
    memcpy(copy, two, length);
    bool has = ath_cuda_has_code_for(copy, capability);
    free(copy);
    return has;
}

TEST(machine_code_for_a_gpu)
{
    struct two two = two_entries(ELF, 80, ELF, 90);
    ck_assert(has_code(&two, sizeof two, 80));
    ck_assert(has_code(&two, sizeof two, 90));
    ck_assert(
        !has_code(&two, sizeof two, 86)); /* code for 8.0 would run, but that is not looked at */
    two = two_entries(PTX, 90, ELF, 80);
    ck_assert(!has_code(&two, sizeof two, 90));
    ck_assert(has_code(&two, sizeof two, 80));
    const uint64_t wrapper[] = { UINT64_C(0x1466243b1), (uintptr_t)&two, 0 };
    ck_assert(ath_cuda_has_code_for(wrapper, 80));
    ck_assert(!ath_cuda_has_code_for(NULL, 80));
    ck_assert(!ath_cuda_has_code_for(".version 7.0", 80));
}

/* The second entry lies behind the end, or the first one has a length that leads there. */
TEST(machine_code_that_is_cut_off)
{
    struct two two = two_entries(PTX, 90, ELF, 90);
    two.bytes = sizeof two.entries[0];
    ck_assert(!has_code(&two, sizeof two - sizeof two.entries[0], 90));
    two.bytes = sizeof two.entries[0] + 31;
    ck_assert(!has_code(&two, sizeof two - sizeof two.entries[0] + 31, 90));
    two.bytes = sizeof two.entries;
    for (int i = 0; i < 4; i++) {
        const uint64_t wrong[] = { 25 + sizeof two.entries, UINT64_MAX, UINT64_MAX - 63,
                                   UINT64_MAX - 64 };
        two.entries[0].bytes = wrong[i];
        ck_assert(!has_code(&two, sizeof two, 90));
    }
    two.entries[0].bytes = 24;
    two.entries[0].head_bytes = 0; /* an entry without a head would be there again and again */
    ck_assert(!has_code(&two, sizeof two, 90));
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
