/* Splices into YAML text. Each is verified by reading the result. */
#include "config.h"

#include "config/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"

/* Replaces bytes begin..end of the old text by insert. */
struct splice {
    size_t begin, end;
    const char *insert;
};

enum change { CHANGE_VALUE, CHANGE_ADD, CHANGE_DROP };

/* The expected new tree: the old one with one node changed. */
struct intent {
    const struct ath_yaml *at;
    enum change change;
    const struct ath_yaml *wanted; /* the new value, or the new child */
    size_t index;                  /* index of the child to drop */
};

void ath_draft_free(struct ath_draft *draft)
{
    if (!draft)
        return;
    free(draft->text);
    ath_yaml_free(&draft->tree);
    *draft = (struct ath_draft){ 0 };
}

void ath_draft_begin(struct ath_draft *draft, const char *file, const char *text, size_t length)
{
    ATH_AUTO(ath_faults) unused = { 0 };
    struct ath_text copy = { 0 };

    ath_text_add_bytes(&copy, text, length);
    *draft = (struct ath_draft){ .file = file, .length = length };
    draft->text = ath_text_take(&copy);
    ath_yaml_parse(draft->text, length, &draft->tree, &unused);
}

static int refuse(const struct ath_draft *draft, const struct ath_yaml *node, const char *reason,
                  struct ath_err *err)
{
    size_t line = 1;
    for (size_t i = 0; i < node->begin && i < draft->length; i++)
        line += draft->text[i] == '\n';
    ath_err_set(err, -ENOTSUP, ATH_E_DOCUMENT_UNEDITABLE,
                _("cannot change '%s' by key: the text in line %zu %s"), draft->file, line, reason);
    return ath_err_hint(err, -ENOTSUP, "${EDITOR:-vi} +%zu %s", line, draft->file);
}

static bool is_as_meant(const struct ath_yaml *before, const struct ath_yaml *after,
                        const struct intent *intent);

/* Compares the children of both in order, leaving out one child of `before` (skip). */
static bool same_children(const struct ath_yaml *before, const struct ath_yaml *after, size_t skip,
                          const struct intent *intent)
{
    for (size_t i = 0, k = 0; i < before->child_count; i++) {
        if (i == skip)
            continue;
        if (!is_as_meant(&before->children[i], &after->children[k++], intent))
            return false;
    }
    return true;
}

static bool is_as_meant(const struct ath_yaml *before, const struct ath_yaml *after,
                        const struct intent *intent)
{
    size_t count = before->child_count;

    if (before != intent->at) {
        if (before->kind == ATH_YAML_SCALAR || after->child_count != count)
            return ath_yaml_equals(before, after);
        return before->kind == after->kind &&
               !strcmp(before->key ? before->key : "", after->key ? after->key : "") &&
               same_children(before, after, SIZE_MAX, intent);
    }
    if (intent->change == CHANGE_VALUE)
        return ath_yaml_equals(after, intent->wanted);
    if (before->kind != after->kind)
        return false;
    if (intent->change == CHANGE_ADD)
        return after->child_count == count + 1 && same_children(before, after, SIZE_MAX, intent) &&
               ath_yaml_equals(&after->children[count], intent->wanted);
    return after->child_count == count - 1 && same_children(before, after, intent->index, intent);
}

/* splices  sorted by place, not overlapping */
static char *spliced(const struct ath_draft *draft, const struct splice *splices, size_t count,
                     size_t *out_length)
{
    struct ath_text text = { 0 };
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        ath_text_add_bytes(&text, draft->text + at, splices[i].begin - at);
        ath_text_add(&text, "%s", splices[i].insert);
        at = splices[i].end;
    }
    ath_text_add_bytes(&text, draft->text + at, draft->length - at);
    *out_length = text.length;
    return ath_text_take(&text);
}

static int apply(struct ath_draft *draft, const struct splice *splices, size_t count,
                 const struct intent *intent, struct ath_err *err)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_draft next = { .file = draft->file };

    next.text = spliced(draft, splices, count, &next.length);
    if (!ath_yaml_parse(next.text, next.length, &next.tree, &faults) || faults.count ||
        !is_as_meant(&draft->tree, &next.tree, intent)) {
        ath_draft_free(&next);
        return refuse(draft, intent->at, _("cannot be changed safely in this form"), err);
    }
    ath_draft_free(draft);
    *draft = next;
    return 0;
}

/* Reads value inside brackets of our own ("{ key: value }", "[value]"); its node is child 0.
 * Returns the text; the caller frees it. */
static char *read_wanted(const char *key, const char *value, struct ath_yaml *out)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    char *text = key ? ath_xasprintf("{%s: %s}", key, value) : ath_xasprintf("[%s]", value);

    if (!ath_yaml_parse(text, strlen(text), out, &faults) || out->child_count != 1)
        abort(); /* a bug: the caller checked that value is YAML */
    return text;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns the start of the line that holds a byte. A byte order mark does not belong to the first
 * line. */
static size_t line_start(const struct ath_draft *draft, size_t at)
{
    while (at && draft->text[at - 1] != '\n' && draft->text[at - 1] != '\r')
        at--;
    return at ? at : ath_utf8_mark(draft->text, draft->length);
}

static size_t line_end(const struct ath_draft *draft, size_t at)
{
    while (at < draft->length && draft->text[at] != '\n' && draft->text[at] != '\r')
        at++;
    return at;
}

static size_t next_line(const struct ath_draft *draft, size_t at)
{
    at = line_end(draft, at);
    if (at < draft->length && draft->text[at] == '\r')
        at++;
    if (at < draft->length && draft->text[at] == '\n')
        at++;
    return at;
}

/* Returns the line ending of the file. */
static const char *line_break(const struct ath_draft *draft)
{
    size_t end = line_end(draft, 0);
    if (end >= draft->length || draft->text[end] == '\n')
        return "\n";
    return draft->text[end + 1] == '\n' ? "\r\n" : "\r";
}

int ath_draft_replace(struct ath_draft *draft, const struct ath_yaml *node, const char *value,
                      struct ath_err *err)
{
    ATH_AUTO(ath_yaml) wanted = { 0 };
    free(read_wanted(node->key, value, &wanted));
    ath_auto_free char *spaced = ath_xasprintf(" %s", value);
    bool is_tight = node->begin && !strchr(" \t\r\n[{,", draft->text[node->begin - 1]) &&
                    (node->begin == node->end || !strchr("\"'", *value));
    struct splice splice = { node->begin, node->end, is_tight ? spaced : value };
    struct intent intent = { .at = node, .change = CHANGE_VALUE, .wanted = &wanted.children[0] };

    if (node->has_anchor)
        return refuse(draft, node, _("has an anchor"), err);
    if (node->style == ATH_YAML_LITERAL)
        return refuse(draft, node, _("is a text over several lines"), err);
    if (node->style == ATH_YAML_BLOCK)
        return refuse(draft, node, _("is written over several lines"), err);
    return apply(draft, &splice, 1, &intent, err);
}

/* Repeats the indentation of a key's line; a "  - " before the key becomes blanks. */
static void add_indent(struct ath_text *out, const struct ath_draft *draft, size_t at)
{
    for (size_t i = line_start(draft, at); i < at; i++)
        ath_text_add(out, " ");
}

/* Adds the text of a child of the tree from read_wanted(): "key: value", or the value alone. */
static void add_wanted(struct ath_text *out, const char *source, const struct ath_yaml *child)
{
    if (child->key)
        ath_text_add(out, "%s: ", child->key);
    ath_text_add_bytes(out, source + child->begin, child->end - child->begin);
}

/* Adds an entry to a list of mappings over several lines, in the style of the list's entries. */
static void add_block_entry(struct ath_text *out, const struct ath_draft *draft,
                            const struct ath_yaml *list, const char *source,
                            const struct ath_yaml *entry)
{
    const struct ath_yaml *like = &list->children[0];
    bool is_block = like->kind == ATH_YAML_MAPPING && like->style == ATH_YAML_BLOCK &&
                    entry->kind == ATH_YAML_MAPPING;

    add_indent(out, draft, list->begin);
    ath_text_add(out, "- ");
    if (!is_block)
        add_wanted(out, source, entry);
    for (size_t i = 0; is_block && i < entry->child_count; i++) {
        if (i) {
            ath_text_add(out, "%s", line_break(draft));
            add_indent(out, draft, list->begin);
            ath_text_add(out, "  ");
        }
        add_wanted(out, source, &entry->children[i]);
    }
}

/* True for lists of mappings: their entries are long and get lines of their own. */
static bool has_mappings(const struct ath_yaml *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        if ((node->kind == ATH_YAML_LIST && node->children[i].kind == ATH_YAML_MAPPING) ||
            has_mappings(&node->children[i]))
            return true;
    return false;
}

static void add_line(struct ath_text *out, const struct ath_draft *draft, size_t column)
{
    ath_text_add(out, "%s%*s", line_break(draft), (int)column, "");
}

/* Adds a mapping's keys or a list's entries, each on a line, beginning at a column. */
static void add_lines(struct ath_text *out, const struct ath_draft *draft, const char *source,
                      const struct ath_yaml *node, size_t column)
{
    for (size_t i = 0; i < node->child_count; i++) {
        const struct ath_yaml *child = &node->children[i];
        add_line(out, draft, column);
        if (node->kind == ATH_YAML_LIST) {
            ath_text_add(out, "- ");
            for (size_t k = 0; k < child->child_count; k++) {
                if (k)
                    add_line(out, draft, column + 2);
                add_wanted(out, source, &child->children[k]);
            }
        } else if (has_mappings(child)) {
            ath_text_add(out, "%s:", child->key);
            add_lines(out, draft, source, child, column + 2);
        } else {
            add_wanted(out, source, child);
        }
    }
}

/* Returns the offset at the end of the line in which the holder's last child ends; additions go
 * there. */
static size_t block_addition(const struct ath_draft *draft, const struct ath_yaml *holder,
                             const char *source, const struct ath_yaml *child, struct ath_text *out)
{
    ath_text_add(out, "%s", line_break(draft));
    if (holder->kind == ATH_YAML_LIST) {
        add_block_entry(out, draft, holder, source, child);
    } else {
        size_t column =
            holder->children[0].key_begin - line_start(draft, holder->children[0].key_begin);
        add_indent(out, draft, holder->children[0].key_begin);
        if (has_mappings(child)) {
            ath_text_add(out, "%s:", child->key);
            add_lines(out, draft, source, child, column + 2);
        } else {
            add_wanted(out, source, child);
        }
    }
    return line_end(draft, ath_yaml_content_end(holder, draft->text));
}

static size_t flow_addition(const struct ath_draft *draft, const struct ath_yaml *holder,
                            const char *source, const struct ath_yaml *child, struct ath_text *out)
{
    bool is_bare = !holder->child_count && draft->text[holder->begin + 1] == '}';

    ath_text_add(out, "%s", holder->child_count ? ", " : is_bare ? " " : "");
    add_wanted(out, source, child);
    ath_text_add(out, "%s", is_bare ? " " : "");
    return holder->child_count
               ? ath_yaml_content_end(&holder->children[holder->child_count - 1], draft->text)
               : holder->begin + 1;
}

/* Gives a key without a value ("engine:") a mapping or a list of one entry. */
static int fill_empty(struct ath_draft *draft, const struct ath_yaml *holder, const char *key,
                      const char *value, struct ath_err *err)
{
    ath_auto_free char *whole =
        key ? ath_xasprintf("{ %s: %s }", key, value) : ath_xasprintf("[%s]", value);
    return ath_draft_replace(draft, holder, whole, err);
}

/* True if only blanks and a comment follow on the line. */
static bool is_line_over(const struct ath_draft *draft, size_t at)
{
    while (is_blank(draft->text[at]))
        at++;
    return at >= line_end(draft, at) || draft->text[at] == '#';
}

/* True for a list like "macvlans: []" on a line of its own. */
static bool is_empty_line(const struct ath_draft *draft, const struct ath_yaml *list)
{
    if (list->kind != ATH_YAML_LIST || list->child_count || !list->key)
        return false;
    size_t start = line_start(draft, list->key_begin);
    return start + strspn(draft->text + start, " ") == list->key_begin &&
           list->end == list->begin + 2 && is_line_over(draft, list->end);
}

/* Replaces "[]" by lines below the key, with the first entry. */
static int open_list(struct ath_draft *draft, const struct ath_yaml *list, const char *source,
                     const struct ath_yaml *wanted, struct ath_err *err)
{
    ATH_AUTO(ath_text) lines = { 0 };
    size_t colon = list->key_end + strspn(draft->text + list->key_end, " \t") + 1;
    size_t end = line_end(draft, list->end);
    struct intent intent = { .at = list, .change = CHANGE_ADD, .wanted = &wanted->children[0] };

    add_lines(&lines, draft, source, wanted,
              list->key_begin - line_start(draft, list->key_begin) + 2);
    struct splice splices[] = { { colon, list->end, "" }, { end, end, lines.data } };
    return apply(draft, splices, ATH_COUNT(splices), &intent, err);
}

int ath_draft_add(struct ath_draft *draft, const struct ath_yaml *holder, const char *key,
                  const char *value, struct ath_err *err)
{
    if (holder->kind == ATH_YAML_SCALAR)
        return fill_empty(draft, holder, key, value, err);
    if (holder->has_anchor)
        return refuse(draft, holder, _("has an anchor"), err);

    ATH_AUTO(ath_yaml) wanted = { 0 };
    ATH_AUTO(ath_text) insert = { 0 };
    ath_auto_free char *source = read_wanted(key, value, &wanted);
    const struct ath_yaml *child = &wanted.children[0];
    if (is_empty_line(draft, holder) && has_mappings(&wanted) &&
        !open_list(draft, holder, source, &wanted, err))
        return 0;
    size_t at = holder->style == ATH_YAML_FLOW
                    ? flow_addition(draft, holder, source, child, &insert)
                    : block_addition(draft, holder, source, child, &insert);
    struct splice splice = { at, at, insert.data };
    struct intent intent = { .at = holder, .change = CHANGE_ADD, .wanted = child };
    return apply(draft, &splice, 1, &intent, err);
}

/* Returns the dash of a block list's entry: the first dash that begins a line at the list's
 * column. */
static size_t dash_of(const struct ath_draft *draft, const struct ath_yaml *list, size_t index)
{
    size_t column = list->begin - line_start(draft, list->begin);
    if (!index)
        return list->begin;
    size_t at = next_line(draft, ath_yaml_content_end(&list->children[index - 1], draft->text));
    while (at + column < draft->length &&
           (strspn(draft->text + at, " ") != column || draft->text[at + column] != '-'))
        at = next_line(draft, at);
    return at + column;
}

/* Drops the lines of an entry. */
static struct splice drop_lines(const struct ath_draft *draft, const struct ath_yaml *list,
                                size_t index)
{
    size_t end = ath_yaml_content_end(&list->children[index], draft->text);
    return (struct splice){ line_start(draft, dash_of(draft, list, index)), next_line(draft, end),
                            "" };
}

/* Drops an entry of a list or a mapping in brackets, with one comma; comments stay. */
static struct splice drop_flow(const struct ath_draft *draft, const struct ath_yaml *list,
                               size_t index)
{
    const struct ath_yaml *entry = &list->children[index];
    const char *text = draft->text;
    size_t begin = entry->key ? entry->key_begin : entry->begin;
    size_t end = ath_yaml_content_end(entry, text), before = begin;
    size_t behind = end + strspn(text + end, " \t");

    if (text[behind] == ',') {
        behind++;
        return (struct splice){ begin, behind + strspn(text + behind, " "), "" };
    }
    while (before && is_blank(text[before - 1]))
        before--;
    bool is_after_comma = index && text[before - 1] == ',';
    return (struct splice){ is_after_comma ? before - 1 : begin, end, "" };
}

/* True if the entries stand below their key, each at the start of its own line, so that lines can
 * be dropped. */
static bool is_plain_block(const struct ath_draft *draft, const struct ath_yaml *list)
{
    size_t start = line_start(draft, list->begin);
    return list->key && start > list->key_end &&
           start + strspn(draft->text + start, " ") == list->begin;
}

/* Drops the last entry of a block list: "key: []" remains. */
static int drop_only_entry(struct ath_draft *draft, const struct ath_yaml *list,
                           const struct intent *intent, struct ath_err *err)
{
    size_t colon = list->key_end + strspn(draft->text + list->key_end, " \t") + 1;
    struct splice splices[] = { { colon, colon, " []" }, drop_lines(draft, list, 0) };
    return apply(draft, splices, ATH_COUNT(splices), intent, err);
}

int ath_draft_drop(struct ath_draft *draft, const struct ath_yaml *list, size_t index,
                   struct ath_err *err)
{
    struct intent intent = { .at = list, .change = CHANGE_DROP, .index = index };

    if (list->has_anchor || list->children[index].has_anchor)
        return refuse(draft, list, _("has an anchor"), err);
    if (list->style != ATH_YAML_FLOW && !is_plain_block(draft, list))
        return refuse(draft, list, _("cannot be changed safely in this form"), err);
    if (list->style != ATH_YAML_FLOW && list->child_count == 1)
        return drop_only_entry(draft, list, &intent, err);

    struct splice splice = list->style == ATH_YAML_FLOW ? drop_flow(draft, list, index)
                                                        : drop_lines(draft, list, index);
    return apply(draft, &splice, 1, &intent, err);
}

/* Returns the mapping that holds a value, and the index of its key. */
static const struct ath_yaml *holder_of(const struct ath_yaml *tree, const struct ath_yaml *node,
                                        size_t *out_index)
{
    for (size_t i = 0; i < tree->child_count; i++) {
        const struct ath_yaml *found =
            &tree->children[i] == node ? tree : holder_of(&tree->children[i], node, out_index);
        if (&tree->children[i] == node)
            *out_index = i;
        if (found)
            return found;
    }
    return NULL;
}

int ath_draft_clear(struct ath_draft *draft, const struct ath_yaml *node, struct ath_err *err)
{
    size_t index = 0;
    const struct ath_yaml *holder = holder_of(&draft->tree, node, &index);
    bool is_flow = holder && holder->style == ATH_YAML_FLOW;
    size_t start = line_start(draft, node->key_begin);
    bool has_line = start + strspn(draft->text + start, " ") == node->key_begin &&
                    line_end(draft, start) == line_end(draft, node->end) &&
                    is_line_over(draft, node->end) &&
                    !memchr(draft->text + node->end, '#', line_end(draft, node->end) - node->end);

    if (!holder || holder->kind != ATH_YAML_MAPPING || holder->child_count < 2 ||
        node->has_anchor || !(is_flow || has_line))
        return ath_draft_replace(draft, node, "null", err);
    struct intent intent = { .at = holder, .change = CHANGE_DROP, .index = index };
    struct splice line = { start, next_line(draft, node->end), "" };
    struct splice splice = is_flow ? drop_flow(draft, holder, index) : line;
    return !apply(draft, &splice, 1, &intent, err) ? 0
                                                   : ath_draft_replace(draft, node, "null", err);
}

bool ath_draft_is_simple(const struct ath_draft *draft, const struct ath_yaml *node)
{
    return node->style == ATH_YAML_FLOW &&
           !memchr(draft->text + node->begin, '#', node->end - node->begin) &&
           !memchr(draft->text + node->begin, '\n', node->end - node->begin);
}
