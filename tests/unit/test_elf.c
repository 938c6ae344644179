/* ELF files of both byte orders: whole, cut off anywhere, and with invalid numbers. */
#include "config.h"

#include "container/linker/elf.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "made_elf.h"
#include "tree.h"
#include "unit.h"

static int read_bytes(const void *bytes, size_t length, struct ath_elf *out, struct ath_err *err)
{
    ath_auto_close int fd = memfd_create("elf", MFD_CLOEXEC);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    return ath_elf_read(fd, "made", out, err);
}

static const struct made_elf example = {
    .machine = EM_PPC64,
    .loader = "/lib64/ld64.so.2",
    .needed = { "libnettle.so.8", "libc.so.6" },
    .runpath = "$ORIGIN/../lib:/opt/lib",
    .late = "[{\"soname\":[\"liba.so.2\",\"liba.so.1\"],\"priority\":\"required\"},"
            "{\"soname\":[\"libb.so\"],\"feature\":\"b\"}, 7, {\"soname\":\"c\"}]",
};

LOOP_TEST(reads_both_byte_orders, 0, 2)
{
    struct made_elf made = example;
    struct made_bytes file;
    ATH_AUTO(ath_elf) elf = { 0 };
    struct ath_err err;

    made.is_big = _i;
    made_elf(&made, &file);
    ck_assert_int_eq(read_bytes(file.bytes, file.length, &elf, &err), 0);
    ck_assert_uint_eq(elf.machine, EM_PPC64);
    ck_assert_int_eq(elf.is_big, _i);
    ck_assert(elf.is_shared && !elf.has_own_paths_only);
    ck_assert_str_eq(elf.loader, "/lib64/ld64.so.2");
    ck_assert_str_eq(elf.runpath, "$ORIGIN/../lib:/opt/lib");
    ck_assert_ptr_null(elf.rpath);
    ck_assert_uint_eq(elf.needed.count, 2);
    ck_assert_str_eq(elf.needed.items[0], "libnettle.so.8");
    ck_assert_str_eq(elf.needed.items[1], "libc.so.6");
    ck_assert_str_eq(ath_elf_architecture(elf.machine, elf.is_big), _i ? "ppc64" : "ppc64le");
}

TEST(reads_notes_about_late_libraries)
{
    struct made_bytes file;
    ATH_AUTO(ath_elf) elf = { 0 };
    struct ath_err err;

    made_elf(&example, &file);
    ck_assert_int_eq(read_bytes(file.bytes, file.length, &elf, &err), 0);
    ck_assert_uint_eq(elf.late_count, 2);
    ck_assert(elf.lates[0].is_required && !elf.lates[1].is_required);
    ck_assert_uint_eq(elf.lates[0].names.count, 2);
    ck_assert_str_eq(elf.lates[0].names.items[1], "liba.so.1");
    ck_assert_str_eq(elf.lates[1].names.items[0], "libb.so");
}

LOOP_TEST(ignores_invalid_notes, 0, 6)
{
    static const char *const notes[] = { "", "{", "[]", "{}", "[{\"soname\":[1,2]}]", "null" };
    struct made_elf made = example;
    struct made_bytes file;
    ATH_AUTO(ath_elf) elf = { 0 };
    struct ath_err err;

    made.late = notes[_i];
    made_elf(&made, &file);
    ck_assert_int_eq(read_bytes(file.bytes, file.length, &elf, &err), 0);
    ck_assert_uint_eq(elf.late_count, 0);
}

TEST(reads_a_static_program)
{
    const struct made_elf made = { .type = ET_EXEC };
    struct made_bytes file;
    ATH_AUTO(ath_elf) elf = { 0 };
    struct ath_err err;

    made_elf(&made, &file);
    ck_assert_int_eq(read_bytes(file.bytes, file.length, &elf, &err), 0);
    ck_assert(!elf.is_shared && !elf.loader && !elf.needed.count);
}

/* A file cut off at any byte gives an error, never a wrong result. */
TEST(refuses_a_file_cut_off)
{
    struct made_bytes file;
    struct ath_elf elf;
    struct ath_err err;

    made_elf(&example, &file);
    for (size_t length = 0; length < file.length; length++) {
        int status = read_bytes(file.bytes, length, &elf, &err);
        ck_assert_int_eq(status, -ENOEXEC);
        ck_assert_int_eq(err.code, ATH_E_BINARY);
    }
}

/* Each byte is set to several values: the file is read or refused, and the sanitizers see no fault.
 */
TEST(survives_any_wrong_byte)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    struct made_bytes file;
    struct ath_err err;
    size_t refused = 0;

    made_elf(&example, &file);
    for (size_t at = 0; at < file.length; at++)
        for (size_t i = 0; i < sizeof values; i++) {
            struct made_bytes wrong = file;
            ATH_AUTO(ath_elf) elf = { 0 };
            wrong.bytes[at] = values[i];
            refused += read_bytes(wrong.bytes, wrong.length, &elf, &err) != 0;
        }
    ck_assert_uint_gt(refused, 100);
}

static struct ath_err refuse(const struct made_bytes *file)
{
    struct ath_elf elf;
    struct ath_err err = { 0 };
    ck_assert_int_eq(read_bytes(file->bytes, file->length, &elf, &err), -ENOEXEC);
    return err;
}

TEST(refuses_other_files)
{
    struct made_bytes file;
    struct made_elf made = example;

    ck_assert_ptr_nonnull(
        strstr(refuse(&(struct made_bytes){ .length = 0 }).message, "not an ELF file"));
    ck_assert_ptr_nonnull(
        strstr(refuse(&(struct made_bytes){ "#!/bin/sh\n", 200 }).message, "not an ELF file"));
    made_elf(&example, &file);
    file.bytes[EI_CLASS] = ELFCLASS32;
    ck_assert_ptr_nonnull(strstr(refuse(&file).message, "64-bit"));
    made.type = ET_CORE;
    made_elf(&made, &file);
    ck_assert_ptr_nonnull(strstr(refuse(&file).message, "neither"));
    made = example;
    made.loader = "lib/ld.so";
    made_elf(&made, &file);
    ck_assert_ptr_nonnull(strstr(refuse(&file).message, "absolute"));
}

/* Sets a little-endian field of the file. */
static void poke(struct made_bytes *file, size_t at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        file->bytes[at + i] = (uint8_t)(value >> 8 * i);
}

LOOP_TEST(refuses_invalid_counts, 0, 9)
{
    static const struct {
        size_t at, size;
        uint64_t value;
    } wrong[] = {
        { offsetof(Elf64_Ehdr, e_phnum), 2, 0xffff },
        { offsetof(Elf64_Ehdr, e_phnum), 2, 0 },
        { offsetof(Elf64_Ehdr, e_phentsize), 2, 1 },
        { offsetof(Elf64_Ehdr, e_phoff), 8, UINT64_MAX },
        { offsetof(Elf64_Ehdr, e_phoff), 8, UINT64_MAX - 55 },
        /* The dynamic segment is the third. */
        { sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_filesz), 8,
          UINT64_MAX },
        { sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_offset), 8,
          UINT64_MAX - 8 },
        /* The loadable segment lies outside the file. */
        { sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_offset), 8,
          UINT64_MAX - 100 },
        { sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_vaddr), 8,
          UINT64_MAX - 100 },
    };
    struct made_bytes file;

    made_elf(&example, &file);
    poke(&file, wrong[_i].at, wrong[_i].value, wrong[_i].size);
    refuse(&file);
}

/* A file that needs 1024 libraries is read, and a file that needs one more is refused. */
LOOP_TEST(refuses_too_many_names, 1024, 1026)
{
    const size_t count = (size_t)_i, segment = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    struct made_bytes file;
    ATH_AUTO(ath_elf) elf = { 0 };
    struct ath_err err;
    uint64_t at;

    made_elf(&example, &file);
    memcpy(&at, file.bytes + segment + offsetof(Elf64_Phdr, p_offset), sizeof at);
    size_t length = file.length + (count + 2) * sizeof(Elf64_Dyn);
    ath_auto_free uint8_t *bytes = calloc(1, length);
    Elf64_Dyn *entries = (Elf64_Dyn *)(bytes + file.length);
    at = le64toh(at);
    /* The entry of the table of names follows two libraries and the folders. */
    poke(&file, segment + offsetof(Elf64_Phdr, p_offset), file.length, 8);
    poke(&file, segment + offsetof(Elf64_Phdr, p_filesz), length - file.length, 8);
    memcpy(bytes, file.bytes, file.length);
    memcpy(entries, bytes + at + 3 * sizeof *entries, 2 * sizeof *entries);
    for (size_t i = 0; i < count; i++)
        entries[2 + i] =
            (Elf64_Dyn){ .d_tag = (Elf64_Sxword)htole64(DT_NEEDED), .d_un.d_val = htole64(1) };
    int status = read_bytes(bytes, length, &elf, &err);
    if (count == 1024) {
        ck_assert_int_eq(status, 0);
        ck_assert_uint_eq(elf.needed.count, count);
        ck_assert_str_eq(elf.needed.items[count - 1], "libnettle.so.8");
    } else {
        ck_assert_int_eq(status, -ENOEXEC);
        ck_assert_ptr_nonnull(strstr(err.message, "too many"));
    }
}
