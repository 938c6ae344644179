/* Reads and writes the file of measured pairs of nodes. */
#include "config.h"

#include "cluster/pairs.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/unknown.h"

enum { BYTES_MAX = 64 << 20, LOCK_MS = 30000 };

static void free_pair(struct ath_cluster_pair *pair)
{
    free(pair->from);
    free(pair->to);
}

void ath_cluster_pairs_free(struct ath_cluster_pairs *pairs)
{
    if (!pairs)
        return;
    for (size_t i = 0; i < pairs->count; i++)
        free_pair(&pairs->items[i]);
    free(pairs->items);
    *pairs = (struct ath_cluster_pairs){ 0 };
}

struct ath_cluster_pair *ath_cluster_pairs_add(struct ath_cluster_pairs *pairs, const char *from,
                                               const char *to)
{
    struct ath_cluster_pair *pair = ath_push(&pairs->items, &pairs->count, sizeof *pair);
    time_t now = time(NULL);
    struct tm parts;

    *pair = (struct ath_cluster_pair){ .from = ath_xstrdup(from),
                                       .to = ath_xstrdup(to),
                                       .to_bytes_per_s = ATH_UNKNOWN,
                                       .from_bytes_per_s = ATH_UNKNOWN,
                                       .round_trip_ns = ATH_UNKNOWN };
    if (gmtime_r(&now, &parts))
        strftime(pair->date, sizeof pair->date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return pair;
}

/* Sorts by names, and equal pairs by date with the newest one first. */
static int compare(const void *one, const void *other)
{
    const struct ath_cluster_pair *a = one, *b = other;
    int order = strcmp(a->from, b->from);
    if (!order)
        order = strcmp(a->to, b->to);
    return order ? order : strcmp(b->date, a->date);
}

void ath_cluster_pairs_merge(struct ath_cluster_pairs *pairs, struct ath_cluster_pairs *other)
{
    size_t kept = 0;

    for (size_t i = 0; i < other->count; i++) {
        struct ath_cluster_pair *pair = ath_push(&pairs->items, &pairs->count, sizeof *pair);
        *pair = other->items[i];
    }
    free(other->items);
    *other = (struct ath_cluster_pairs){ 0 };
    if (!pairs->count)
        return;
    qsort(pairs->items, pairs->count, sizeof *pairs->items, compare);
    for (size_t i = 1; i < pairs->count; i++) {
        struct ath_cluster_pair *last = &pairs->items[kept], *pair = &pairs->items[i];
        if (!strcmp(last->from, pair->from) && !strcmp(last->to, pair->to))
            free_pair(pair);
        else
            pairs->items[++kept] = *pair;
    }
    pairs->count = kept + 1;
}

/* ---- the file ---- */

static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static int write_file(const char *path, const struct ath_cluster_pairs *pairs, struct ath_err *err)
{
    json_t *list = json_array();
    json_auto_t *whole = json_pack("{s:s, s:o}", "schema", ATH_CLUSTER_PAIRS_SCHEMA, "pairs", list);

    for (size_t i = 0; i < pairs->count; i++) {
        const struct ath_cluster_pair *pair = &pairs->items[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "from", pair->from,
                                              "to", pair->to, "date", pair->date, "to_bytes_per_s",
                                              number(pair->to_bytes_per_s), "from_bytes_per_s",
                                              number(pair->from_bytes_per_s), "round_trip_ns",
                                              number(pair->round_trip_ns)));
    }
    ath_auto_free char *dump = whole ? json_dumps(whole, JSON_INDENT(2)) : NULL;
    if (!dump)
        return ath_err_set(err, -EINVAL, ATH_E_INTERNAL, _("the figures are no valid JSON"));
    ath_auto_free char *data = ath_xasprintf("%s\n", dump);
    return ath_file_save(path, data, strlen(data), err);
}

/* A number above 0, or ATH_UNKNOWN. */
static int64_t read_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) && json_integer_value(value) > 0 ? json_integer_value(value)
                                                                   : ATH_UNKNOWN;
}

static const char *read_pair(const json_t *object, struct ath_cluster_pairs *out)
{
    const char *from = json_string_value(json_object_get(object, "from"));
    const char *to = json_string_value(json_object_get(object, "to"));
    const char *date = json_string_value(json_object_get(object, "date"));

    if (!from || !*from || !to || !*to || !strcmp(from, to))
        return _("a pair names no two nodes");
    struct ath_cluster_pair *pair = ath_cluster_pairs_add(out, from, to);
    snprintf(pair->date, sizeof pair->date, "%s", date ? date : "");
    pair->to_bytes_per_s = read_number(object, "to_bytes_per_s");
    pair->from_bytes_per_s = read_number(object, "from_bytes_per_s");
    pair->round_trip_ns = read_number(object, "round_trip_ns");
    return NULL;
}

static const char *read_whole(const json_t *whole, struct ath_cluster_pairs *out)
{
    const char *schema = json_string_value(json_object_get(whole, "schema"));
    const json_t *list = json_object_get(whole, "pairs");
    const char *fault = NULL;

    if (!schema || strcmp(schema, ATH_CLUSTER_PAIRS_SCHEMA) != 0)
        return _("its schema is not that of measured links of a cluster");
    if (!json_is_array(list))
        return _("the list 'pairs' is missing");
    for (size_t i = 0; !fault && i < json_array_size(list); i++)
        fault = read_pair(json_array_get(list, i), out);
    return fault;
}

int ath_cluster_pairs_load(const char *path, struct ath_cluster_pairs *pairs, struct ath_err *err)
{
    ATH_AUTO(ath_cluster_pairs) read = { 0 };
    ath_auto_free char *data = NULL;
    size_t length;
    json_error_t where;
    int status = ath_file_read(path, BYTES_MAX, &data, &length, err);

    if (status)
        return status;
    json_auto_t *whole = json_loadb(data, length, 0, &where);
    const char *fault = whole ? read_whole(whole, &read) : where.text;
    if (fault)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, "'%s': %s", path, fault);
    ath_cluster_pairs_merge(pairs, &read);
    return 0;
}

int ath_cluster_pairs_save(const char *path, struct ath_cluster_pairs *pairs, struct ath_err *err)
{
    ath_auto_close int lock = -1;
    int status = ath_file_lock(path, LOCK_MS, &lock, err);

    if (!status && !access(path, F_OK))
        status = ath_cluster_pairs_load(path, pairs, err);
    return status ? status : write_file(path, pairs, err);
}
