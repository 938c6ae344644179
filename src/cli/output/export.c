/* The files of an export. */
#include "config.h"

#include "cli/output/export.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/fields.h"

void ath_exported_free(struct ath_exported *exported)
{
    for (size_t i = 0; i < exported->count; i++) {
        free(exported->files[i].name);
        free(exported->files[i].content);
    }
    free(exported->files);
    *exported = (struct ath_exported){ 0 };
}

#define AT(member) ATH_AT(struct ath_exported_file, member)
static const struct ath_field file_fields[] = {
    ATH_FIELD("name", AT(name), .help = "usual name of the file"),
    ATH_FIELD("content", ATH_AT_AS(ATH_FIELD_LINES, struct ath_exported_file, content),
              .help = "YAML, JSON, or lines for Slurm"),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_exported, member)
static const struct ath_field fields[] = {
    ATH_FIELD("files", ATH_AT_LIST(struct ath_exported, files, count), .fields = file_fields),
    ATH_FIELD("folder", AT(folder), .help = "folder of -o; null if the files are only shown",
              .is_nullable = true),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    { .name = NULL },
};
#undef AT

/* Several files on standard output have a line with their name above. */
static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_exported *exported = data;

    for (size_t i = 0; i < exported->count; i++) {
        const struct ath_exported_file *file = &exported->files[i];
        if (exported->folder) {
            ath_auto_free char *folder = ath_clean(exported->folder, style->is_utf8);
            fprintf(out, exported->is_dry_run ? _("would write '%s/%s'\n") : _("wrote '%s/%s'\n"),
                    folder, file->name);
            continue;
        }
        if (exported->count > 1)
            fprintf(out, "%s# %s\n", i ? "\n" : "", file->name);
        fputs(file->content, out);
    }
}

const struct ath_view ath_export_view = {
    .schema = "aitherion.export/1",
    .title = "Output of `aitherion export --json`",
    .fields = fields,
    .to_text = to_text,
};
