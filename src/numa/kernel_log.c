/* The live log comes from /dev/kmsg, one record for each read(). */
#include "config.h"

#include "numa/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "gpu/xid.h"

enum { RECORD_BYTES = 8192 /* the longest that the kernel gives */ };

static const int64_t counted_us = INT64_C(7) * 24 * 3600 * 1000000;

/* An Xid with its time since the machine started, or ATH_UNKNOWN. */
struct entry {
    struct ath_xid_line line;
    int64_t time_us;
};

struct entries {
    struct entry *items;
    size_t count;
    int64_t newest_us; /* of all lines */
};

static void entries_free(struct entries *entries)
{
    free(entries->items);
}

static void look_at(struct entries *entries, const char *line)
{
    struct entry entry;

    bool is_xid = ath_xid_parse(line, &entry.line, &entry.time_us);
    if (entry.time_us > entries->newest_us)
        entries->newest_us = entry.time_us;
    if (is_xid)
        *(struct entry *)ath_push(&entries->items, &entries->count, sizeof entry) = entry;
}

static void look_at_lines(struct entries *entries, char *text)
{
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        look_at(entries, line);
}

/* Returns 0, or a negative errno. */
static int read_live(struct entries *entries)
{
    ath_auto_close int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char record[RECORD_BYTES + 1];
    ssize_t length;

    if (fd < 0)
        return -errno;
    do {
        length = read(fd, record, RECORD_BYTES);
        record[length > 0 ? length : 0] = '\0';
        look_at_lines(entries, record);
    } while (length > 0 || (length < 0 && (errno == EPIPE || errno == EINTR)));
    return length < 0 && errno != EAGAIN ? -errno : 0;
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int read_capture(const struct ath_root *root, struct entries *entries)
{
    ath_auto_free char *text = ath_root_read(root, ATH_KERNEL_LOG_FILE);
    if (!text)
        return -errno;
    look_at_lines(entries, text);
    return 0;
}

static void count(const struct entries *entries, int64_t since_us, struct ath_gpu *gpu)
{
    ath_xid_none(&gpu->facts);
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        const struct ath_pci *pci = &entry->line.pci;
        bool is_old = entry->time_us >= 0 && entry->time_us < since_us;
        if (!is_old && pci->domain == gpu->pci.domain && pci->bus == gpu->pci.bus &&
            pci->device == gpu->pci.device)
            ath_xid_count(&gpu->facts, entry->line.number);
    }
}

static bool has_nvidia(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].vendor_id == ATH_VENDOR_NVIDIA)
            return true;
    return false;
}

void ath_kernel_log_read(const struct ath_root *root, struct ath_machine *machine)
{
    ATH_AUTO(entries) entries = { .newest_us = -1 };

    if (!has_nvidia(machine))
        return;
    int status = root->is_live ? read_live(&entries) : read_capture(root, &entries);
    if (status) {
        ath_log(ATH_LOG_VERBOSE, _("kernel log: cannot be read (%s), so Xids are not known"),
                strerror(-status));
        return;
    }
    int64_t now = root->is_live ? now_us() : entries.newest_us;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].vendor_id == ATH_VENDOR_NVIDIA)
            count(&entries, now - counted_us, &machine->gpus[i]);
    ath_log(ATH_LOG_VERBOSE, _("kernel log: %zu Xids"), entries.count);
}
