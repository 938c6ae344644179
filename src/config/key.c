/* Follows the path of a key through table, tree and structs at once. */
#include "config.h"

#include "config/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/pci.h"

struct walk {
    const char *path; /* the whole path */
    const char *rest; /* the part that is still to follow */
    struct ath_key key;
    struct ath_err *err;
};

/* Fails with "key-unknown". `nearest` is the key that the user may have meant instead of the path's
 * next part, or NULL. */
static int report_unknown(struct walk *walk, const char *nearest)
{
    int done = (int)(walk->rest - walk->path);
    if (nearest)
        ath_err_set(walk->err, -ENOENT, ATH_E_KEY_UNKNOWN,
                    _("the document has no key '%s'; did you mean '%.*s%s'?"), walk->path, done,
                    walk->path, nearest);
    else
        ath_err_set(walk->err, -ENOENT, ATH_E_KEY_UNKNOWN, _("the document has no key '%s'"),
                    walk->path);
    return ath_err_hint(walk->err, -ENOENT, "aitherion configure --show");
}

/* Takes length bytes and the dot after them off the rest. */
static void advance(struct walk *walk, size_t length)
{
    walk->rest += length;
    walk->rest += *walk->rest == '.';
}

static int enter_key(struct walk *walk)
{
    const struct ath_schema *parent = walk->key.schema;
    ath_auto_free char *name = ath_xasprintf("%.*s", (int)strcspn(walk->rest, "."), walk->rest);
    const struct ath_schema *key = ath_schema_find(parent, name);
    struct ath_key *at = &walk->key;
    if (!key)
        return report_unknown(walk, ath_schema_nearest(parent, name));

    /* A mapping without a value ("engine:") holds no keys; it counts as its own holder. */
    if (at->base && parent->kind == ATH_VALUE_MAPPING && parent != ath_schema_root())
        at->base = ath_schema_field(parent, at->base);
    if (at->value) {
        at->holder = at->value;
        at->missing_count = 0;
    }
    at->value = ath_yaml_get(at->value, name);
    at->missing[at->missing_count++] = key;
    at->schema = key;
    at->is_item = false;
    advance(walk, strlen(name));
    return 0;
}

/* Returns the bytes of the rest that name an item; 0 if they do not. */
static size_t match_item(const struct ath_schema *name_schema, const char *name, const char *rest)
{
    size_t length = strlen(name);
    struct ath_pci has, wanted;

    if (length && !strncmp(rest, name, length) && (!rest[length] || rest[length] == '.'))
        return length;
    if (name_schema->form != ATH_FORM_PCI)
        return 0;
    const char *dot = strchr(rest, '.');
    length = dot ? (size_t)(dot - rest) + 1 + strcspn(dot + 1, ".") : 0;
    ath_auto_free char *text = ath_xasprintf("%.*s", (int)length, rest);
    return !ath_pci_parse(text, &wanted) && !ath_pci_parse(name, &has) &&
                   ath_pci_equals(&wanted, &has)
               ? length
               : 0;
}

static const char *item_name(const struct ath_yaml *item, const char *name_key)
{
    const struct ath_yaml *name = ath_yaml_get(item, name_key);
    return name && name->kind == ATH_YAML_SCALAR ? name->text : NULL;
}

static int report_unknown_item(struct walk *walk, const struct ath_yaml *list, const char *name_key)
{
    size_t count = list ? list->child_count : 0;
    ath_auto_free const char **names = ath_xalloc(count * sizeof *names);
    ath_auto_free char *word = ath_xasprintf("%.*s", (int)strcspn(walk->rest, "."), walk->rest);

    for (size_t i = 0; i < count; i++)
        names[i] = item_name(&list->children[i], name_key);
    if (count == 1 && names[0])
        return report_unknown(walk, names[0]);
    return report_unknown(walk, ath_text_nearest(word, names, count));
}

static int enter_item(struct walk *walk)
{
    struct ath_key *at = &walk->key;
    const struct ath_schema *items = at->schema;
    const struct ath_schema *name_schema = ath_schema_find(items, items->name_key);
    const struct ath_yaml *list = at->value;
    size_t best = 0;

    for (size_t i = 0; list && i < list->child_count; i++) {
        const char *name = item_name(&list->children[i], items->name_key);
        size_t length = name ? match_item(name_schema, name, walk->rest) : 0;
        if (length > best) { /* the longest match: links may be named "a" and "a.mtu" */
            best = length;
            at->item = i;
        }
    }
    if (!best)
        return report_unknown_item(walk, list, items->name_key);
    at->list = list;
    at->value = &list->children[at->item];
    at->is_item = true;
    if (at->base)
        at->base = ath_schema_item(items, at->base, at->item);
    advance(walk, best);
    return 0;
}

int ath_key_find(const struct ath_yaml *tree, void *base, const char *path, struct ath_key *out,
                 struct ath_err *err)
{
    struct walk walk = {
        .path = path,
        .rest = path,
        .key = { .schema = ath_schema_root(), .value = tree, .holder = tree, .base = base },
        .err = err,
    };
    int status = *path ? 0 : report_unknown(&walk, NULL);

    while (!status && *walk.rest) {
        enum ath_value_kind kind = walk.key.schema->kind;
        if (kind == ATH_VALUE_ITEMS && !walk.key.is_item)
            status = enter_item(&walk);
        else if (kind == ATH_VALUE_MAPPING || kind == ATH_VALUE_ITEMS)
            status = enter_key(&walk);
        else
            status = report_unknown(&walk, NULL);
    }
    if (!status && path[strlen(path) - 1] == '.')
        status = report_unknown(&walk, NULL);
    if (!status)
        *out = walk.key;
    return status;
}

/* ---- back from a place to its path ---- */

/* Returns the child that holds a byte, or NULL. */
static const struct ath_yaml *child_at(const struct ath_yaml *parent, size_t offset)
{
    for (size_t i = 0; i < parent->child_count; i++) {
        const struct ath_yaml *child = &parent->children[i];
        if (offset == child->begin || (offset > child->begin && offset < child->end))
            return child;
    }
    return NULL;
}

char *ath_key_at(const struct ath_yaml *tree, size_t offset)
{
    const struct ath_schema *schema = ath_schema_root();
    const struct ath_yaml *at = tree;
    struct ath_text path = { 0 };

    while (schema && at && schema->kind >= ATH_VALUE_MAPPING) {
        const char *name = NULL;
        at = child_at(at, offset);
        if (at && at->key) {
            name = at->key;
            schema = ath_schema_find(schema, name);
        } else if (at) {
            name = item_name(at, schema->name_key);
        }
        at = name ? at : NULL;
        ath_text_add_part(&path, ".", "%s", name ? name : "");
    }
    if (schema && at)
        return ath_text_take(&path);
    ath_text_free(&path);
    return NULL;
}
