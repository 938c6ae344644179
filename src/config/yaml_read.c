/*
 * Builds the tree of a YAML file from libyaml's events.
 *
 * libyaml's marks count characters, not bytes (SKIP in its scanner.c), and leave a byte order mark
 * out, so they are converted to bytes. Depth, entries and bytes are limited: a hostile file must
 * not exhaust the stack or take minutes.
 */
#include "config.h"

#include "config/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"

struct reader {
    yaml_parser_t parser;
    const char *text;
    size_t length;
    size_t index, offset; /* one place in the text, in characters and in bytes */
    struct ath_faults *faults;
    size_t depth, nodes;
};

static void parser_free(struct reader *reader)
{
    yaml_parser_delete(&reader->parser);
}

static bool is_utf8(struct reader *reader)
{
    for (size_t at = 0; at < reader->length;) {
        size_t length = ath_utf8_decode(reader->text + at, reader->length - at, NULL);
        if (!length) {
            ath_faults_add(reader->faults, ATH_FAULT_ENCODING, at,
                           _("this byte is not UTF-8 text"));
            return false;
        }
        at += length;
    }
    return true;
}

/* Returns the byte of a mark. Marks come nearly in order, so a walk from the last one is short. */
static size_t byte_of(struct reader *reader, const yaml_mark_t *mark)
{
    while (reader->index < mark->index && reader->offset < reader->length) {
        reader->offset++;
        while (reader->offset < reader->length && ath_utf8_is_inside(reader->text[reader->offset]))
            reader->offset++;
        reader->index++;
    }
    while (reader->index > mark->index) {
        reader->offset--;
        while (ath_utf8_is_inside(reader->text[reader->offset]))
            reader->offset--;
        reader->index--;
    }
    return reader->offset;
}

static bool is_blank_from(const struct reader *reader, size_t at)
{
    while (at < reader->length && strchr(" \r\n", reader->text[at]))
        at++;
    return at == reader->length;
}

/* Reports a syntax error. A quote or bracket that is never closed is reported at its beginning, not
 * at the end of the file. */
static bool report_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "?";
    size_t end = byte_of(reader, &parser->problem_mark);
    bool is_at_end = is_blank_from(reader, end);

    if (end < reader->length && reader->text[end] == '\t')
        ath_faults_add(reader->faults, ATH_FAULT_SYNTAX, end,
                       _("not YAML: a tab cannot indent, use blanks"));
    else if (parser->error == YAML_READER_ERROR)
        ath_faults_add(reader->faults, ATH_FAULT_SYNTAX,
                       parser->problem_offset + ath_utf8_mark(reader->text, reader->length),
                       _("not YAML: %s"), problem);
    else if (parser->context && is_at_end)
        ath_faults_add(reader->faults, ATH_FAULT_SYNTAX, byte_of(reader, &parser->context_mark),
                       _("not YAML: %s, %s that begins here"), problem, parser->context);
    else if (parser->context && parser->context_mark.line != parser->problem_mark.line)
        ath_faults_add(reader->faults, ATH_FAULT_SYNTAX, end,
                       _("not YAML: %s, %s that begins in line %zu"), problem, parser->context,
                       parser->context_mark.line + 1);
    else
        ath_faults_add(reader->faults, ATH_FAULT_SYNTAX, end, _("not YAML: %s"), problem);
    return false;
}

static bool next_event(struct reader *reader, yaml_event_t *out)
{
    return yaml_parser_parse(&reader->parser, out) || report_syntax(reader);
}

#define AUTO_EVENT __attribute__((cleanup(yaml_event_delete))) yaml_event_t

static bool report_too_large(struct reader *reader, size_t offset, const char *message)
{
    ath_faults_add(reader->faults, ATH_FAULT_TOO_LARGE, offset, "%s", message);
    return false;
}

static bool read_value(struct reader *reader, const yaml_event_t *event, struct ath_yaml *out);

/* Makes room for a child and reads it from event. */
static bool read_child(struct reader *reader, const yaml_event_t *event, struct ath_yaml *parent,
                       struct ath_yaml *child)
{
    bool is_read = false;
    if (parent->child_count >= ATH_YAML_CHILDREN_MAX)
        report_too_large(reader, byte_of(reader, &event->start_mark),
                         _("too many entries (at most 4096 are allowed)"));
    else
        is_read = read_value(reader, event, child);
    if (!is_read) {
        ath_yaml_free(child);
        return false;
    }
    struct ath_yaml *slot = ath_push(&parent->children, &parent->child_count, sizeof *slot);
    *slot = *child;
    return true;
}

static bool read_list(struct reader *reader, struct ath_yaml *out)
{
    for (;;) {
        AUTO_EVENT event = { 0 };
        if (!next_event(reader, &event))
            return false;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            out->end = byte_of(reader, &event.end_mark);
            return true;
        }
        struct ath_yaml child = { 0 };
        if (!read_child(reader, &event, out, &child))
            return false;
    }
}

/* Takes the text of a key that was read as a value, and reports its faults. */
static void take_key(struct reader *reader, struct ath_yaml *key, struct ath_yaml *child)
{
    child->key_begin = key->begin;
    child->key_end = key->end;
    if (key->kind == ATH_YAML_SCALAR && !strcmp(key->text, "<<"))
        ath_faults_add(reader->faults, ATH_FAULT_ALIAS, key->begin,
                       _("merge keys are not supported; write the keys out"));
    else if (key->kind == ATH_YAML_SCALAR)
        child->key = ath_steal(&key->text);
    else if (key->kind != ATH_YAML_BROKEN)
        ath_faults_add(reader->faults, ATH_FAULT_TYPE, key->begin, _("a key must be a word"));
}

static int compare_keys(const void *a, const void *b)
{
    const struct ath_yaml *left = *(const struct ath_yaml *const *)a;
    const struct ath_yaml *right = *(const struct ath_yaml *const *)b;
    int order = strcmp(left->key ? left->key : "", right->key ? right->key : "");
    return order ? order
                 : (left->key_begin > right->key_begin) - (left->key_begin < right->key_begin);
}

static void report_double_keys(struct reader *reader, const struct ath_yaml *mapping)
{
    size_t count = mapping->child_count;
    ath_auto_free const struct ath_yaml **sorted = ath_xalloc(count * sizeof *sorted);

    for (size_t i = 0; i < count; i++)
        sorted[i] = &mapping->children[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (sorted[i]->key && sorted[i - 1]->key && !strcmp(sorted[i]->key, sorted[i - 1]->key))
            ath_faults_add(reader->faults, ATH_FAULT_KEY_TWICE, sorted[i]->key_begin,
                           _("the mapping has the key '%s' twice"), sorted[i]->key);
}

static bool read_pair(struct reader *reader, const yaml_event_t *key_event, struct ath_yaml *out)
{
    ATH_AUTO(ath_yaml) key = { 0 };
    struct ath_yaml child = { 0 };
    AUTO_EVENT event = { 0 };

    if (!read_value(reader, key_event, &key) || !next_event(reader, &event))
        return false;
    take_key(reader, &key, &child);
    return read_child(reader, &event, out, &child);
}

static bool read_mapping(struct reader *reader, struct ath_yaml *out)
{
    for (;;) {
        AUTO_EVENT event = { 0 };
        if (!next_event(reader, &event))
            return false;
        if (event.type == YAML_MAPPING_END_EVENT) {
            out->end = byte_of(reader, &event.end_mark);
            report_double_keys(reader, out);
            return true;
        }
        if (!read_pair(reader, &event, out))
            return false;
    }
}

static enum ath_yaml_style scalar_style(yaml_scalar_style_t style)
{
    switch (style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
        return ATH_YAML_SINGLE;
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        return ATH_YAML_DOUBLE;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
        return ATH_YAML_LITERAL;
    default:
        return ATH_YAML_PLAIN;
    }
}

static bool read_scalar(struct reader *reader, const yaml_event_t *event, struct ath_yaml *out)
{
    const char *text = (const char *)event->data.scalar.value;

    out->style = scalar_style(event->data.scalar.style);
    out->end = byte_of(reader, &event->end_mark);
    out->text = ath_xstrdup(text);
    if (strlen(text) != event->data.scalar.length) {
        ath_faults_add(reader->faults, ATH_FAULT_FORMAT, out->begin,
                       _("this text contains a NUL character"));
        out->kind = ATH_YAML_BROKEN;
    }
    return true;
}

static bool read_alias(struct reader *reader, const yaml_event_t *event, struct ath_yaml *out)
{
    out->kind = ATH_YAML_BROKEN;
    out->end = byte_of(reader, &event->end_mark);
    ath_faults_add(reader->faults, ATH_FAULT_ALIAS, out->begin,
                   _("aliases are not supported; write the value of '*%s' out"),
                   (const char *)event->data.alias.anchor);
    return true;
}

static bool read_collection(struct reader *reader, const yaml_event_t *event, struct ath_yaml *out)
{
    bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    bool is_flow = is_list ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                           : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;

    if (reader->depth >= ATH_YAML_DEPTH_MAX)
        return report_too_large(reader, out->begin,
                                _("nested too deeply (at most 32 levels are allowed)"));
    out->kind = is_list ? ATH_YAML_LIST : ATH_YAML_MAPPING;
    out->style = is_flow ? ATH_YAML_FLOW : ATH_YAML_BLOCK;
    reader->depth++;
    bool is_read = is_list ? read_list(reader, out) : read_mapping(reader, out);
    reader->depth--;
    return is_read;
}

/* Returns anchor and tag, which the three starting events keep in different members of one
 * union. */
static void anchor_and_tag(const yaml_event_t *event, const yaml_char_t **anchor,
                           const yaml_char_t **tag)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        *anchor = event->data.scalar.anchor;
        *tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        *anchor = event->data.sequence_start.anchor;
        *tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        *anchor = event->data.mapping_start.anchor;
        *tag = event->data.mapping_start.tag;
        break;
    default:
        *anchor = *tag = NULL;
    }
}

/* Reads the value that begins with event; returns true when it is complete. *out may hold its key
 * already. */
static bool read_value(struct reader *reader, const yaml_event_t *event, struct ath_yaml *out)
{
    const yaml_char_t *anchor, *tag;
    anchor_and_tag(event, &anchor, &tag);
    out->begin = byte_of(reader, &event->start_mark);
    out->has_anchor = anchor != NULL;
    if (++reader->nodes > ATH_YAML_NODES_MAX)
        return report_too_large(reader, out->begin, _("too many values in one file"));

    bool is_read = event->type == YAML_ALIAS_EVENT    ? read_alias(reader, event, out)
                   : event->type == YAML_SCALAR_EVENT ? read_scalar(reader, event, out)
                                                      : read_collection(reader, event, out);
    if (is_read && tag) {
        ath_faults_add(reader->faults, ATH_FAULT_TAG, out->begin,
                       _("the tag '%s' is not supported; leave it out"), (const char *)tag);
        out->kind = ATH_YAML_BROKEN;
    }
    return is_read;
}

/* Reports a file without a document. A comment or a lone '---' is not a document either. */
static bool report_empty(struct reader *reader)
{
    ath_faults_add(reader->faults, ATH_FAULT_EMPTY, 0, _("the file holds no document"));
    return false;
}

static bool read_root(struct reader *reader, struct ath_yaml *out)
{
    AUTO_EVENT start = { 0 };
    AUTO_EVENT value = { 0 };
    AUTO_EVENT end = { 0 };
    AUTO_EVENT next = { 0 };

    if (!next_event(reader, &start))
        return false;
    if (start.type == YAML_STREAM_END_EVENT)
        return report_empty(reader);
    if (!next_event(reader, &value) || !read_value(reader, &value, out))
        return false;
    if (ath_yaml_is_null(out))
        return report_empty(reader);
    if (!next_event(reader, &end) || !next_event(reader, &next))
        return false;
    if (next.type != YAML_STREAM_END_EVENT)
        ath_faults_add(reader->faults, ATH_FAULT_SECOND_DOCUMENT, byte_of(reader, &next.start_mark),
                       _("a second YAML document begins here; only one is read"));
    return true;
}

bool ath_yaml_parse(const char *text, size_t length, struct ath_yaml *out,
                    struct ath_faults *faults)
{
    __attribute__((cleanup(parser_free))) struct reader reader = { .text = text,
                                                                   .length = length,
                                                                   .faults = faults };
    size_t mark = ath_utf8_mark(text, length);
    struct ath_yaml root = { 0 };
    AUTO_EVENT stream = { 0 };

    if (length > ATH_YAML_BYTES_MAX)
        return report_too_large(&reader, 0, _("the file is larger than 4 MiB"));
    if (!is_utf8(&reader))
        return false;
    if (!length)
        return report_empty(&reader);
    if (!yaml_parser_initialize(&reader.parser))
        abort(); /* only if memory ran out */
    reader.offset = mark;
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text + mark, length - mark);

    if (!next_event(&reader, &stream) || !read_root(&reader, &root)) {
        ath_yaml_free(&root);
        return false;
    }
    *out = root;
    return true;
}
