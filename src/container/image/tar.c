/* Writes headers, contents and padding of tar archives. */
#include "config.h"

#include "container/image/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"

enum { BLOCK = 512, END_BYTES = 2 * BLOCK, USTAR_NAME = 100, PERMISSIONS = 07777 };
#define USTAR_SIZE_MAX ((int64_t)077777777777)

enum phase { PHASE_HEAD, PHASE_CONTENT, PHASE_PADDING };

/* ---- the list ---- */

static struct ath_tar_entry *add(struct ath_tar *tar, const char *name, enum ath_tar_kind kind,
                                 unsigned int mode)
{
    struct ath_tar_entry *entry = ath_push(&tar->entries, &tar->count, sizeof *entry);
    entry->name = ath_xstrdup(name);
    entry->kind = kind;
    entry->mode = mode & PERMISSIONS;
    return entry;
}

void ath_tar_add_folder(struct ath_tar *tar, const char *name, unsigned int mode)
{
    add(tar, name, ATH_TAR_FOLDER, mode);
}

void ath_tar_add_link(struct ath_tar *tar, const char *name, const char *target)
{
    add(tar, name, ATH_TAR_LINK, 0777)->target = ath_xstrdup(target);
}

void ath_tar_add_bytes(struct ath_tar *tar, const char *name, unsigned int mode, const char *bytes,
                       size_t length)
{
    struct ath_tar_entry *entry = add(tar, name, ATH_TAR_FILE, mode);
    entry->size_bytes = (int64_t)length;
    entry->bytes = ath_xalloc(length);
    if (length)
        memcpy(entry->bytes, bytes, length);
}

void ath_tar_add_file(struct ath_tar *tar, const char *name, unsigned int mode,
                      const struct ath_root *root, const char *path, int64_t size_bytes)
{
    struct ath_tar_entry *entry = add(tar, name, ATH_TAR_FILE, mode);
    entry->size_bytes = size_bytes;
    entry->path = ath_xstrdup(path);
    entry->root = root;
}

void ath_tar_add_tar(struct ath_tar *tar, const char *name, unsigned int mode,
                     const struct ath_tar *inner)
{
    struct ath_tar_entry *entry = add(tar, name, ATH_TAR_FILE, mode);
    entry->size_bytes = ath_tar_size(inner);
    entry->tar = inner;
}

void ath_tar_free(struct ath_tar *tar)
{
    if (!tar)
        return;
    for (size_t i = 0; i < tar->count; i++) {
        free(tar->entries[i].name);
        free(tar->entries[i].target);
        free(tar->entries[i].bytes);
        free(tar->entries[i].path);
    }
    free(tar->entries);
    *tar = (struct ath_tar){ 0 };
}

/* ---- headers ---- */

/* The fields of a ustar header (POSIX.1-2017, pax). */
struct ustar {
    char name[USTAR_NAME], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char link[USTAR_NAME], magic[6], version[2], user[32], group[32], major[8], minor[8];
    char prefix[155], unused[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "a header is one block");

/* Writes octal digits up to the last byte, which stays NUL. */
static void put_octal(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static void put_name(char field[USTAR_NAME], const char *name)
{
    size_t length = strnlen(name, USTAR_NAME);
    memcpy(field, name, length);
}

static void add_ustar(struct ath_text *out, const char *name, const char *link, char type,
                      unsigned int mode, int64_t size)
{
    struct ustar header = { .type = type, .magic = "ustar", .version = { '0', '0' } };
    const unsigned char *bytes = (const unsigned char *)&header;
    unsigned int sum = 0;

    put_name(header.name, name);
    put_name(header.link, link);
    put_octal(header.mode, sizeof header.mode, mode);
    put_octal(header.uid, sizeof header.uid, 0);
    put_octal(header.gid, sizeof header.gid, 0);
    put_octal(header.size, sizeof header.size, size > USTAR_SIZE_MAX ? 0 : (uint64_t)size);
    put_octal(header.mtime, sizeof header.mtime, 0);
    put_octal(header.major, sizeof header.major, 0);
    put_octal(header.minor, sizeof header.minor, 0);
    /* The sum counts its own field as blanks. It is written as six digits, NUL and a blank. */
    memset(header.checksum, ' ', sizeof header.checksum);
    for (size_t i = 0; i < sizeof header; i++)
        sum += bytes[i];
    put_octal(header.checksum, 7, sum);
    header.checksum[6] = '\0';
    ath_text_add_bytes(out, (const char *)&header, sizeof header);
}

static bool fits_ustar(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] >= 0x80)
            return false;
    return length <= USTAR_NAME;
}

/* Adds "LENGTH KEY=VALUE\n"; LENGTH includes its own digits. */
static void add_record(struct ath_text *out, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + strlen(" =\n"), length = rest, before;

    do {
        before = length;
        length = rest + (size_t)snprintf(NULL, 0, "%zu", before);
    } while (length != before);
    ath_text_add(out, "%zu %s=%s\n", length, key, value);
}

static void pad(struct ath_text *out)
{
    static const char zeros[BLOCK];
    ath_text_add_bytes(out, zeros, (BLOCK - out->length % BLOCK) % BLOCK);
}

/* Adds an entry with the values that do not fit into the ustar header that follows. */
static void add_pax(struct ath_text *out, const struct ath_tar_entry *entry, const char *name,
                    int64_t size)
{
    ATH_AUTO(ath_text) records = { 0 };
    ath_auto_free char *size_text = ath_xasprintf("%" PRId64, size);

    if (!fits_ustar(name))
        add_record(&records, "path", name);
    if (entry->target && !fits_ustar(entry->target))
        add_record(&records, "linkpath", entry->target);
    if (size > USTAR_SIZE_MAX)
        add_record(&records, "size", size_text);
    if (!records.length)
        return;
    add_ustar(out, "pax", "", 'x', 0644, (int64_t)records.length);
    ath_text_add_bytes(out, records.data, records.length);
    pad(out);
}

static int64_t content_size(const struct ath_tar_entry *entry)
{
    return entry->kind == ATH_TAR_FILE ? entry->size_bytes : 0;
}

static void make_head(const struct ath_tar_entry *entry, struct ath_text *out)
{
    static const char types[] = {
        [ATH_TAR_FILE] = '0', [ATH_TAR_FOLDER] = '5', [ATH_TAR_LINK] = '2'
    };
    int64_t size = content_size(entry);
    ath_auto_free char *name =
        ath_xasprintf("%s%s", entry->name, entry->kind == ATH_TAR_FOLDER ? "/" : "");

    out->length = 0;
    add_pax(out, entry, name, size);
    add_ustar(out, name, entry->target ? entry->target : "", types[entry->kind], entry->mode, size);
}

static int64_t padding(int64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

int64_t ath_tar_size(const struct ath_tar *tar)
{
    ATH_AUTO(ath_text) head = { 0 };
    int64_t total = END_BYTES;

    for (size_t i = 0; i < tar->count; i++) {
        int64_t size = content_size(&tar->entries[i]);
        make_head(&tar->entries[i], &head);
        total += (int64_t)head.length + size + padding(size);
    }
    return total;
}

/* ---- reading ---- */

static void close_content(struct ath_tar_reader *reader)
{
    if (reader->is_open)
        close(reader->fd);
    reader->is_open = 0;
    if (reader->inner)
        ath_tar_reader_free(reader->inner);
    free(reader->inner);
    reader->inner = NULL;
}

void ath_tar_reader_free(struct ath_tar_reader *reader)
{
    if (!reader)
        return;
    close_content(reader);
    ath_text_free(&reader->head);
    *reader = (struct ath_tar_reader){ .tar = reader->tar };
}

static int changed(const struct ath_tar_entry *entry, struct ath_err *err)
{
    return ath_err_set(err, -EIO, ATH_E_IO, _("'%s' changed while it was packed"), entry->path);
}

static int open_content(struct ath_tar_reader *reader, const struct ath_tar_entry *entry,
                        struct ath_err *err)
{
    struct stat facts;

    if (entry->tar) {
        reader->inner = ath_xalloc(sizeof *reader->inner);
        reader->inner->tar = entry->tar;
    }
    if (!entry->path)
        return 0;
    int fd = entry->root ? ath_root_open_file(entry->root, entry->path + (entry->path[0] == '/'))
                         : open(entry->path, O_RDONLY | O_CLOEXEC);
    if (fd == -1 && !entry->root)
        fd = -errno;
    if (fd < 0)
        return ath_err_system(err, fd, _("cannot read '%s'"), entry->path);
    reader->fd = fd;
    reader->is_open = 1;
    if (fstat(fd, &facts) || facts.st_size != entry->size_bytes)
        return changed(entry, err);
    return 0;
}

static ssize_t read_file(struct ath_tar_reader *reader, const struct ath_tar_entry *entry,
                         char *buffer, size_t size, struct ath_err *err)
{
    ssize_t got;
    do
        got = read(reader->fd, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return ath_err_system(err, -errno, _("cannot read '%s'"), entry->path);
    return got ? got : changed(entry, err);
}

/* Reads at least one byte of the content; size is at most what is left. */
static ssize_t read_content(struct ath_tar_reader *reader, const struct ath_tar_entry *entry,
                            char *buffer, size_t size, struct ath_err *err)
{
    if (entry->bytes) {
        memcpy(buffer, entry->bytes + reader->done, size);
        return (ssize_t)size;
    }
    if (reader->inner)
        return ath_tar_read(reader->inner, buffer, size, err);
    return read_file(reader, entry, buffer, size, err);
}

static int64_t phase_size(const struct ath_tar_reader *reader)
{
    if (reader->index == reader->tar->count)
        return reader->phase == PHASE_PADDING ? END_BYTES : 0;
    int64_t size = content_size(&reader->tar->entries[reader->index]);
    return reader->phase == PHASE_HEAD      ? (int64_t)reader->head.length
           : reader->phase == PHASE_CONTENT ? size
                                            : padding(size);
}

/* Prepares the phase that begins. */
static int enter(struct ath_tar_reader *reader, struct ath_err *err)
{
    if (reader->index == reader->tar->count)
        return 0;
    const struct ath_tar_entry *entry = &reader->tar->entries[reader->index];
    if (reader->phase == PHASE_HEAD)
        make_head(entry, &reader->head);
    if (reader->phase == PHASE_CONTENT)
        return open_content(reader, entry, err);
    return 0;
}

static void leave(struct ath_tar_reader *reader)
{
    if (reader->phase == PHASE_CONTENT)
        close_content(reader);
    reader->done = 0;
    if (reader->phase != PHASE_PADDING) {
        reader->phase++;
        return;
    }
    reader->phase = PHASE_HEAD;
    reader->index++;
}

static ssize_t read_phase(struct ath_tar_reader *reader, char *buffer, size_t size,
                          struct ath_err *err)
{
    if (reader->phase == PHASE_CONTENT)
        return read_content(reader, &reader->tar->entries[reader->index], buffer, size, err);
    if (reader->phase == PHASE_HEAD)
        memcpy(buffer, reader->head.data + reader->done, size);
    else
        memset(buffer, 0, size);
    return (ssize_t)size;
}

ssize_t ath_tar_read(struct ath_tar_reader *reader, char *buffer, size_t size, struct ath_err *err)
{
    size_t filled = 0;

    while (filled < size && reader->index <= reader->tar->count) {
        if (!reader->done) {
            int status = enter(reader, err);
            if (status)
                return status;
        }
        int64_t left = phase_size(reader) - reader->done;
        if (!left) {
            leave(reader);
            continue;
        }
        size_t room = size - filled;
        ssize_t got =
            read_phase(reader, buffer + filled, (int64_t)room < left ? room : (size_t)left, err);
        if (got < 0)
            return got;
        reader->done += got;
        filled += (size_t)got;
    }
    reader->read_bytes += (int64_t)filled;
    return (ssize_t)filled;
}
