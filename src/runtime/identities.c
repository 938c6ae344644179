/* Reads the rows of identities. */
#include "config.h"

#include "runtime/identities.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/text.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static int read_memory_bytes(const char *value, struct ath_identity *out)
{
    uint64_t bytes;
    if (!value || ath_parse_u64(value, 10, &bytes) || bytes > INT64_MAX)
        return -EINVAL;
    out->memory_bytes = (int64_t)bytes;
    return 0;
}

static int read_memory_percent(const char *value, struct ath_identity *out)
{
    double percent;
    if (!value || ath_parse_double(value, &percent) || percent <= 0 || percent > 100)
        return -EINVAL;
    out->memory_percent = percent;
    return 0;
}

static int read_share(const char *value, struct ath_identity *out)
{
    return value ? ath_parse_int(value, 1, ATH_SHARE_PERCENT_MAX, &out->time.share_percent)
                 : -EINVAL;
}

static int read_cap(const char *value, struct ath_identity *out)
{
    out->time.is_capped = true;
    return value ? -EINVAL : 0;
}

static int read_priority(const char *value, struct ath_identity *out)
{
    return value ? ath_time_priority_parse(value, &out->time.priority) : -EINVAL;
}

static int read_sm_share(const char *value, struct ath_identity *out)
{
    return value ? ath_parse_int(value, 1, ATH_SHARE_PERCENT_MAX, &out->time.sm_percent) : -EINVAL;
}

static int read_sessions(const char *value, struct ath_identity *out)
{
    return value ? ath_parse_int(value, 0, 1 << 20, &out->sessions) : -EINVAL;
}

static int read_gpus(const char *value, struct ath_identity *out)
{
    const char *part;
    size_t length;
    if (!value)
        return -EINVAL;
    out->has_gpus = true;
    while ((part = ath_text_next_part(&value, &length))) {
        char text[ATH_PCI_TEXT];
        snprintf(text, sizeof text, "%.*s", (int)length, part);
        if (!length)
            continue;
        if (length >= sizeof text || out->gpu_count == ATH_IDENTITY_GPUS_MAX ||
            ath_pci_parse(text, &out->gpus[out->gpu_count]))
            return -EINVAL;
        out->gpu_count++;
    }
    return 0;
}

static int read_admin(const char *value, struct ath_identity *out)
{
    out->is_admin = true;
    return value ? -EINVAL : 0;
}

static const struct {
    const char *word;
    int (*read)(const char *value, struct ath_identity *out);
} words[] = {
    { "memory_bytes", read_memory_bytes },
    { "memory_percent", read_memory_percent },
    { "share", read_share },
    { "cap", read_cap },
    { "priority", read_priority },
    { "sm_share", read_sm_share },
    { "sessions", read_sessions },
    { "gpus", read_gpus },
    { "admin", read_admin },
};

static int read_word(char *word, struct ath_identity *out)
{
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < ATH_COUNT(words); i++)
        if (!strcmp(words[i].word, word))
            return words[i].read(value, out);
    return -EINVAL;
}

/* *out_wrong: the word that is not valid, without its value, in line. */
static int read_row(char *line, const struct ath_identities *before, struct ath_identity *out,
                    const char **out_wrong)
{
    char *rest = line, *name = strsep(&rest, " "), *word;
    *out_wrong = name;
    if (!ath_key_name_is_valid(name) || ath_identities_find(before, name))
        return -EINVAL;
    *out = (struct ath_identity){ .memory_bytes = ATH_UNKNOWN, .sessions = ATH_UNKNOWN };
    snprintf(out->name, sizeof out->name, "%s", name);
    while ((word = strsep(&rest, " ")))
        if (*word && read_word(word, out)) {
            *out_wrong = word;
            return -EINVAL;
        }
    /* The share bounds nothing for an identity whose programs may go before all others. */
    if (out->time.share_percent && out->time.priority == ATH_TIME_UNSET)
        out->time.priority = ATH_TIME_NORMAL;
    return 0;
}

int ath_identities_parse(const char *text, struct ath_identities *out, struct ath_err *err)
{
    ath_auto_free char *copy = strdup(text);
    ath_auto_free struct ath_identities *read = calloc(1, sizeof *read);
    const char *wrong = NULL;
    int number = 0;
    if (!copy || !read)
        return ath_err_system(err, -ENOMEM, "%s", _("no memory for the rows of identities"));
    for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
        number++;
        if (!*line || *line == '#')
            continue;
        if (read->count == ATH_IDENTITIES_MAX)
            return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                               _("line %d of the rows of identities is one too many: %d may be"),
                               number, ATH_IDENTITIES_MAX);
        if (read_row(line, read, &read->items[read->count], &wrong))
            return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                               _("line %d of the rows of identities is not valid: '%s'"), number,
                               wrong);
        read->count++;
    }
    *out = *read;
    return 0;
}

int ath_identities_load(const char *path, struct ath_identities *out, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length;
    int status = ath_file_read(path, FILE_BYTES_MAX, &text, &length, err);
    if (status == -ENOENT) {
        out->count = 0;
        return 0;
    }
    if (status)
        return status;
    ath_auto_free char *line = ath_xasprintf("%.*s", (int)length, text);
    status = ath_identities_parse(line, out, err);
    return status ? ath_err_wrap(err, status, "'%s'", path) : 0;
}

const struct ath_identity *ath_identities_find(const struct ath_identities *identities,
                                               const char *name)
{
    for (size_t i = 0; identities && i < identities->count; i++)
        if (!strcmp(identities->items[i].name, name))
            return &identities->items[i];
    return NULL;
}

int64_t ath_identity_limit_bytes(const struct ath_identity *identity, int64_t total_bytes)
{
    if (!identity)
        return ATH_UNKNOWN;
    if (identity->memory_percent <= 0 || total_bytes == ATH_UNKNOWN)
        return identity->memory_bytes;
    int64_t part_bytes = (int64_t)((double)total_bytes * identity->memory_percent / 100);
    return identity->memory_bytes == ATH_UNKNOWN || part_bytes < identity->memory_bytes
               ? part_bytes
               : identity->memory_bytes;
}

bool ath_identity_has_gpu(const struct ath_identity *identity, const char *pci)
{
    struct ath_pci address;
    if (!identity || !identity->has_gpus || !*pci || ath_pci_parse(pci, &address))
        return true;
    for (size_t i = 0; i < identity->gpu_count; i++)
        if (ath_pci_equals(&identity->gpus[i], &address))
            return true;
    return false;
}
