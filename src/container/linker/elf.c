/*
 * Reads ELF headers.
 *
 * Addresses in the dynamic section are those of the running program; the loadable segments map them
 * to offsets in the file. Fields are read by their offset and size in <elf.h>, byte by byte, so
 * that alignment and this machine's byte order do not matter.
 */
#include "config.h"

#include "container/linker/elf.h"

#include <elf.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"

/* Real programs have about 15 segments, 40 entries and 10 libraries. */
enum {
    SEGMENTS_MAX = 1024,
    ENTRIES_MAX = 1 << 16,
    NEEDED_MAX = 1024,
    NAME_MAX_BYTES = 4096,
    NOTES_MAX_BYTES = 1 << 16,
    LATE_NOTE = 0x407c0c0a, /* "ELF Dlopen Metadata" */
};

struct file {
    int fd;
    const char *name;
    uint64_t size;
    bool is_big;
    uint8_t *segments; /* the program headers */
    size_t segment_count;
    uint64_t strings_at, strings_size; /* in the file */
    struct ath_err *err;
};

static int broken(const struct file *file, const char *how)
{
    return ath_err_set(file->err, -ENOEXEC, ATH_E_BINARY, _("'%s' cannot be read as a program: %s"),
                       file->name, how);
}

static uint64_t number(const struct file *file, const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[file->is_big ? i : size - 1 - i];
    return value;
}

#define FIELD(file, bytes, type, member)                                                           \
    number(file, (bytes) + offsetof(type, member), sizeof(((type *)NULL)->member))

/* Reads exactly size bytes; the caller has limited size. */
static int read_at(const struct file *file, uint64_t offset, void *out, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return broken(file, _("it is cut off, or its headers point outside the file"));
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(file->fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ath_err_system(file->err, -EIO, _("cannot read '%s'"), file->name);
        if (!got)
            return broken(file, _("it became shorter while it was read"));
        done += (size_t)got;
    }
    return 0;
}

/* Reads a text that ends in NUL within limit bytes of offset; the caller frees *out. */
static int read_name(const struct file *file, uint64_t offset, uint64_t limit, char **out)
{
    char bytes[NAME_MAX_BYTES];
    size_t size = limit < sizeof bytes ? (size_t)limit : sizeof bytes;

    if (offset < file->size && size > file->size - offset)
        size = (size_t)(file->size - offset);
    int status = read_at(file, offset, bytes, size);
    if (status)
        return status;
    if (!memchr(bytes, '\0', size))
        return broken(file, _("a name in it does not end"));
    free(*out);
    *out = ath_xstrdup(bytes);
    return 0;
}

/* ---- headers ---- */

static int read_header(struct file *file, struct ath_elf *out)
{
    uint8_t head[sizeof(Elf64_Ehdr)];

    if (file->size < sizeof head)
        return broken(file, _("it is not an ELF file"));
    int status = read_at(file, 0, head, sizeof head);
    if (status)
        return status;
    if (memcmp(head, ELFMAG, SELFMAG))
        return broken(file, _("it is not an ELF file"));
    if (head[EI_CLASS] != ELFCLASS64)
        return broken(file, _("it is not for a 64-bit machine"));
    if (head[EI_DATA] != ELFDATA2LSB && head[EI_DATA] != ELFDATA2MSB)
        return broken(file, _("its byte order is unknown"));
    file->is_big = out->is_big = head[EI_DATA] == ELFDATA2MSB;
    out->machine = (uint16_t)FIELD(file, head, Elf64_Ehdr, e_machine);

    uint64_t type = FIELD(file, head, Elf64_Ehdr, e_type);
    if (type != ET_EXEC && type != ET_DYN)
        return broken(file, _("it is neither a program nor a library"));
    out->is_shared = type == ET_DYN;

    file->segment_count = (size_t)FIELD(file, head, Elf64_Ehdr, e_phnum);
    if (!file->segment_count || file->segment_count > SEGMENTS_MAX ||
        FIELD(file, head, Elf64_Ehdr, e_phentsize) != sizeof(Elf64_Phdr))
        return broken(file, _("its program headers make no sense"));
    file->segments = ath_xalloc(file->segment_count * sizeof(Elf64_Phdr));
    return read_at(file, FIELD(file, head, Elf64_Ehdr, e_phoff), file->segments,
                   file->segment_count * sizeof(Elf64_Phdr));
}

struct segment {
    uint64_t type, offset, address, size; /* in the file */
};

static struct segment segment_at(const struct file *file, size_t index)
{
    const uint8_t *bytes = file->segments + index * sizeof(Elf64_Phdr);
    return (struct segment){ .type = FIELD(file, bytes, Elf64_Phdr, p_type),
                             .offset = FIELD(file, bytes, Elf64_Phdr, p_offset),
                             .address = FIELD(file, bytes, Elf64_Phdr, p_vaddr),
                             .size = FIELD(file, bytes, Elf64_Phdr, p_filesz) };
}

static bool find_segment(const struct file *file, uint64_t type, struct segment *out)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        *out = segment_at(file, i);
        if (out->type == type)
            return true;
    }
    return false;
}

/* ---- the dynamic section ---- */

/* Returns the offset of an address in the file, and how many bytes of its segment follow. */
static int find_address(const struct file *file, uint64_t address, uint64_t *out_offset,
                        uint64_t *out_left)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        struct segment segment = segment_at(file, i);
        if (segment.type != PT_LOAD || address < segment.address ||
            address - segment.address >= segment.size)
            continue;
        uint64_t into = address - segment.address;
        if (segment.offset > file->size || into > file->size - segment.offset)
            break;
        *out_offset = segment.offset + into;
        *out_left = segment.size - into;
        return 0;
    }
    return broken(file, _("its table of names is missing"));
}

/* Returns the value of the first entry with a tag, or false. */
static bool find_entry(const struct file *file, const uint8_t *entries, size_t count, int64_t tag,
                       uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *entry = entries + i * sizeof(Elf64_Dyn);
        if ((int64_t)FIELD(file, entry, Elf64_Dyn, d_tag) != tag)
            continue;
        *out = FIELD(file, entry, Elf64_Dyn, d_un.d_val);
        return true;
    }
    return false;
}

static int find_strings(struct file *file, const uint8_t *entries, size_t count)
{
    uint64_t address = 0, size = 0, left = 0;

    if (!find_entry(file, entries, count, DT_STRTAB, &address) ||
        !find_entry(file, entries, count, DT_STRSZ, &size))
        return broken(file, _("its table of names is missing"));
    int status = find_address(file, address, &file->strings_at, &left);
    if (!status)
        file->strings_size = size < left ? size : left;
    return status;
}

static int read_string(const struct file *file, uint64_t index, char **out)
{
    if (index >= file->strings_size)
        return broken(file, _("a name lies outside its table of names"));
    return read_name(file, file->strings_at + index, file->strings_size - index, out);
}

static int add_needed(const struct file *file, uint64_t index, struct ath_elf *out)
{
    ath_auto_free char *name = NULL;

    if (out->needed.count == NEEDED_MAX)
        return broken(file, _("it needs too many libraries"));
    int status = read_string(file, index, &name);
    if (!status)
        ath_texts_add(&out->needed, name);
    return status;
}

static int read_entry(const struct file *file, int64_t tag, uint64_t value, struct ath_elf *out)
{
    switch (tag) {
    case DT_NEEDED:
        return add_needed(file, value, out);
    case DT_RPATH:
        return read_string(file, value, &out->rpath);
    case DT_RUNPATH:
        return read_string(file, value, &out->runpath);
    case DT_FLAGS_1:
        out->has_own_paths_only = value & DF_1_NODEFLIB;
        return 0;
    default:
        return 0;
    }
}

/* Returns the number of entries before the end mark. */
static size_t count_entries(const struct file *file, const uint8_t *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (FIELD(file, entries + i * sizeof(Elf64_Dyn), Elf64_Dyn, d_tag) == DT_NULL)
            return i;
    return count;
}

static int read_dynamic(struct file *file, struct ath_elf *out)
{
    struct segment segment;
    if (!find_segment(file, PT_DYNAMIC, &segment))
        return 0;
    if (segment.size / sizeof(Elf64_Dyn) > ENTRIES_MAX)
        return broken(file, _("its dynamic section is too large"));

    size_t count = (size_t)(segment.size / sizeof(Elf64_Dyn));
    ath_auto_free uint8_t *entries = ath_xalloc(count * sizeof(Elf64_Dyn));
    int status = read_at(file, segment.offset, entries, count * sizeof(Elf64_Dyn));
    if (status)
        return status;
    count = count_entries(file, entries, count);
    /* A static position-independent program may have no names. */
    uint64_t unused;
    if (find_entry(file, entries, count, DT_NEEDED, &unused) ||
        find_entry(file, entries, count, DT_STRTAB, &unused))
        status = find_strings(file, entries, count);
    for (size_t i = 0; i < count && !status; i++) {
        const uint8_t *entry = entries + i * sizeof(Elf64_Dyn);
        status = read_entry(file, (int64_t)FIELD(file, entry, Elf64_Dyn, d_tag),
                            FIELD(file, entry, Elf64_Dyn, d_un.d_val), out);
    }
    return status;
}

static int read_loader(const struct file *file, struct ath_elf *out)
{
    struct segment segment;
    if (!find_segment(file, PT_INTERP, &segment))
        return 0;
    int status = read_name(file, segment.offset, segment.size, &out->loader);
    if (!status && (!out->loader || out->loader[0] != '/'))
        return broken(file, _("its loader is not an absolute path"));
    return status;
}

/* ---- notes ---- */

/* Reads [{"soname": ["libfoo.so.1"], "priority": "required"}]. */
static void read_late(const char *text, size_t length, struct ath_elf *out)
{
    json_auto_t *list = json_loadb(text, length, 0, NULL);
    size_t i, j;
    json_t *item, *name;

    json_array_foreach(list, i, item)
    {
        const char *priority = json_string_value(json_object_get(item, "priority"));
        struct ath_elf_late late = { .is_required = priority && !strcmp(priority, "required") };
        json_array_foreach(json_object_get(item, "soname"), j, name) if (json_is_string(name))
            ath_texts_add(&late.names, json_string_value(name));
        if (late.names.count)
            *(struct ath_elf_late *)ath_push(&out->lates, &out->late_count, sizeof late) = late;
    }
}

static size_t padded(uint64_t size)
{
    return (size_t)((size + 3) & ~(uint64_t)3);
}

/* A note has the lengths of owner and text, a type, the owner, the text, each padded to four bytes.
 * A note that does not fit ends the reading. */
static void read_notes(const struct file *file, const uint8_t *bytes, size_t size,
                       struct ath_elf *out)
{
    while (size >= sizeof(Elf64_Nhdr)) {
        uint64_t owner_size = FIELD(file, bytes, Elf64_Nhdr, n_namesz);
        uint64_t text_size = FIELD(file, bytes, Elf64_Nhdr, n_descsz);
        uint64_t type = FIELD(file, bytes, Elf64_Nhdr, n_type);
        size_t text_at = sizeof(Elf64_Nhdr) + padded(owner_size);
        if (owner_size > size || text_size > size || text_at > size || text_size > size - text_at)
            return;

        const uint8_t *text = bytes + text_at;
        if (type == LATE_NOTE && owner_size == sizeof "FDO" &&
            !memcmp(bytes + sizeof(Elf64_Nhdr), "FDO", sizeof "FDO"))
            read_late((const char *)text, strnlen((const char *)text, (size_t)text_size), out);
        size_t whole = text_at + padded(text_size);
        if (whole >= size)
            return;
        bytes += whole;
        size -= whole;
    }
}

static int read_note_segments(const struct file *file, struct ath_elf *out)
{
    int status = 0;
    size_t left = NOTES_MAX_BYTES;

    for (size_t i = 0; i < file->segment_count && !status; i++) {
        struct segment segment = segment_at(file, i);
        if (segment.type != PT_NOTE || segment.size > left)
            continue;
        left -= (size_t)segment.size;
        ath_auto_free uint8_t *bytes = ath_xalloc((size_t)segment.size);
        status = read_at(file, segment.offset, bytes, (size_t)segment.size);
        if (!status)
            read_notes(file, bytes, (size_t)segment.size, out);
    }
    return status;
}

/* ---- the whole file ---- */

int ath_elf_read(int fd, const char *name, struct ath_elf *out, struct ath_err *err)
{
    struct file file = { .fd = fd, .name = name, .err = err };
    ATH_AUTO(ath_elf) elf = { 0 };
    struct stat facts;

    if (fstat(fd, &facts))
        return ath_err_system(err, -EIO, _("cannot read '%s'"), name);
    file.size = (uint64_t)facts.st_size;
    int status = read_header(&file, &elf);
    if (!status)
        status = read_loader(&file, &elf);
    if (!status)
        status = read_dynamic(&file, &elf);
    if (!status)
        status = read_note_segments(&file, &elf);
    free(file.segments);
    if (status)
        return status;
    *out = elf;
    elf = (struct ath_elf){ 0 };
    return 0;
}

void ath_elf_free(struct ath_elf *elf)
{
    if (!elf)
        return;
    free(elf->loader);
    free(elf->rpath);
    free(elf->runpath);
    ath_texts_free(&elf->needed);
    for (size_t i = 0; i < elf->late_count; i++)
        ath_texts_free(&elf->lates[i].names);
    free(elf->lates);
    *elf = (struct ath_elf){ 0 };
}

/* Docker uses Go's names (GOARCH). */
static const struct {
    uint16_t machine;
    bool is_big;
    const char *architecture, *triplet;
} machines[] = {
    { EM_X86_64, false, "amd64", "x86_64-linux-gnu" },
    { EM_AARCH64, false, "arm64", "aarch64-linux-gnu" },
    { EM_PPC64, false, "ppc64le", "powerpc64le-linux-gnu" },
    { EM_PPC64, true, "ppc64", "powerpc64-linux-gnu" },
    { EM_S390, true, "s390x", "s390x-linux-gnu" },
    { EM_RISCV, false, "riscv64", "riscv64-linux-gnu" },
    { 258 /* EM_LOONGARCH, not in older headers */, false, "loong64", "loongarch64-linux-gnu" },
};

const char *ath_elf_architecture(uint16_t machine, bool is_big)
{
    for (size_t i = 0; i < ATH_COUNT(machines); i++)
        if (machines[i].machine == machine && machines[i].is_big == is_big)
            return machines[i].architecture;
    return NULL;
}

const char *ath_elf_triplet(uint16_t machine, bool is_big)
{
    for (size_t i = 0; i < ATH_COUNT(machines); i++)
        if (machines[i].machine == machine && machines[i].is_big == is_big)
            return machines[i].triplet;
    return NULL;
}
