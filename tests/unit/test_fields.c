/*
 * Each view's schema stands in docs/schema, as its table of fields says it.
 *
 * `make update-schemas` writes the files: read the diff.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/commands/commands.h"
#include "cli/output/change.h"
#include "cli/output/cluster_measure.h"
#include "cli/output/cluster_place.h"
#include "cli/output/cluster_show.h"
#include "cli/output/document.h"
#include "cli/output/equivalent.h"
#include "cli/output/estimate.h"
#include "cli/output/export.h"
#include "cli/output/fields.h"
#include "cli/output/fingerprint.h"
#include "cli/output/gpu_rates.h"
#include "cli/output/health.h"
#include "cli/output/image.h"
#include "cli/output/init.h"
#include "cli/output/key.h"
#include "cli/output/logs.h"
#include "cli/output/machine/machine.h"
#include "cli/output/metrics.h"
#include "cli/output/net_test.h"
#include "cli/output/place.h"
#include "cli/output/roce_list.h"
#include "cli/output/roce_macvlan.h"
#include "cli/output/roce_test.h"
#include "cli/output/run.h"
#include "cli/output/session.h"
#include "cli/output/session_change.h"
#include "cli/output/start.h"
#include "cli/output/start_plan.h"
#include "cli/output/status.h"
#include "cli/output/top.h"
#include "cli/report.h"
#include "tree.h"
#include "unit.h"

enum { LAYOUT = JSON_INDENT(2) | JSON_REAL_PRECISION(15) }; /* as ath_output() has it */

static const struct ath_view *const views[] = {
    &ath_change_view,
    &ath_clean_view,
    &ath_cluster_estimate_view,
    &ath_cluster_measure_view,
    &ath_cluster_place_view,
    &ath_cluster_show_view,
    &ath_export_view,
    &ath_completion_view,
    &ath_document_view,
    &ath_equivalent_view,
    &ath_estimate_view,
    &ath_fingerprint_view,
    &ath_rates_view,
    &ath_health_view,
    &ath_help_view,
    &ath_image_build_view,
    &ath_image_list_view,
    &ath_image_remove_view,
    &ath_init_view,
    &ath_key_view,
    &ath_key_list_view,
    &ath_logs_view,
    &ath_machine_view,
    &ath_net_test_view,
    &ath_place_view,
    &ath_report_view,
    &ath_roce_list_view,
    &ath_roce_macvlan_view,
    &ath_roce_test_view,
    &ath_run_view,
    &ath_session_change_view,
    &ath_session_list_view,
    &ath_start_plan_view,
    &ath_start_view,
    &ath_status_view,
    &ath_stop_view,
    &ath_top_view,
    &ath_version_view,
    &ath_metrics_page_view,
    &ath_metrics_table_view,
};

/* "docs/schema/stop.json" for "aitherion.stop/1". The caller frees it. */
static char *file_of(const struct ath_view *view)
{
    const char *folder = getenv("srcdir"), *name = strchr(view->schema, '.') + 1;
    return ath_xasprintf("%s/docs/schema/%.*s.json", folder ? folder : ".", (int)strcspn(name, "/"),
                         name);
}

static char *schema_text(const struct ath_view *view)
{
    json_t *schema = ath_view_schema(view);
    ath_auto_free char *text = json_dumps(schema, LAYOUT);
    json_decref(schema);
    ck_assert_ptr_nonnull(text);
    return ath_xasprintf("%s\n", text);
}

LOOP_TEST(a_schema_is_what_the_table_says, 0, sizeof views / sizeof *views)
{
    const struct ath_view *view = views[_i];
    ck_assert_ptr_nonnull(view->title);
    ath_auto_free char *path = file_of(view), *text = schema_text(view);

    if (getenv("AITHERION_UPDATE")) {
        FILE *file = fopen(path, "w");
        ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
        fputs(text, file);
        ck_assert_int_eq(fclose(file), 0);
        return;
    }
    json_t *in_file = json_load_file(path, 0, NULL);
    ath_auto_free char *found = json_dumps(in_file, LAYOUT);
    json_decref(in_file);
    ath_auto_free char *line = ath_xasprintf("%s\n", found ? found : "");
    ck_assert_msg(!strcmp(line, text), "%s differs from its table of fields: make update-schemas",
                  path);
}

/* ---- every kind ---- */

struct part {
    const char *name;
};

struct whole {
    bool is_big;
    int count, flag, color;
    int64_t bytes;
    size_t length;
    double ratio;
    const char *text, *lines;
    char letters[8];
    struct ath_pci pci;
    bool has_pci;
    struct ath_idset cpus, ids;
    struct ath_texts texts;
    struct part part;
    const struct part *other;
    const struct part *parts;
    size_t part_count;
    int numbers[4];
    size_t number_count;
    const char *const *words;
    const struct part *const *others;
};

static const char *color_word(int color)
{
    static const char *const words[] = { "red", NULL, "blue" };
    return words[color];
}

static json_t *make_map(const void *object)
{
    const struct whole *whole = object;
    return json_pack("{s:i}", "a", whole->count);
}

static const void *find_other(const void *object)
{
    return ((const struct whole *)object)->other;
}

static const char *const sizes[] = { "small", "large", NULL };

static const struct ath_field part_fields[] = {
    ATH_FIELD("name", ATH_AT(struct part, name), .is_nullable = true),
    { .name = NULL },
};

#define AT(member) ATH_AT(struct whole, member)
static const struct ath_field whole_fields[] = {
    ATH_FIELD("is_big", AT(is_big)),
    ATH_FIELD("count", AT(count), .help = "how many", .rules = ATH_AT_LEAST_0),
    ATH_FIELD("count_or_null", AT(count), .is_nullable = true),
    ATH_FIELD("flag", ATH_AT_AS(ATH_FIELD_FLAG, struct whole, flag)),
    ATH_FIELD("color", AT(color), .is_nullable = true, .word = color_word, .word_count = 3),
    ATH_FIELD("bytes", AT(bytes), .is_nullable = true),
    ATH_FIELD("length", AT(length)),
    ATH_FIELD("ratio", AT(ratio), .is_nullable = true),
    ATH_FIELD("text", AT(text), .is_nullable = true),
    ATH_FIELD("size", AT(text), .is_optional = true, .words = sizes),
    ATH_FIELD("lines", ATH_AT_AS(ATH_FIELD_LINES, struct whole, lines), .is_nullable = true),
    ATH_FIELD("letters", AT(letters), .is_nullable = true),
    ATH_FIELD("pci", AT(pci), .known = ATH_KNOWN(struct whole, has_pci)),
    ATH_FIELD("cpus", ATH_AT_AS(ATH_FIELD_CPUS, struct whole, cpus)),
    ATH_FIELD("ids", AT(ids)),
    ATH_FIELD("texts", AT(texts)),
    ATH_FIELD("part", AT(part), .fields = part_fields),
    ATH_FIELD("other", AT(other), .is_nullable = true, .fields = part_fields),
    ATH_FIELD("parts", ATH_AT_LIST(struct whole, parts, part_count), .fields = part_fields),
    ATH_FIELD("parts_or_null", ATH_AT_LIST(struct whole, parts, part_count), .is_nullable = true,
              .fields = part_fields),
    ATH_FIELD("numbers", ATH_AT_LIST(struct whole, numbers, number_count)),
    ATH_FIELD("words", ATH_AT_ROWS(struct whole, words)),
    ATH_FIELD("others", ATH_AT_ROWS(struct whole, others), .fields = part_fields),
    ATH_FIELD("map", ATH_OF(ATH_FIELD_INT), .is_map = true, .make = make_map),
    ATH_FIELD("found", ATH_AT(struct part, name), .is_nullable = true, .find = find_other),
    ATH_FIELD("", ATH_AT_AS(ATH_FIELD_INNER, struct whole, part), .fields = part_fields),
    { .name = NULL },
};
#undef AT

static void check_json(json_t *made, const char *expected)
{
    ath_auto_free char *text = json_dumps(made, JSON_COMPACT);
    json_decref(made);
    ck_assert_str_eq(text, expected);
}

TEST(known_values_of_every_kind)
{
    static const struct part parts[] = { { "one" }, { "two" } };
    static const struct part *const others[] = { &parts[1], NULL };
    static const char *const words[] = { "up", "down", NULL };
    char *texts[] = { "t1", "t2" };
    struct whole whole = { .is_big = true,
                           .count = 3,
                           .flag = 1,
                           .color = 2,
                           .bytes = 1LL << 40,
                           .length = 7,
                           .ratio = 0.5,
                           .text = "large",
                           .lines = "a\nb",
                           .letters = "abcdefg",
                           .pci = { 4, 3, 2, 1 },
                           .has_pci = true,
                           .texts = { texts, 2 },
                           .part = parts[0],
                           .other = &parts[1],
                           .parts = parts,
                           .part_count = 2,
                           .numbers = { 5, 6 },
                           .number_count = 2,
                           .words = words,
                           .others = others };

    ath_idset_add(&whole.cpus, 0, 3);
    ath_idset_add(&whole.ids, 8, 9);
    check_json(
        ath_fields_to_json(whole_fields, &whole),
        "{\"is_big\":true,\"count\":3,\"count_or_null\":3,\"flag\":true,\"color\":\"blue\","
        "\"bytes\":1099511627776,\"length\":7,\"ratio\":0.5,\"text\":\"large\",\"size\":\"large\","
        "\"lines\":\"a\\nb\",\"letters\":\"abcdefg\",\"pci\":\"0004:03:02.1\",\"cpus\":\"0-3\","
        "\"ids\":[8,9],\"texts\":[\"t1\",\"t2\"],\"part\":{\"name\":\"one\"},"
        "\"other\":{\"name\":\"two\"},\"parts\":[{\"name\":\"one\"},{\"name\":\"two\"}],"
        "\"parts_or_null\":[{\"name\":\"one\"},{\"name\":\"two\"}],\"numbers\":[5,6],"
        "\"words\":[\"up\",\"down\"],\"others\":[{\"name\":\"two\"}],\"map\":{\"a\":3},"
        "\"found\":\"two\",\"name\":\"one\"}");
    ath_idset_free(&whole.cpus);
    ath_idset_free(&whole.ids);
}

TEST(unknown_values_of_every_kind)
{
    const struct whole whole = { .count = -1, .flag = -1, .color = 1, .bytes = -1, .ratio = -1 };

    check_json(
        ath_fields_to_json(whole_fields, &whole),
        "{\"is_big\":false,\"count\":-1,\"count_or_null\":null,\"flag\":null,\"color\":null,"
        "\"bytes\":null,\"length\":0,\"ratio\":null,\"text\":null,"
        "\"lines\":null,\"letters\":null,\"pci\":null,\"cpus\":\"\","
        "\"ids\":[],\"texts\":[],\"part\":{\"name\":null},\"other\":null,\"parts\":[],"
        "\"parts_or_null\":null,\"numbers\":[],\"words\":[],\"others\":[],\"map\":{\"a\":-1},"
        "\"found\":null,\"name\":null}");
}

TEST(a_table_inside_itself_becomes_a_reference)
{
    static const struct ath_field list_fields[] = {
        ATH_FIELD("next", ATH_LIST_OF(ATH_FIELD_OBJECT), .fields = list_fields),
        { .name = NULL },
    };
    static const struct ath_field fields[] = {
        ATH_FIELD("first", ATH_OF(ATH_FIELD_OBJECT), .is_optional = true, .fields = list_fields),
        { .name = NULL },
    };

    check_json(
        ath_fields_schema(fields),
        "{\"type\":\"object\",\"properties\":{\"first\":{\"type\":\"object\",\"properties\":{"
        "\"next\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/properties/first\"}}},"
        "\"required\":[\"next\"],\"additionalProperties\":false}},\"required\":[],"
        "\"additionalProperties\":false}");
}

TEST(a_schema_of_every_kind)
{
    json_t *schema = ath_fields_schema(whole_fields);
    json_t *of = json_object_get(schema, "properties");

    ck_assert_uint_eq(json_array_size(json_object_get(schema, "required")), 25);
    check_json(json_incref(json_object_get(of, "count")),
               "{\"description\":\"how many\",\"type\":\"integer\",\"minimum\":0}");
    check_json(json_incref(json_object_get(of, "flag")), "{\"type\":[\"boolean\",\"null\"]}");
    check_json(json_incref(json_object_get(of, "color")), "{\"enum\":[\"red\",\"blue\",null]}");
    check_json(json_incref(json_object_get(of, "size")), "{\"enum\":[\"small\",\"large\"]}");
    check_json(json_incref(json_object_get(of, "parts_or_null")),
               "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\",\"properties\":{"
               "\"name\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"name\"],"
               "\"additionalProperties\":false}}");
    check_json(json_incref(json_object_get(of, "map")),
               "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}");
    json_decref(schema);
}
