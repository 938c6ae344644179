/* Writes the rows of identities for runtimes. */
#include "config.h"

#include "cli/identities.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "config/forms.h"

enum { ROWS_BYTES_MAX = 1 << 20 };

static void add_memory(const struct ath_document_identity *identity, struct ath_text *row)
{
    int64_t bytes;
    double percent;
    if (!identity->memory || ath_form_memory(identity->memory, &bytes, &percent))
        return;
    ath_auto_free char *number = ath_number_text(percent);
    if (percent > 0)
        ath_text_add(row, " memory_percent=%s", number);
    else
        ath_text_add(row, " memory_bytes=%" PRId64, bytes);
}

static void add_time(const struct ath_document_identity *identity, struct ath_text *row)
{
    if (identity->share != ATH_UNSET)
        ath_text_add(row, " share=%d%s", identity->share, identity->is_capped ? " cap" : "");
    if (identity->priority != ATH_UNSET)
        ath_text_add(row, " priority=%s", ath_time_priorities[identity->priority]);
    if (identity->sm_share != ATH_UNSET)
        ath_text_add(row, " sm_share=%d", identity->sm_share);
}

static void add_row(const struct ath_document_identity *identity, struct ath_text *rows)
{
    ath_text_add(rows, "%s", identity->name);
    add_memory(identity, rows);
    add_time(identity, rows);
    if (identity->sessions != ATH_UNSET)
        ath_text_add(rows, " sessions=%d", identity->sessions);
    for (size_t i = 0; i < identity->gpus.count; i++)
        ath_text_add(rows, "%s%s", i ? "," : " gpus=", identity->gpus.items[i]);
    ath_text_add(rows, "%s\n", identity->is_admin ? " admin" : "");
}

char *ath_identities_rows(const struct ath_document *document)
{
    struct ath_text rows = { 0 };
    for (size_t i = 0; i < document->identities.count; i++)
        add_row(&document->identities.items[i], &rows);
    return ath_text_take(&rows);
}

/* Returns the rows of a file; "" if there is no file, NULL if this user may not read it. The caller
 * frees them. */
static char *rows_in(const char *path)
{
    ath_auto_free char *text = NULL;
    size_t length;
    int status = ath_file_read(path, ROWS_BYTES_MAX, &text, &length, NULL);
    if (status)
        return status == -ENOENT ? ath_xstrdup("") : NULL;
    return ath_xasprintf("%.*s", (int)length, text);
}

bool ath_identities_differ(const struct ath_document *document, const char *folder)
{
    ath_auto_free char *path = ath_xasprintf("%s/identities", folder);
    ath_auto_free char *rows = ath_identities_rows(document);
    ath_auto_free char *present = rows_in(path);
    return present && strcmp(rows, present) != 0;
}

int ath_identities_write(const struct ath_document *document, const char *folder, bool is_dry_run,
                         bool *out_has_changed, struct ath_err *err)
{
    ath_auto_free char *path = ath_xasprintf("%s/identities", folder);
    ath_auto_free char *rows = ath_identities_rows(document);
    ath_auto_free char *before = rows_in(path);

    *out_has_changed = !before || strcmp(rows, before) != 0;
    if (!*out_has_changed || is_dry_run || access(folder, F_OK))
        return 0;
    int status = ath_file_save(path, rows, strlen(rows), err);
    if (!status)
        chmod(path, 0644); /* the runtime may be another user */
    return status;
}
