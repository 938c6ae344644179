/* Finds NUMA entries of the document by the names that users write: 1, numa1, aitherion-numa1. */
#include "config.h"

#include "config/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

/* Prefixes that may stand before the id, in any case; the longest first. */
static const char *const prefixes[] = { "aitherion-numa", "numa", "" };

int ath_entry_id(const char *name)
{
    int id = ATH_UNSET;
    for (size_t i = 0; i < ATH_COUNT(prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        if (!strncasecmp(name, prefixes[i], length) &&
            !ath_parse_int(name + length, 0, ATH_ID_MAX, &id))
            return id;
    }
    return ATH_UNSET;
}

static int report_unknown(const struct ath_document *document, const char *name,
                          struct ath_err *err)
{
    ATH_AUTO(ath_idset) ids = { 0 };
    for (size_t i = 0; i < document->numa.count; i++)
        ath_idset_add(&ids, document->numa.items[i].id, document->numa.items[i].id);
    ath_auto_free char *all = ath_entries_text(&ids);

    ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("the document has no NUMA entry '%s'"), name);
    return *all ? ath_err_hint(err, -ENOENT, _("it has: %s"), all)
                : ath_err_hint(err, -ENOENT, _("it has none yet: aitherion menu"));
}

const struct ath_document_numa *ath_entry_find(const struct ath_document *document,
                                               const char *name, struct ath_err *err)
{
    const struct ath_document_numa *entry = ath_document_numa(document, ath_entry_id(name));
    if (!entry)
        report_unknown(document, name, err);
    return entry;
}

static int add_entry(const struct ath_document *document, const char *name, struct ath_idset *ids,
                     struct ath_err *err)
{
    const struct ath_document_numa *entry = ath_entry_find(document, name, err);
    if (entry)
        ath_idset_add(ids, entry->id, entry->id);
    return entry ? 0 : -ENOENT;
}

/* Adds a range "0-1", the form in which we print ids ourselves. */
static int add_range(const struct ath_document *document, const struct ath_idset *range,
                     struct ath_idset *ids, struct ath_err *err)
{
    int status = 0;
    for (int id = ath_idset_next(range, -1); id >= 0 && !status; id = ath_idset_next(range, id)) {
        ath_auto_free char *name = ath_xasprintf("%d", id);
        status = add_entry(document, name, ids, err);
    }
    return status;
}

static int add_word(const struct ath_document *document, const char *word, struct ath_idset *ids,
                    struct ath_err *err)
{
    ATH_AUTO(ath_idset) range = { 0 };
    return ath_idset_parse_list(word, &range) ? add_entry(document, word, ids, err)
                                              : add_range(document, &range, ids, err);
}

int ath_entries_parse(const struct ath_document *document, const char *text, struct ath_idset *out,
                      struct ath_err *err)
{
    static const char between[] = " \t,[]";
    ATH_AUTO(ath_idset) ids = { 0 };
    ath_auto_free char *copy = ath_xstrdup(text);
    char *place = NULL;
    int status = 0;

    for (char *word = strtok_r(copy, between, &place); word && !status;
         word = strtok_r(NULL, between, &place))
        status = add_word(document, word, &ids, err);
    if (status)
        return status;
    *out = ids;
    ids = (struct ath_idset){ 0 };
    return 0;
}

char *ath_entries_text(const struct ath_idset *ids)
{
    struct ath_text text = { 0 };
    for (int id = ath_idset_next(ids, -1); id >= 0; id = ath_idset_next(ids, id))
        ath_text_add_part(&text, ", ", "NUMA%d", id);
    return ath_text_take(&text);
}
