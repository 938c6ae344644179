/* The table of Xids, and the lines of the kernel log. */
#include "config.h"

#include "gpu/xid.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"

/*
 * NVIDIA's catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html). Its immediate
 * action gives the kind. Fatal: RESET_GPU, RESTART_BM, CHECK_MECHANICALS, and the workflows of Xid
 * 48 and of NVLink errors. Application: RESTART_APP, and what only follows another error. Memory:
 * IGNORE for a repair, RESTART_APP for a contained error.
 */
static const struct {
    int number;
    enum ath_xid_kind kind;
    const char *meaning;
} xids[] = {
    { 8, ATH_XID_APPLICATION, N_("a program's work took too long") },
    { 13, ATH_XID_APPLICATION, N_("a program's error in the graphics engine") },
    { 25, ATH_XID_APPLICATION, N_("invalid commands of a program") },
    { 31, ATH_XID_APPLICATION, N_("a program's access to memory that it does not have") },
    { 32, ATH_XID_APPLICATION, N_("corrupt commands of a program") },
    { 43, ATH_XID_APPLICATION, N_("a program's work was stopped") },
    { 45, ATH_XID_APPLICATION, N_("a program's work was ended after another error") },
    { 46, ATH_XID_FATAL, N_("the GPU stopped processing") },
    { 48, ATH_XID_FATAL, N_("uncorrectable memory error") },
    { 54, ATH_XID_FATAL, N_("the power cable is not connected") },
    { 62, ATH_XID_FATAL, N_("the GPU's controller stopped") },
    { 63, ATH_XID_MEMORY, N_("a row or page of memory is being replaced") },
    { 64, ATH_XID_FATAL, N_("a row or page of memory could not be replaced") },
    { 68, ATH_XID_APPLICATION, N_("error of the video decoder") },
    { 69, ATH_XID_APPLICATION, N_("a program's error in a class of the graphics engine") },
    { 74, ATH_XID_FATAL, N_("NVLink error") },
    { 79, ATH_XID_FATAL, N_("the GPU has fallen off the bus") },
    { 92, ATH_XID_MEMORY, N_("many corrected memory errors") },
    { 94, ATH_XID_MEMORY, N_("contained memory error") },
    { 95, ATH_XID_FATAL, N_("memory error that was not contained") },
    { 109, ATH_XID_FATAL, N_("timeout of a change of contexts") },
    { 119, ATH_XID_FATAL, N_("the GPU's system processor gives no answer") },
    { 120, ATH_XID_FATAL, N_("error of the GPU's system processor") },
    { 137, ATH_XID_APPLICATION, N_("a program's access to another GPU's memory over NVLink") },
    { 140, ATH_XID_FATAL, N_("uncorrectable memory error that was not repaired") },
    { 143, ATH_XID_FATAL, N_("the GPU could not be initialised") },
};

static size_t find(int64_t number)
{
    size_t i = 0;
    while (i < ATH_COUNT(xids) && xids[i].number != number)
        i++;
    return i;
}

enum ath_xid_kind ath_xid_kind(int64_t number)
{
    size_t i = find(number);
    return i < ATH_COUNT(xids) ? xids[i].kind : ATH_XID_UNLISTED;
}

const char *ath_xid_meaning(int64_t number)
{
    size_t i = find(number);
    return i < ATH_COUNT(xids) ? _(xids[i].meaning) : "?";
}

void ath_xid_none(struct ath_gpu_facts *facts)
{
    if (facts->xids_fatal < 0)
        facts->xids_fatal = facts->xids_memory = facts->xids_unlisted = 0;
}

void ath_xid_count(struct ath_gpu_facts *facts, int64_t number)
{
    ath_xid_none(facts);
    switch (ath_xid_kind(number)) {
    case ATH_XID_FATAL:
        facts->xids_fatal++;
        facts->newest_fatal_xid = number;
        break;
    case ATH_XID_MEMORY:
        facts->xids_memory++;
        facts->newest_memory_xid = number;
        break;
    case ATH_XID_UNLISTED:
        facts->xids_unlisted++;
        facts->newest_unlisted_xid = number;
        break;
    case ATH_XID_APPLICATION:
        break;
    }
}

/* Returns the message of a line in the form of /dev/kmsg, or NULL if it is not the kernel's: a
 * process that writes there gets another facility. */
static const char *kmsg_message(const char *line, int64_t *out_time_us)
{
    char *end;
    unsigned long priority = strtoul(line, &end, 10);
    const char *message = strchr(line, ';');

    if (end == line || *end != ',' || !message || priority >> 3)
        return NULL;
    strtoull(end + 1, &end, 10); /* the line's number */
    unsigned long long time_us = *end == ',' ? strtoull(end + 1, &end, 10) : ULLONG_MAX;
    if (time_us <= INT64_MAX)
        *out_time_us = (int64_t)time_us;
    return message + 1;
}

/* Returns the message of a line of dmesg, whose time is in seconds or a date, or NULL. */
static const char *dmesg_message(const char *line, int64_t *out_time_us)
{
    char *end;
    const char *close = strchr(line, ']');

    if (*line != '[' || !close)
        return NULL;
    unsigned long long seconds = strtoull(line + 1, &end, 10);
    unsigned long long micros = 0;
    if (end > line + 1 && *end == '.')
        micros = strtoull(end + 1, &end, 10);
    if (end == close && seconds < INT64_MAX / 1000000 && micros < 1000000)
        *out_time_us = (int64_t)(seconds * 1000000 + micros);
    close++;
    close += strspn(close, " ");
    if (*close == '[' && strchr(close, ']')) { /* the thread that wrote the line */
        close = strchr(close, ']') + 1;
        close += strspn(close, " ");
    }
    return close;
}

/* Reads "NVRM: Xid (PCI:0000:17:00): 79, ...". Drivers before 2013 leave out "PCI:", and a GPU with
 * MIG adds its instance to the address. */
static bool read_xid(const char *message, struct ath_xid_line *out)
{
    static const char start[] = "NVRM: Xid (", bus[] = "PCI:", middle[] = "): ";
    char address[ATH_PCI_TEXT];
    char *end;

    if (strncmp(message, start, sizeof start - 1) != 0)
        return false;
    message += sizeof start - 1;
    if (!strncmp(message, bus, sizeof bus - 1))
        message += sizeof bus - 1;
    int length = (int)strcspn(message, " ).");
    if (length > (int)sizeof address - 3)
        return false;
    snprintf(address, sizeof address, "%.*s.0", length, message);
    message = strstr(message, middle);
    if (!message || ath_pci_parse(address, &out->pci))
        return false;
    message += sizeof middle - 1;
    long number = strtol(message, &end, 10);
    if (end == message || number < 1 || number > INT_MAX)
        return false;
    out->number = (int)number;
    return true;
}

bool ath_xid_parse(const char *line, struct ath_xid_line *out, int64_t *out_time_us)
{
    *out_time_us = ATH_UNKNOWN;
    const char *message =
        *line == '[' ? dmesg_message(line, out_time_us) : kmsg_message(line, out_time_us);
    return message && read_xid(message, out);
}
