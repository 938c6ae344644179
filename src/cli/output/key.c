/* The shared key, as text and as JSON. */
#include "config.h"

#include "cli/output/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "base/unknown.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"

static const char *const actions[] = { [ATH_KEY_SHOW] = "show",
                                       [ATH_KEY_NEW] = "new",
                                       [ATH_KEY_EXPORT] = "export",
                                       [ATH_KEY_IMPORT] = "import",
                                       [ATH_KEY_ADD] = "add",
                                       [ATH_KEY_REMOVE] = "remove",
                                       NULL };

static const char *action_word(int action)
{
    return actions[action];
}

static json_t *make_mode(const void *object)
{
    const struct ath_key_report *report = object;
    return report->mode == ATH_UNKNOWN ? json_null()
                                       : json_sprintf("%04o", (unsigned int)report->mode);
}

#define AT(member) ATH_AT(struct ath_key_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("action", AT(action), .word = action_word, .words = actions),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    ATH_FIELD("file", AT(path)),
    ATH_FIELD("name", AT(name),
              .help = "name of the key, the identity of its users; null for the "
                      "only key",
              .is_nullable = true),
    ATH_FIELD("is_there", AT(is_there)),
    ATH_FIELD("has_row", AT(has_row),
              .help = "the command wrote or removed the row `identities` of the document"),
    ATH_FIELD("warning", AT(warning), .help = "what is hardly meant in the row; null for nothing",
              .is_nullable = true),
    ATH_FIELD("sha256", AT(fingerprint), .help = "SHA-256 of the file's bytes",
              .is_nullable = true),
    ATH_FIELD("mode", ATH_OF(ATH_FIELD_TEXT), .help = "permission bits of the file",
              .is_nullable = true, .rules = "{\"pattern\": \"^[0-7]{4}$\"}", .make = make_mode),
    ATH_FIELD("copy", AT(copy), .help = "file with the key from before; null if none was replaced",
              .is_nullable = true),
    ATH_FIELD("output", AT(output), .help = "file that --export wrote; else null",
              .is_nullable = true),
    ATH_FIELD("key_base64", AT(base64), .help = "the key, for --export without a file; else null",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

static void export_to_text(const struct ath_style *style, FILE *out,
                           const struct ath_key_report *report)
{
    if (!report->output) {
        bool has_name = report->name && strcmp(report->name, ATH_KEY_NAME_DEFAULT) != 0;
        fprintf(out, "%s%s%s\n", has_name ? report->name : "", has_name ? " " : "", report->base64);
        return;
    }
    ath_auto_free char *path = ath_clean(report->output, style->is_utf8);
    fprintf(out,
            report->is_dry_run ? _("would write the shared key to '%s'\n")
                               : _("wrote the shared key to '%s'\n"),
            path);
    fprintf(out, "%s\n", _("another machine or user takes it with: aitherion key --import < FILE"));
}

static void row_to_text(FILE *out, const struct ath_key_report *report)
{
    if (report->action == ATH_KEY_REMOVE)
        fprintf(out,
                report->is_dry_run
                    ? _("would remove the row of '%s' in `identities` of the document\n")
                    : _("removed the row of '%s' in `identities` of the document\n"),
                report->name);
    else
        fprintf(out,
                report->is_dry_run
                    ? _("would write the row of '%s' into `identities` of the document\n")
                    : _("wrote the row of '%s' into `identities` of the document; `aitherion "
                        "start` gives it to the runtimes\n"),
                report->name);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    static const char *const done[] = { [ATH_KEY_SHOW] = N_("the shared key is '%s'\n"),
                                        [ATH_KEY_NEW] = N_("made the shared key '%s'\n"),
                                        [ATH_KEY_IMPORT] = N_("imported the shared key to '%s'\n"),
                                        [ATH_KEY_ADD] = N_("made the key '%s'\n"),
                                        [ATH_KEY_REMOVE] = N_("removed the key '%s'\n") };
    static const char *const planned[] = { [ATH_KEY_NEW] = N_("would make the shared key '%s'\n"),
                                           [ATH_KEY_IMPORT] =
                                               N_("would import the shared key to '%s'\n"),
                                           [ATH_KEY_ADD] = N_("would make the key '%s'\n"),
                                           [ATH_KEY_REMOVE] = N_("would remove the key '%s'\n") };
    static const char *const replaced[ATH_KEY_REMOVE + 1] = {
        [ATH_KEY_NEW] = N_("would replace the shared key '%s'\n"),
        [ATH_KEY_IMPORT] = N_("would replace the shared key '%s'\n")
    };
    const struct ath_key_report *report = data;
    ath_auto_free char *path = ath_clean(report->path, style->is_utf8);
    bool is_planned = report->is_dry_run && report->action != ATH_KEY_SHOW;

    if (report->action == ATH_KEY_EXPORT) {
        export_to_text(style, out, report);
        return;
    }
    if (report->action == ATH_KEY_SHOW && !report->is_there)
        fprintf(out, _("there is no shared key yet; the first start makes '%s'\n"), path);
    else
        fprintf(out,
                _((!is_planned                                    ? done
                   : report->is_there && replaced[report->action] ? replaced
                                                                  : planned)[report->action]),
                path);
    if (report->has_row)
        row_to_text(out, report);
    if (report->warning)
        fprintf(out, _("warning: %s\n"), report->warning);
    if (report->fingerprint)
        fprintf(out, "SHA-256  %s\n", report->fingerprint);
    if (report->mode != ATH_UNKNOWN && report->mode & (report->name ? 037 : 077))
        fprintf(out, _("warning: other users can access the key (mode %04o): chmod 600 %s\n"),
                (unsigned int)report->mode, path);
    if (report->has_moved)
        fprintf(out, "%s\n",
                _("the key from before is the key 'default' now; runtimes that run take several "
                  "keys after the next start"));
    if (report->copy) {
        ath_auto_free char *copy = ath_clean(report->copy, style->is_utf8);
        ath_auto_free char *text = ath_xasprintf(
            _("runtimes that run now still have the old key: aitherion session list --key %s\n"),
            copy);
        ath_auto_free char *whole = ath_style_suggest(style, text);
        fputs(whole, out);
    }
    ath_auto_free char *next = ath_style_suggest(style, report->next);
    if (next)
        fprintf(out, "%s %s\n", _("Next:"), next);
}

const struct ath_view ath_key_view = {
    .schema = "aitherion.key/1",
    .title = "Output of `aitherion key --json`",
    .fields = fields,
    .to_text = to_text,
};

/* ---- the list ---- */

void ath_key_list_free(struct ath_key_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].file);
        free(list->items[i].fingerprint);
        free(list->items[i].group);
        free(list->items[i].problem);
    }
    free(list->items);
    *list = (struct ath_key_list){ 0 };
}

#define AT(member) ATH_AT(struct ath_key_item, member)
static const struct ath_field item_fields[] = {
    ATH_FIELD("name", AT(name), .help = "the identity of those that prove the key"),
    ATH_FIELD("file", AT(file)),
    ATH_FIELD("sha256", AT(fingerprint),
              .help = "SHA-256 of the file's bytes; null if this user may not read it",
              .is_nullable = true),
    ATH_FIELD("group", AT(group), .help = "group whose members may read the key",
              .is_nullable = true),
    ATH_FIELD("problem", AT(problem), .help = "why runtimes refuse the key; null if they take it",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_key_list, member)
static const struct ath_field list_fields[] = {
    ATH_FIELD("path", AT(path), .help = "the folder of keys, or the only key"),
    ATH_FIELD("is_folder", AT(is_folder)),
    ATH_FIELD("keys", ATH_AT_LIST(struct ath_key_list, items, count), .fields = item_fields),
    { .name = NULL },
};
#undef AT

enum { NAME, GROUP, FINGERPRINT, PROBLEM, COLUMN_COUNT };

static const char *const titles[COLUMN_COUNT] = {
    [NAME] = N_("Key"),
    [GROUP] = N_("Group"),
    [FINGERPRINT] = "SHA-256",
    [PROBLEM] = N_("Problem"),
};

static void list_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_key_list *list = data;
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = COLUMN_COUNT };
    ath_auto_free char *path = ath_clean(list->path, style->is_utf8);

    for (size_t i = 0; i < list->count; i++) {
        struct ath_table_cell *row = ath_table_add_row(&table);
        row[NAME].text = ath_xstrdup(list->items[i].name);
        row[NAME].role = ATH_ROLE_NAME;
        row[GROUP].text = ath_xstrdup(list->items[i].group);
        row[FINGERPRINT].text = list->items[i].fingerprint
                                    ? ath_xasprintf("%.16s...", list->items[i].fingerprint)
                                    : NULL;
        row[PROBLEM].text = ath_xstrdup(list->items[i].problem);
    }
    if (table.row_count)
        ath_table_print(&table, style, out);
    else
        fprintf(out, _("there is no key in '%s'\n"), path);
}

const struct ath_view ath_key_list_view = {
    .schema = "aitherion.key-list/1",
    .title = "Output of `aitherion key list --json`",
    .fields = list_fields,
    .to_text = list_to_text,
};
