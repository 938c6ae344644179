/* Changes by key: finds the place, checks the value and writes it in the style of the old one. */
#include "config.h"

#include "config/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "base/pci.h"
#include "config/draft.h"
#include "config/key.h"

static const char *name_of(const struct ath_document *document)
{
    return document->path ? document->path : "topology.yaml";
}

static int report_value(const struct ath_schema *schema, const struct ath_change *change,
                        struct ath_err *err)
{
    ath_auto_free char *allowed = ath_schema_allowed(schema);
    ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("'%s' must be %s, not '%s'"), change->key,
                allowed, change->value);
    return ath_err_hint(err, -EINVAL, "man aitherion-topology.yaml");
}

/* True if value removes an optional key. */
static bool is_clearing(const struct ath_schema *schema, const char *value)
{
    if (schema->is_required || schema->kind >= ATH_VALUE_IDS)
        return false;
    return !strcmp(value, "null");
}

static char *trimmed(const char *text, size_t length)
{
    while (length && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    bool is_quoted = length > 1 && (*text == '"' || *text == '\'') && text[length - 1] == *text;
    return is_quoted ? ath_xasprintf("%.*s", (int)length - 2, text + 1)
                     : ath_xasprintf("%.*s", (int)length, text);
}

/* Splits "[a, b]", "a,b" or "" into checked entries; returns false if an entry does not fit. */
static bool split_list(const struct ath_schema *schema, const char *value, struct ath_texts *out)
{
    ath_auto_free char *whole = trimmed(value, strlen(value));
    size_t length = strlen(whole);
    char *inner = whole;

    if (!strcmp(whole, "null"))
        return true;
    if (*inner == '[') {
        if (length < 2 || whole[length - 1] != ']')
            return false;
        whole[length - 1] = '\0';
        inner++;
    }
    if (!inner[strspn(inner, " \t")])
        return true;
    for (const char *at = inner; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        ath_auto_free char *entry = trimmed(at, strcspn(at, ","));
        if (ath_schema_check(schema, entry))
            return false;
        ath_texts_add(out, entry);
    }
    return true;
}

/* Returns a list as it is written into the file. A text that stands alone stays so if it gets one
 * entry. The caller frees it. */
static char *rendered_list(const struct ath_schema *schema, const struct ath_texts *entries,
                           const struct ath_yaml *old)
{
    struct ath_text out = { 0 };
    bool is_alone = schema->may_be_one && old && old->kind == ATH_YAML_SCALAR &&
                    !ath_yaml_is_null(old) && entries->count == 1;

    if (is_alone)
        ath_schema_write_entry(schema, entries->items[0], old->style, &out);
    else
        ath_schema_write(schema, entries, &out);
    return ath_text_take(&out);
}

/* Returns the value as it is written into the file, in the style of the old one, or NULL if it does
 * not fit the key; the caller frees it. old: NULL if the file has no value. */
static char *rendered(const struct ath_schema *schema, const char *value,
                      const struct ath_yaml *old)
{
    ATH_AUTO(ath_texts) entries = { 0 };
    struct ath_text out = { 0 };

    if (ath_value_is_list(schema->kind))
        return split_list(schema, value, &entries) ? rendered_list(schema, &entries, old) : NULL;
    if (is_clearing(schema, value))
        return ath_xstrdup("null");
    if (ath_schema_check(schema, value))
        return NULL;
    bool is_written = old && old->kind == ATH_YAML_SCALAR;
    ath_schema_write_entry(schema, value, is_written ? old->style : ATH_YAML_PLAIN, &out);
    return ath_text_take(&out);
}

/* Adds the value, and the keys on the way to it that are missing. */
static int add_missing(struct ath_draft *draft, const struct ath_key *key, const char *value,
                       struct ath_err *err)
{
    ath_auto_free char *whole = ath_xstrdup(value);
    for (size_t i = key->missing_count; i-- > 1;) {
        char *wrapped = ath_xasprintf("{ %s: %s }", key->missing[i]->name, whole);
        free(whole);
        whole = wrapped;
    }
    return ath_draft_add(draft, key->holder, key->missing[0]->name, whole, err);
}

static bool is_same_entry(const struct ath_schema *schema, const char *a, const char *b)
{
    struct ath_pci pci_a, pci_b;
    if (schema->form == ATH_FORM_PCI && !ath_pci_parse(a, &pci_a) && !ath_pci_parse(b, &pci_b))
        return ath_pci_equals(&pci_a, &pci_b);
    return !strcmp(a, b);
}

static bool is_wanted(const struct ath_schema *schema, const struct ath_texts *wanted,
                      const char *entry)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (is_same_entry(schema, wanted->items[i], entry))
            return true;
    return false;
}

static bool is_there(const struct ath_schema *schema, const struct ath_yaml *list,
                     const char *entry)
{
    for (size_t i = 0; i < list->child_count; i++)
        if (is_same_entry(schema, list->children[i].text, entry))
            return true;
    return false;
}

/* Finds a list again after a splice has rebuilt the tree. */
static const struct ath_yaml *list_again(const struct ath_draft *draft, const char *path)
{
    struct ath_key key;
    return ath_key_find(&draft->tree, NULL, path, &key, NULL) ? NULL : key.value;
}

static int drop_unwanted(struct ath_draft *draft, const struct ath_schema *schema, const char *path,
                         const struct ath_texts *wanted, struct ath_err *err)
{
    for (size_t i = list_again(draft, path)->child_count; i-- > 0;) {
        const struct ath_yaml *list = list_again(draft, path);
        int status = is_wanted(schema, wanted, list->children[i].text)
                         ? 0
                         : ath_draft_drop(draft, list, i, err);
        if (status)
            return status;
    }
    return 0;
}

/* Changes a list with comments or lines of its own entry by entry, so that these stay. */
static int set_entries(struct ath_draft *draft, const struct ath_schema *schema, const char *path,
                       const struct ath_texts *wanted, struct ath_err *err)
{
    int status = 0;

    /* New entries first: the list is never empty in between and keeps its style. */
    for (size_t i = 0; !status && i < wanted->count; i++) {
        const struct ath_yaml *list = list_again(draft, path);
        ATH_AUTO(ath_text) entry = { 0 };
        ath_schema_write_entry(schema, wanted->items[i], ATH_YAML_PLAIN, &entry);
        if (!is_there(schema, list, wanted->items[i]))
            status = ath_draft_add(draft, list, NULL, entry.data, err);
    }
    return status ? status : drop_unwanted(draft, schema, path, wanted, err);
}

/* Refuses a new order of a list of texts, whose order has a meaning: comments cannot be moved along
 * with their entries. */
static int check_order(const struct ath_draft *draft, const struct ath_schema *schema,
                       const struct ath_change *change, const struct ath_texts *wanted,
                       struct ath_err *err)
{
    const struct ath_yaml *list = list_again(draft, change->key);

    if (schema->kind == ATH_VALUE_IDS)
        return 0;
    for (size_t i = 0; i < wanted->count && i < list->child_count; i++)
        if (!is_same_entry(schema, list->children[i].text, wanted->items[i])) {
            ath_err_set(
                err, -ENOTSUP, ATH_E_DOCUMENT_UNEDITABLE,
                _("cannot change the order of '%s' by key: its entries stand on separate lines"),
                change->key);
            return ath_err_hint(err, -ENOTSUP, "${EDITOR:-vi} %s", draft->file);
        }
    return 0;
}

static int set_list(struct ath_draft *draft, const struct ath_key *key,
                    const struct ath_change *change, struct ath_err *err)
{
    const struct ath_schema *schema = key->schema;
    ATH_AUTO(ath_texts) wanted = { 0 };
    split_list(schema, change->value, &wanted);
    int status = set_entries(draft, schema, change->key, &wanted, err);
    return status ? status : check_order(draft, schema, change, &wanted, err);
}

/* Returns the name in "identities.NAME.KEY" if such a row may be made, else NULL. The caller frees
 * it. Rows of other lists have keys that they cannot be without. */
static char *new_identity(const char *path)
{
    static const char list[] = "identities.";
    const size_t length = sizeof list - 1;
    const char *begin = !strncmp(path, list, length) ? path + length : NULL;
    const char *dot = begin ? strrchr(begin, '.') : NULL;
    if (!dot)
        return NULL;
    ath_auto_free char *name = /* may have dots */
        ath_xasprintf("%.*s", (int)(dot - begin), begin);
    const struct ath_schema *rows = ath_schema_find(ath_schema_root(), "identities");
    bool is_good = ath_key_name_is_valid(name) && ath_schema_find(rows, dot + 1) &&
                   strcmp(dot + 1, rows->name_key) != 0;
    return is_good ? ath_steal(&name) : NULL;
}

bool ath_document_makes_row(const char *key)
{
    ath_auto_free char *name = new_identity(key);
    return name != NULL;
}

static int make_identity(struct ath_draft *draft, const char *name, struct ath_err *err)
{
    struct ath_key key;
    ATH_AUTO(ath_text) written = { 0 };
    int status = ath_key_find(&draft->tree, NULL, "identities", &key, err);
    if (status)
        return status;
    ath_schema_write_entry(ath_schema_find(key.schema, key.schema->name_key), name, ATH_YAML_PLAIN,
                           &written);
    ath_auto_free char *item = ath_xasprintf("{ %s: %s }", key.schema->name_key, written.data);
    ath_auto_free char *whole = ath_xasprintf("[%s]", item);
    return key.value ? ath_draft_add(draft, key.value, NULL, item, err)
                     : add_missing(draft, &key, whole, err);
}

/* Finds the place of a change. A row of an identity that does not exist is made. */
static int find_place(struct ath_draft *draft, const struct ath_change *change, struct ath_key *out,
                      struct ath_err *err)
{
    int status = ath_key_find(&draft->tree, NULL, change->key, out, err);
    ath_auto_free char *name =
        status && strcmp(change->value, "null") != 0 ? new_identity(change->key) : NULL;
    if (!name)
        return status;
    status = make_identity(draft, name, err);
    return status ? status : ath_key_find(&draft->tree, NULL, change->key, out, err);
}

static int set_one(struct ath_draft *draft, const struct ath_change *change, struct ath_err *err)
{
    struct ath_key key;
    int status = find_place(draft, change, &key, err);
    if (status)
        return status;
    ath_auto_free char *value = rendered(key.schema, change->value, key.value);

    if (!value)
        return report_value(key.schema, change, err);
    if (!key.value)
        return is_clearing(key.schema, change->value) ? 0 : add_missing(draft, &key, value, err);
    if (is_clearing(key.schema, change->value) &&
        strcmp(key.value->text ? key.value->text : "", "null") != 0)
        return ath_draft_clear(draft, key.value, err);
    if (key.value->kind == ATH_YAML_LIST && !ath_draft_is_simple(draft, key.value))
        return set_list(draft, &key, change, err);
    return ath_draft_replace(draft, key.value, value, err);
}

/* Makes the draft the document if it has no fault. what: the beginning of the message. */
static int commit(struct ath_document *document, const struct ath_draft *draft, const char *what,
                  struct ath_err *err)
{
    ATH_AUTO(ath_document) next = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_document old;
    int status =
        ath_document_parse(draft->text, draft->length, name_of(document), &next, &faults, err);

    if (status) {
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, "%s: %s", what,
                    faults.count ? faults.items[0].message : "?");
        return ath_err_hint(err, -EINVAL, "aitherion configure --show");
    }
    old = *document;
    *document = next;
    document->path = ath_steal(&old.path);
    document->saved = ath_steal(&old.saved);
    document->saved_length = old.saved_length;
    document->is_locked = old.is_locked;
    document->lock_fd = old.lock_fd;
    old.is_locked = false;
    next = old; /* the cleanup of next frees it */
    return 0;
}

int ath_document_set_all(struct ath_document *document, const struct ath_change *changes,
                         size_t count, struct ath_err *err)
{
    ATH_AUTO(ath_draft) draft = { 0 };
    ath_draft_begin(&draft, name_of(document), document->text, document->length);

    for (size_t i = 0; i < count; i++) {
        int status = set_one(&draft, &changes[i], err);
        if (status)
            return status;
    }
    ath_auto_free char *what =
        count == 1 ? ath_xasprintf(_("cannot set '%s' to '%s'"), changes[0].key, changes[0].value)
                   : ath_xstrdup(_("cannot make these changes"));
    return commit(document, &draft, what, err);
}

int ath_document_set(struct ath_document *document, const char *key, const char *value,
                     struct ath_err *err)
{
    return ath_document_set_all(document, &(struct ath_change){ key, value }, 1, err);
}

/* Returns "{ pci: "0003:01:00.0", numa: [0, 1] }", or NULL with err if a field does not fit. The
 * caller frees it. */
static char *render_item(const struct ath_schema *items, const struct ath_change *fields,
                         size_t count, struct ath_err *err)
{
    ATH_AUTO(ath_text) out = { 0 };

    ath_text_add(&out, "{ ");
    for (size_t i = 0; i < count; i++) {
        const struct ath_schema *key = ath_schema_find(items, fields[i].key);
        if (!key) {
            ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("an entry of '%s' has no key '%s'"),
                        items->name, fields[i].key);
            return NULL;
        }
        if (is_clearing(key, fields[i].value))
            continue;
        ath_auto_free char *value = rendered(key, fields[i].value, NULL);
        if (!value) {
            report_value(key, &fields[i], err);
            return NULL;
        }
        ath_text_add(&out, "%s%s: %s", out.length > 2 ? ", " : "", key->name, value);
    }
    ath_text_add(&out, " }");
    return ath_text_take(&out);
}

static int report_no_list(const char *key, struct ath_err *err)
{
    return ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("'%s' is not a list of entries"), key);
}

int ath_document_append(struct ath_document *document, const char *list,
                        const struct ath_change *fields, size_t count, struct ath_err *err)
{
    ATH_AUTO(ath_draft) draft = { 0 };
    struct ath_key key;

    ath_draft_begin(&draft, name_of(document), document->text, document->length);
    int status = ath_key_find(&draft.tree, NULL, list, &key, err);
    if (status)
        return status;
    if (key.schema->kind != ATH_VALUE_ITEMS || key.is_item)
        return report_no_list(list, err);
    ath_auto_free char *item = render_item(key.schema, fields, count, err);
    if (!item)
        return err->code == ATH_E_KEY_UNKNOWN ? -ENOENT : -EINVAL;

    ath_auto_free char *whole = ath_xasprintf("[%s]", item);
    status = key.value ? ath_draft_add(&draft, key.value, NULL, item, err)
                       : add_missing(&draft, &key, whole, err);
    ath_auto_free char *what = ath_xasprintf(_("cannot add to '%s'"), list);
    return status ? status : commit(document, &draft, what, err);
}

int ath_document_remove(struct ath_document *document, const char *key, struct ath_err *err)
{
    ATH_AUTO(ath_draft) draft = { 0 };
    struct ath_key place;

    ath_draft_begin(&draft, name_of(document), document->text, document->length);
    int status = ath_key_find(&draft.tree, NULL, key, &place, err);
    if (status)
        return status;
    if (!place.is_item)
        return report_no_list(key, err);
    status = ath_draft_drop(&draft, place.list, place.item, err);
    ath_auto_free char *what = ath_xasprintf(_("cannot remove '%s'"), key);
    return status ? status : commit(document, &draft, what, err);
}

/* Returns a value as it stands in the file; NULL if it does not. The caller frees it. */
static char *written(const struct ath_document *document, const struct ath_yaml *value)
{
    if (!value || value->kind == ATH_YAML_SCALAR)
        return ath_xstrdup(value ? value->text : NULL);
    return ath_xasprintf("%.*s", (int)(ath_yaml_content_end(value, document->text) - value->begin),
                         document->text + value->begin);
}

int ath_document_get(const struct ath_document *document, const char *key, char **out,
                     struct ath_err *err)
{
    ATH_AUTO(ath_texts) texts = { 0 };
    struct ath_key place;
    void *base = document->has_faults ? NULL : (void *)document;
    int status = ath_key_find(&document->tree, base, key, &place, err);

    if (status)
        return status;
    if (place.schema->kind >= ATH_VALUE_MAPPING)
        return ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("'%s' holds keys, not a value"), key);
    if (document->has_faults) {
        *out = written(document, place.value);
        return 0;
    }
    ath_schema_texts(place.schema, place.base, &texts);
    if (ath_value_is_list(place.schema->kind)) {
        struct ath_text list = { 0 };
        ath_schema_write(place.schema, &texts, &list);
        *out = ath_text_take(&list);
    } else {
        *out = texts.count ? ath_xstrdup(texts.items[0]) : NULL;
    }
    return 0;
}
