/*
 * Finding and reading the log files of the process engine.
 *
 * The supervisor truncates a large log while others read it, and keeps the end of the old text in a
 * second file. A file that has become smaller is read from its beginning.
 */
#include "config.h"

#include "container/engine/process_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/engine/process_state.h"
#include "container/engine/run_folder.h"
#include "container/engine/supervisor.h"

/* More than the supervisor leaves, so that a log without a supervisor does not fill memory. */
enum { MOST_BYTES = 16 << 20, READ_BYTES = 64 << 10 };

/* A failed start leaves a log and no state, so the file alone counts. */
int ath_process_find_logs(struct ath_engine *engine, struct ath_node_logs *out, struct ath_err *err)
{
    ath_auto_free int *ids = NULL;
    size_t count;
    bool unused;

    (void)err;
    ath_run_folder_ids(engine->folder, &ids, &count, &unused);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *folder = ath_run_folder_state(engine->folder, ids[i]);
        ath_auto_free char *path = ath_xasprintf("%s/" ATH_SUPERVISOR_LOG, folder);
        ath_auto_free char *name = ath_xasprintf("aitherion-numa%d", ids[i]);
        if (!access(path, F_OK))
            ath_node_log_add(out, ids[i], engine->ops->name, name, path);
    }
    return 0;
}

/* Returns a descriptor, or a negative errno. */
static int open_file(const char *path)
{
    struct stat status;
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode))
        return -EINVAL;
    return ath_steal_fd(&fd);
}

/* Adds the bytes from *offset to the end, and moves *offset there. */
static void read_on(int fd, off_t *offset, struct ath_text *out)
{
    ath_auto_free char *bytes = ath_xalloc(READ_BYTES);
    ssize_t got;
    while ((got = pread(fd, bytes, READ_BYTES, *offset)) > 0) {
        ath_text_add_bytes(out, bytes, (size_t)got);
        *offset += got;
    }
}

static off_t size_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) ? 0 : status.st_size;
}

/* Sets *offset to the last MOST_BYTES of the file. */
static void skip_beginning(int fd, off_t *offset)
{
    off_t size = size_of(fd);
    *offset = size > MOST_BYTES ? size - MOST_BYTES : 0;
}

/* Returns the time of a line that the runtime wrote ("time=2026-11-21T03:44:27.120Z ..."), or
 * ATH_UNKNOWN. */
static int64_t time_of(const char *line, size_t length)
{
    ath_auto_free char *start = ath_xasprintf("%.*s", length < 24 ? (int)length : 24, line);
    struct tm parts = { 0 };
    if (!ath_starts_with(start, "time=") || !strptime(start + 5, "%Y-%m-%dT%H:%M:%S", &parts))
        return ATH_UNKNOWN;
    return (int64_t)timegm(&parts);
}

/* Returns where the first line with this time or a later one begins. */
static size_t since_begin(const char *text, size_t length, int64_t since_s)
{
    for (size_t at = 0; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t size = newline ? (size_t)(newline - text) + 1 - at : length - at;
        if (time_of(text + at, size) >= since_s)
            return at;
        at += size;
    }
    return length;
}

/* Returns where the wanted lines of a whole log begin. */
static size_t wanted_begin(const struct ath_text *text, const struct ath_log_wanted *wanted)
{
    size_t tail = wanted->lines == ATH_UNKNOWN
                      ? 0
                      : ath_log_tail_begin(text->data, text->length, (size_t)wanted->lines);
    size_t since = wanted->since_s ? since_begin(text->data, text->length, wanted->since_s) : 0;
    return tail > since ? tail : since;
}

static bool is_supervised(const struct ath_engine *engine, int id)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    ath_auto_free char *folder = ath_run_folder_state(engine->folder, id);
    return !ath_process_state_read(folder, &state, NULL) && ath_process_state_is_supervised(&state);
}

static int follow(struct ath_engine *engine, int id, int fd, off_t offset, ath_log_output *output,
                  void *context, struct ath_err *err)
{
    for (bool is_last = false;;) {
        ATH_AUTO(ath_text) text = { 0 };
        if (size_of(fd) < offset)
            offset = 0;
        read_on(fd, &offset, &text);
        if (text.length)
            output(context, text.data, text.length);
        if (is_last)
            return 0;
        if (ath_engine_is_stopped(engine))
            return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
        /* A restart goes on in the same file. After the end one more look reads what was written
         * meanwhile. */
        is_last = !is_supervised(engine, id) && !ath_engine_is_busy(engine);
        if (!is_last)
            nanosleep(&(struct timespec){ .tv_nsec = ATH_ENGINE_POLL_MS * 1000000L }, NULL);
    }
}

static int report(int status, const char *path, struct ath_err *err)
{
    ath_err_system(err, status, _("cannot read the log '%s'"), path);
    return status == -EACCES
               ? ath_err_hint(err, status, _("run the same command as root, with sudo in front"))
               : status;
}

int ath_process_read_log(struct ath_engine *engine, const struct ath_node_log *log,
                         const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                         struct ath_err *err)
{
    ath_auto_free char *folder = ath_run_folder_state(engine->folder, log->id);
    ath_auto_free char *old_path = ath_xasprintf("%s/" ATH_SUPERVISOR_OLD_LOG, folder);
    ATH_AUTO(ath_text) text = { 0 };
    off_t offset = 0;

    ath_auto_close int old = open_file(old_path);
    ath_auto_close int fd = open_file(log->place);
    if (fd < 0)
        return report(fd, log->place, err);
    if (old >= 0)
        skip_beginning(old, &offset);
    if (old >= 0)
        read_on(old, &offset, &text);
    skip_beginning(fd, &offset);
    read_on(fd, &offset, &text);
    size_t begin = text.length ? wanted_begin(&text, wanted) : 0;
    if (begin < text.length)
        output(context, text.data + begin, text.length - begin);
    return wanted->is_followed ? follow(engine, log->id, fd, offset, output, context, err) : 0;
}
