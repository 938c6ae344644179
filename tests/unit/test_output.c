/* What is shown of a machine: every form is well-formed, says what the machine says, and lets no
 * strange name through. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <expat.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/late.h"
#include "base/text.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "cli/output/json_yaml.h"
#include "cli/output/machine.h"
#include "made_machines.h"
#include "numa/pair.h"

static void made_middling(struct ath_machine *out)
{
    made_large(out, 48);
}

static const struct {
    const char *name;
    void (*make)(struct ath_machine *out);
} made[] = {
    { "ac922", made_ac922 },     { "ac922-six", made_ac922_six },
    { "dgx2", made_dgx2 },       { "dgx1", made_dgx1 },
    { "azure", made_azure },     { "laptop", made_laptop },
    { "eight", made_eight },     { "memory-only", made_memory_only },
    { "hostile", made_hostile }, { "middling", made_middling },
};

static const struct ath_style plain = { .is_utf8 = true, .columns = 80 };

static char *shown(const struct ath_machine *machine, enum ath_format format,
                   const struct ath_style *style)
{
    char *text = NULL;
    size_t length;
    struct ath_err err = { 0 };
    FILE *memory = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq(ath_output(&ath_machine_view, machine, format, style, memory, &err), 0);
    fclose(memory);
    return text;
}

static char *shown_made(void (*make)(struct ath_machine *out), enum ath_format format)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    make(&machine);
    return shown(&machine, format, &plain);
}

static void check_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text);
}

static void check_lacks(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text);
}

/* --- JSON and YAML ---------------------------------------------------------------------------- */

static json_t *json_of(void (*make)(struct ath_machine *out))
{
    ath_auto_free char *text = shown_made(make, ATH_FORMAT_JSON);
    json_error_t error;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(value != NULL, "%s", error.text);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    return value;
}

static bool is_type(const json_t *value, const char *type)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null"
    };
    return !strcmp(names[json_typeof(value)], type);
}

static bool has_type(const json_t *value, const json_t *type)
{
    size_t i;
    json_t *one;

    if (json_is_string(type))
        return is_type(value, json_string_value(type));
    json_array_foreach(type, i, one) if (is_type(value, json_string_value(one))) return true;
    return !type;
}

static bool is_listed(const json_t *value, const json_t *list)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one) if (json_equal(value, one)) return true;
    return !list;
}

/* As much of JSON Schema as our schemas use for the shape of things. */
static void validate(const json_t *value, const json_t *schema, const char *path)
{
    json_t *properties = json_object_get(schema, "properties"), *item;
    const char *key;
    size_t i;

    ck_assert_msg(has_type(value, json_object_get(schema, "type")), "type of %s", path);
    ck_assert_msg(is_listed(value, json_object_get(schema, "enum")), "value of %s", path);
    if (json_object_get(schema, "const"))
        ck_assert_msg(json_equal(value, json_object_get(schema, "const")), "value of %s", path);
    json_array_foreach(json_object_get(schema, "required"), i, item) ck_assert_msg(
        !json_is_object(value) || json_object_get(value, json_string_value(item)) != NULL,
        "%s lacks %s", path, json_string_value(item));
    json_object_foreach((json_t *)value, key, item)
    {
        ath_auto_free char *below = ath_xasprintf("%s.%s", path, key);
        if (!properties)
            continue;
        ck_assert_msg(json_object_get(properties, key) != NULL, "%s is not described", below);
        validate(item, json_object_get(properties, key), below);
    }
    json_array_foreach(value, i, item) validate(item, json_object_get(schema, "items"), path);
}

START_TEST(json_is_what_its_schema_says)
{
    const char *srcdir = getenv("srcdir");
    ath_auto_free char *path = ath_xasprintf("%s/docs/schema/machine.json", srcdir ? srcdir : ".");
    json_error_t error;
    json_t *schema = json_load_file(path, 0, &error);
    json_t *value = json_of(made[_i].make);

    ck_assert_msg(schema != NULL, "%s: %s", path, error.text);
    validate(value, schema, made[_i].name);
    ck_assert_str_eq(json_object_iter_key(json_object_iter(value)), "schema");
    json_decref(value);
    json_decref(schema);
}
END_TEST

static json_t *at(const json_t *value, const char *list, size_t index)
{
    return json_array_get(json_object_get(value, list), index);
}

START_TEST(json_knows_what_is_unknown)
{
    json_t *value = json_of(made_memory_only);
    json_t *gpu = at(value, "gpus", 0);
    static const char *const unknown[] = {
        "model",        "uuid",    "numa_node",          "memory_node",
        "memory_state", "nvlinks", "memory_total_bytes", "driver_version"
    };

    for (size_t i = 0; i < ATH_COUNT(unknown); i++)
        ck_assert_msg(json_is_null(json_object_get(gpu, unknown[i])), "%s", unknown[i]);
    ck_assert(json_is_null(json_object_get(at(value, "pairs", 0), "class")));
    ck_assert_str_eq(json_string_value(json_object_get(gpu, "vendor_id")), "10de");
    json_decref(value);
}
END_TEST

/* The nearest 16 of each GPU, where all of them would be too many. */
START_TEST(json_keeps_the_nearest_pairs)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_eight(&machine);
    while (machine.nic_count < 1300)
        ath_machine_add_nic(&machine)->netdev = ath_xasprintf("eth%zu", machine.nic_count);
    free(machine.pairs);
    machine.pairs = NULL;
    machine.pair_count = 0;
    ath_pairs_rank(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_JSON, &plain);
    json_t *value = json_loads(text, 0, NULL);

    ck_assert_uint_eq(machine.pair_count, 8 * 1300);
    ck_assert_uint_eq(json_array_size(json_object_get(value, "pairs")), 8 * 16);
    ck_assert_str_eq(json_string_value(json_object_get(at(value, "pairs", 16), "rdma_device")),
                     "mlx5_0");
    json_decref(value);
}
END_TEST

START_TEST(json_tells_an_ac922)
{
    json_t *value = json_of(made_ac922);
    json_t *node = at(value, "numa_nodes", 0), *last = at(value, "numa_nodes", 5);
    json_t *distances = json_object_get(node, "distances");

    ck_assert_str_eq(json_string_value(json_object_get(node, "cpus")), "0-63");
    ck_assert_int_eq(json_integer_value(json_object_get(node, "cpu_count")), 64);
    ck_assert_int_eq(json_integer_value(json_object_get(distances, "8")), 40);
    ck_assert_int_eq(json_integer_value(json_object_get(distances, "252")), 80);
    ck_assert_str_eq(json_string_value(json_object_get(last, "kind")), "gpu");
    ck_assert_str_eq(json_string_value(json_object_get(last, "gpu")), "0004:04:00.0");
    ck_assert_int_eq(json_integer_value(json_object_get(at(value, "nics", 0), "best_gid_index")),
                     3);
    ck_assert_str_eq(json_string_value(json_object_get(at(value, "pairs", 0), "class")), "NODE");
    json_decref(value);
}
END_TEST

static json_t *load_yaml_node(yaml_parser_t *parser, yaml_event_t *event);

/* A scalar as a YAML reader takes it: plain text may be anything, quoted text is text. */
static json_t *load_scalar(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    json_t *value = NULL;

    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        value = json_loads(text, JSON_DECODE_ANY, NULL);
    return value ? value : json_string(text);
}

static json_t *load_mapping(yaml_parser_t *parser)
{
    json_t *object = json_object();
    yaml_event_t event;

    while (yaml_parser_parse(parser, &event) && event.type != YAML_MAPPING_END_EVENT) {
        json_t *key = load_yaml_node(parser, &event);
        yaml_event_t next;
        ck_assert(yaml_parser_parse(parser, &next));
        ck_assert_msg(json_is_string(key), "a key is no text");
        json_object_set_new(object, json_string_value(key), load_yaml_node(parser, &next));
        json_decref(key);
    }
    return object;
}

static json_t *load_sequence(yaml_parser_t *parser)
{
    json_t *array = json_array();
    yaml_event_t event;

    while (yaml_parser_parse(parser, &event) && event.type != YAML_SEQUENCE_END_EVENT)
        json_array_append_new(array, load_yaml_node(parser, &event));
    return array;
}

static json_t *load_yaml_node(yaml_parser_t *parser, yaml_event_t *event)
{
    json_t *value = event->type == YAML_MAPPING_START_EVENT    ? load_mapping(parser)
                    : event->type == YAML_SEQUENCE_START_EVENT ? load_sequence(parser)
                                                               : load_scalar(event);
    yaml_event_delete(event);
    return value;
}

static json_t *load_yaml(const char *text)
{
    yaml_parser_t parser;
    yaml_event_t event;
    json_t *value = NULL;

    ck_assert(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    while (!value) {
        ck_assert_msg(yaml_parser_parse(&parser, &event), "%s", parser.problem);
        if (event.type == YAML_MAPPING_START_EVENT)
            value = load_yaml_node(&parser, &event);
        else
            yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return value;
}

START_TEST(yaml_loads_back_to_the_json)
{
    ath_auto_free char *text = shown_made(made[_i].make, ATH_FORMAT_YAML);
    json_t *json = json_of(made[_i].make), *yaml = load_yaml(text);

    ck_assert_msg(json_equal(json, yaml), "%s", text);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    json_decref(json);
    json_decref(yaml);
}
END_TEST

static char *yaml_of(const json_t *value)
{
    char *text = NULL;
    size_t length;
    struct ath_err err;
    FILE *memory = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq(ath_json_write_yaml(value, memory, &err), 0);
    fclose(memory);
    return text;
}

START_TEST(yaml_quotes_what_a_reader_would_misread)
{
    static const char *const words[] = { "yes",  "No",   "on",   "null", "~",          "",
                                         "1",    "-1",   "0x1f", "1e3",  "12:34:56",   "1_000",
                                         ".inf", "true", "y",    "=",    "2024-01-01", "<<",
                                         "a: b", "# x",  " a",   "a ",   "- a",        "*a",
                                         "a\tb", "@a",   "%a",   "'",    "0o17",       "---",
                                         "\"a\\" };
    for (size_t i = 0; i < ATH_COUNT(words); i++) {
        json_t *value = json_pack("{s:s}", "key", words[i]);
        ath_auto_free char *text = yaml_of(value);
        json_t *back = load_yaml(text);
        ck_assert_msg(text[5] == '"', "'%s' is written as %s", words[i], text);
        ck_assert(json_equal(value, back));
        json_decref(value);
        json_decref(back);
    }
}
END_TEST

/* --- matrix ----------------------------------------------------------------------------------- */

/* The matrix that nvidia-smi printed on a 4-GPU AC922
 * (github.com/milanpro/Masterthesis-Heterogeneous-PC, README.md). */
static const char *const topo[10][10] = {
    { "X", "NV3", "SYS", "SYS", "NODE", "NODE", "SYS", "SYS", "SYS", "SYS" },
    { "NV3", "X", "SYS", "SYS", "NODE", "NODE", "SYS", "SYS", "SYS", "SYS" },
    { "SYS", "SYS", "X", "NV3", "SYS", "SYS", "NODE", "NODE", "NODE", "NODE" },
    { "SYS", "SYS", "NV3", "X", "SYS", "SYS", "NODE", "NODE", "NODE", "NODE" },
    { "NODE", "NODE", "SYS", "SYS", "X", "PIX", "SYS", "SYS", "SYS", "SYS" },
    { "NODE", "NODE", "SYS", "SYS", "PIX", "X", "SYS", "SYS", "SYS", "SYS" },
    { "SYS", "SYS", "NODE", "NODE", "SYS", "SYS", "X", "PIX", "NODE", "NODE" },
    { "SYS", "SYS", "NODE", "NODE", "SYS", "SYS", "PIX", "X", "NODE", "NODE" },
    { "SYS", "SYS", "NODE", "NODE", "SYS", "SYS", "NODE", "NODE", "X", "PIX" },
    { "SYS", "SYS", "NODE", "NODE", "SYS", "SYS", "NODE", "NODE", "PIX", "X" },
};

enum { WORDS_MAX = 24 };

/* Splits a line at blanks, in place; returns how many words. */
static size_t split(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;
    char *rest = NULL;

    for (char *word = strtok_r(line, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return count;
}

static char *next_line(char **text)
{
    return strsep(text, "\n");
}

START_TEST(matrix_agrees_with_nvidia_smi)
{
    ath_auto_free char *text = shown_made(made_ac922, ATH_FORMAT_MATRIX);
    char *rest = text, *words[WORDS_MAX];

    ck_assert_uint_eq(split(next_line(&rest), words), 13);
    ck_assert_str_eq(words[4], "mlx5_0");
    for (size_t row = 0; row < 10; row++) {
        ck_assert_uint_eq(split(next_line(&rest), words), 14);
        for (size_t column = 0; column < 10; column++) {
            bool is_gpus = row < 4 && column < 4 && row != column;
            ck_assert_str_eq(words[column + 1], is_gpus ? "?" : topo[row][column]);
        }
        ck_assert_str_eq(words[11], row < 2 || row == 4 || row == 5 ? "0-63" : "64-127");
    }
    check_has(rest, "mlx5_4  enP51p1s0f0, 0033:01:00.0, card 0003:01:00.0");
}
END_TEST

START_TEST(matrix_shows_links_that_are_known)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_ac922_six(&machine);
    machine.gpus[0].nvlinks[1].count = ATH_UNKNOWN;
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_MATRIX, &plain);
    char *rest = text, *words[WORDS_MAX];

    next_line(&rest);
    split(next_line(&rest), words);
    ck_assert_str_eq(words[2], "NV2");
    ck_assert_str_eq(words[3], "NV?");
    ck_assert_str_eq(words[4], "SYS");
    split(next_line(&rest), words);
    ck_assert_str_eq(words[1], "NV2");
}
END_TEST

/* A source that names only the switches tells the GPUs' links all the same. */
START_TEST(matrix_adds_up_links_over_switches)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_azure(&machine);
    for (size_t i = 0; i < 2; i++)
        for (uint8_t chip = 0; chip < 3; chip++) {
            struct ath_gpu *gpu = &machine.gpus[i];
            struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
            *link = (struct ath_nvlink){ .kind = ATH_PEER_SWITCH, .has_peer = true, .count = 2 };
            link->peer.bus = chip;
            gpu->has_nvlinks = true;
        }
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_MATRIX, &plain);
    char *rest = text, *words[WORDS_MAX];

    next_line(&rest);
    split(next_line(&rest), words);
    ck_assert_str_eq(words[2], "NV6");
    ck_assert_str_eq(words[3], "?");
}
END_TEST

START_TEST(matrix_names_both_ports_of_one_device)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_ac922(&machine);
    free(machine.nics[1].rdma_device);
    machine.nics[1].rdma_device = ath_xstrdup("mlx5_0");
    machine.nics[1].port = 2;
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_MATRIX, &plain);
    check_has(text, "mlx5_0:1");
    check_has(text, "mlx5_0:2");
}
END_TEST

/* --- text ------------------------------------------------------------------------------------- */

START_TEST(text_tells_an_ac922)
{
    ath_auto_free char *text = shown_made(made_ac922, ATH_FORMAT_TEXT);

    check_has(text, "NUMA node 0  CPUs 0-63 (64), memory 251.0 GiB (250.5 GiB free)");
    check_has(text, "GPU0        0004:04:00.0  Tesla V100-SXM2-32GB");
    check_has(text, "32.0 GiB, NUMA node 255, online");
    check_has(text, "enP3p1s0f0 (mlx5_0), NODE:");
    check_has(text, "mlx5_0 port 1, use GID 3 (RoCE v2, 192.168.1.10)");
    check_has(text, "4 functions on nodes 0 and 8");
    check_has(text, "10 the node itself, 40 another CPU node, 80 a GPU's memory");
    check_has(text, "512 × 16 MiB (100 free)");
    check_lacks(text, "\nNUMA node 255");
}
END_TEST

START_TEST(text_is_no_wider_than_the_terminal)
{
    const struct ath_style narrow = { .is_utf8 = true, .columns = 60 };
    ATH_AUTO(ath_machine) machine = { 0 };

    made[_i].make(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &narrow);
    char *rest = text;
    for (char *line; (line = next_line(&rest));)
        ck_assert_msg(ath_text_width(line) <= 60, "too wide: %s", line);
}
END_TEST

START_TEST(chinese_breaks_between_letters_but_not_before_a_stop)
{
    const struct ath_style narrow = { .is_utf8 = true, .columns = 31 };
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(memory);
    ath_style_print(&narrow, memory,
                    &(struct ath_paragraph){ .prefix = "  ",
                                             .text = "节点零的内存离线，所以不能使用这个图形处理"
                                                     "器。请先把它打开" });
    fclose(memory);
    char *rest = text;
    size_t lines = 0;
    for (char *line; (line = next_line(&rest)) && *line; lines++) {
        ck_assert_msg(ath_text_width(line) <= 31, "too wide: %s", line);
        ck_assert_msg(strncmp(line + 2, "，", 3) && strncmp(line + 2, "。", 3), "%s", line);
    }
    ck_assert_uint_ge(lines, 3);
    free(text);
}
END_TEST

START_TEST(a_long_list_of_ids_is_broken_at_commas)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_laptop(&machine);
    for (int cpu = 10; cpu < 300; cpu += 2)
        ath_idset_add(&machine.nodes[0].cpus, cpu, cpu);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &plain);
    char *rest = text;

    for (char *line; (line = next_line(&rest));)
        ck_assert_msg(ath_text_width(line) <= 80, "too wide: %s", line);
}
END_TEST

START_TEST(many_nodes_stay_readable)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_large(&machine, 512);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &plain);

    check_has(text, "512 nodes without GPUs and network ports: 0-511");
    check_has(text, "20/40 another CPU node");
    ck_assert_uint_lt(strlen(text), 2000);
}
END_TEST

/* --- pictures --------------------------------------------------------------------------------- */

#define EXPAT_FUNCTIONS(F)                                                                         \
    F(XML_ParserCreate) F(XML_Parse) F(XML_ParserFree) F(XML_ErrorString) F(XML_GetErrorCode)
struct expat {
    EXPAT_FUNCTIONS(ATH_LATE_MEMBER)
};
static const char *const expat_names[] = { EXPAT_FUNCTIONS(ATH_LATE_NAME) NULL };

START_TEST(svg_is_well_formed)
{
    ath_auto_free char *text = shown_made(made[_i].make, ATH_FORMAT_SVG);
    struct expat expat;
    struct ath_err err;

    ck_assert_int_eq(ath_late_load("libexpat.so.1", "libexpat1", expat_names, &expat, &err), 0);
    XML_Parser parser = expat.XML_ParserCreate(NULL);
    ck_assert_msg(expat.XML_Parse(parser, text, (int)strlen(text), 1) == XML_STATUS_OK, "%s",
                  expat.XML_ErrorString(expat.XML_GetErrorCode(parser)));
    expat.XML_ParserFree(parser);
    check_has(text, "<title id=\"title\">");
    check_has(text, "<desc id=\"desc\">");
}
END_TEST

struct rect {
    int x, y, width, height;
};

static int attribute(const char *element, const char *name)
{
    const char *found = strstr(element, name);
    ck_assert_ptr_nonnull(found);
    return (int)strtol(found + strlen(name), NULL, 10);
}

/* The boxes of devices and the patches behind labels. */
static size_t find_rects(const char *svg, const char *class, struct rect out[], size_t max)
{
    size_t count = 0;

    for (const char *at_rect = svg; (at_rect = strstr(at_rect, "<rect ")); at_rect++) {
        const char *end = strchr(at_rect, '>'), *mark = strstr(at_rect, class);
        if (!mark || mark > end || count == max)
            continue;
        out[count++] =
            (struct rect){ attribute(at_rect, " x=\""), attribute(at_rect, " y=\""),
                           attribute(at_rect, " width=\""), attribute(at_rect, " height=\"") };
    }
    return count;
}

static bool do_overlap(const struct rect *a, const struct rect *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

START_TEST(svg_boxes_and_labels_keep_apart)
{
    ath_auto_free char *text = shown_made(made[_i].make, ATH_FORMAT_SVG);
    enum { RECTS_MAX = 256 };
    static struct rect rects[RECTS_MAX];
    static const char *const classes[] = { "class=\"gpu\"", "class=\"nic\"", "class=\"off\"",
                                           "class=\"patch\"" };
    int width = attribute(text, " width=\""), height = attribute(text, " height=\"");
    size_t count = 0;

    for (size_t i = 0; i < ATH_COUNT(classes); i++)
        count += find_rects(text, classes[i], rects + count, RECTS_MAX - count);
    for (size_t a = 0; a < count; a++) {
        ck_assert(rects[a].x >= 0 && rects[a].x + rects[a].width <= width);
        ck_assert(rects[a].y >= 0 && rects[a].y + rects[a].height <= height);
        for (size_t b = a + 1; b < count; b++)
            ck_assert_msg(!do_overlap(&rects[a], &rects[b]), "%s: %d,%d and %d,%d", made[_i].name,
                          rects[a].x, rects[a].y, rects[b].x, rects[b].y);
    }
}
END_TEST

START_TEST(svg_draws_every_device_once)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made[_i].make(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_SVG, &plain);
    static struct rect rects[64];
    size_t legend = machine.gpu_count ? 1 : 0;

    ck_assert_uint_eq(find_rects(text, "class=\"gpu\"", rects, 64), machine.gpu_count + legend);
}
END_TEST

/* Quotes open and close on one line, and nothing unquoted comes from a name. */
START_TEST(dot_strings_are_closed)
{
    ath_auto_free char *text = shown_made(made[_i].make, ATH_FORMAT_DOT);
    bool is_quoted = false;

    for (const char *c = text; *c; c++) {
        if (is_quoted && *c == '\\' && c[1])
            c++;
        else if (*c == '"')
            is_quoted = !is_quoted;
        else if (*c == '\n')
            ck_assert_msg(!is_quoted, "a string is open at: %s", c);
    }
    ck_assert(!is_quoted);
    ck_assert_msg(!strncmp(text, "graph machine {\n", 16), "%s", text);
    ck_assert_msg(!strcmp(text + strlen(text) - 2, "}\n"), "%s", text);
}
END_TEST

/* --- strange names, styles, faults ------------------------------------------------------------ */

START_TEST(no_control_character_gets_through)
{
    ath_auto_free char *text = shown_made(made_hostile, (enum ath_format)_i);

    for (const char *c = text; *c; c++)
        ck_assert_msg((unsigned char)*c >= ' ' || *c == '\n', "control character in: %s", c);
    ck_assert_msg(mbstowcs(NULL, text, 0) != (size_t)-1, "no UTF-8: %s", text);
    check_lacks(text, "\xe2\x80\xae");
}
END_TEST

START_TEST(clean_replaces_what_is_no_text)
{
    static const struct {
        const char *raw, *utf8;
    } texts[] = {
        { "enP3p1s0f0", "enP3p1s0f0" },
        { "网卡 ß", "网卡 ß" },
        { "a\033[2Jb", "a\xef\xbf\xbd[2Jb" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc2\x9b"
          "1m",
          "\xef\xbf\xbd"
          "1m" },                                         /* CSI as one character */
        { "end\xe2\x82", "end\xef\xbf\xbd\xef\xbf\xbd" }, /* cut off */
        { "\xef\xbf\xbf", "\xef\xbf\xbd" },
        { "", "" },
    };
    for (size_t i = 0; i < ATH_COUNT(texts); i++) {
        ath_auto_free char *clean = ath_clean(texts[i].raw, true);
        ck_assert_str_eq(clean, texts[i].utf8);
    }
    ck_assert_ptr_null(ath_clean(NULL, true));
}
END_TEST

START_TEST(texts_of_many_lines_keep_them)
{
    json_t *json = ath_json_lines("a: 1\n\tb\r\033[2J\xff\xe2\x80\xae\n");

    ck_assert_str_eq(json_string_value(json),
                     "a: 1\n\tb\xef\xbf\xbd\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\n");
    json_decref(json);
    json = ath_json_lines(NULL);
    ck_assert(json_is_null(json));
    json_decref(json);
}
END_TEST

START_TEST(ascii_is_ascii)
{
    const struct ath_style ascii = { .columns = 80 };
    ATH_AUTO(ath_machine) machine = { 0 };

    ck_assert_ptr_nonnull(setlocale(LC_ALL, "C"));
    made[_i].make(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &ascii);
    for (const char *c = text; *c; c++)
        ck_assert_msg((unsigned char)*c < 0x7f, "not ASCII: %s", c);
}
END_TEST

START_TEST(colour_only_where_it_is_wanted)
{
    const struct ath_style color = { .is_color = true, .is_utf8 = true };
    ATH_AUTO(ath_machine) machine = { 0 };

    made_ac922(&machine);
    ath_auto_free char *colored = shown(&machine, ATH_FORMAT_TEXT, &color);
    ath_auto_free char *json = shown(&machine, ATH_FORMAT_JSON, &color);
    ath_auto_free char *svg = shown(&machine, ATH_FORMAT_SVG, &color);
    ck_assert_ptr_nonnull(strchr(colored, '\033'));
    ck_assert_ptr_null(strchr(json, '\033'));
    ck_assert_ptr_null(strchr(svg, '\033'));
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err err = { 0 };
    FILE *full = fopen("/dev/full", "w");

    ck_assert_ptr_nonnull(full);
    made_laptop(&machine);
    ck_assert_int_eq(
        ath_output(&ath_machine_view, &machine, (enum ath_format)_i, &plain, full, &err), -ENOSPC);
    ck_assert_str_eq(ath_error_word(err.code), "no-space");
    fclose(full);
}
END_TEST

START_TEST(a_closed_pipe_is_an_error)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err err = { 0 };
    int ends[2];

    ck_assert_ptr_ne(signal(SIGPIPE, SIG_IGN), SIG_ERR);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    FILE *closed = fdopen(ends[1], "w");
    ck_assert_ptr_nonnull(closed);
    made_laptop(&machine);
    ck_assert_int_eq(ath_output(&ath_machine_view, &machine, ATH_FORMAT_JSON, &plain, closed, &err),
                     -EPIPE);
    ck_assert_str_ne(err.message, "");
    fclose(closed);
}
END_TEST

static json_t *nothing_to_json(const void *data)
{
    (void)data;
    return json_object();
}

static void nothing_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    (void)data;
    fputs("nothing\n", out);
}

START_TEST(a_view_without_pictures_says_so)
{
    static const struct ath_view view = { "aitherion.nothing/1", nothing_to_json, nothing_to_text,
                                          NULL, 0 };
    struct ath_err err = { 0 };

    ck_assert_int_eq(ath_output(&view, NULL, ATH_FORMAT_SVG, &plain, stdout, &err), -EINVAL);
    ck_assert_str_eq(ath_error_word(err.code), "usage");
    check_has(err.message, "'svg'");
}
END_TEST

START_TEST(formats_have_words_of_their_own)
{
    const char *word = ath_format_word((enum ath_format)_i);

    ck_assert_str_ne(word, "");
    for (int i = 0; i < _i; i++)
        ck_assert_str_ne(ath_format_word((enum ath_format)i), word);
}
END_TEST

static void add_data_tests(TCase *cases)
{
    tcase_add_loop_test(cases, json_is_what_its_schema_says, 0, (int)ATH_COUNT(made));
    tcase_add_test(cases, json_knows_what_is_unknown);
    tcase_add_test(cases, json_keeps_the_nearest_pairs);
    tcase_add_test(cases, json_tells_an_ac922);
    tcase_add_loop_test(cases, yaml_loads_back_to_the_json, 0, (int)ATH_COUNT(made));
    tcase_add_test(cases, yaml_quotes_what_a_reader_would_misread);
    tcase_add_test(cases, matrix_agrees_with_nvidia_smi);
    tcase_add_test(cases, matrix_shows_links_that_are_known);
    tcase_add_test(cases, matrix_adds_up_links_over_switches);
    tcase_add_test(cases, matrix_names_both_ports_of_one_device);
}

static void add_people_tests(TCase *cases)
{
    tcase_add_test(cases, text_tells_an_ac922);
    tcase_add_loop_test(cases, text_is_no_wider_than_the_terminal, 0, (int)ATH_COUNT(made));
    tcase_add_test(cases, chinese_breaks_between_letters_but_not_before_a_stop);
    tcase_add_test(cases, a_long_list_of_ids_is_broken_at_commas);
    tcase_add_test(cases, many_nodes_stay_readable);
    tcase_add_loop_test(cases, svg_is_well_formed, 0, (int)ATH_COUNT(made));
    tcase_add_loop_test(cases, svg_boxes_and_labels_keep_apart, 0, (int)ATH_COUNT(made));
    tcase_add_loop_test(cases, svg_draws_every_device_once, 0, (int)ATH_COUNT(made));
    tcase_add_loop_test(cases, dot_strings_are_closed, 0, (int)ATH_COUNT(made));
}

static void add_fault_tests(TCase *cases)
{
    tcase_add_loop_test(cases, no_control_character_gets_through, 0, ATH_FORMAT_COUNT);
    tcase_add_test(cases, clean_replaces_what_is_no_text);
    tcase_add_test(cases, texts_of_many_lines_keep_them);
    tcase_add_loop_test(cases, ascii_is_ascii, 0, (int)ATH_COUNT(made));
    tcase_add_test(cases, colour_only_where_it_is_wanted);
    tcase_add_loop_test(cases, a_full_disk_is_an_error, 0, ATH_FORMAT_COUNT);
    tcase_add_test(cases, a_closed_pipe_is_an_error);
    tcase_add_test(cases, a_view_without_pictures_says_so);
    tcase_add_loop_test(cases, formats_have_words_of_their_own, 0, ATH_FORMAT_COUNT);
}

int main(void)
{
    Suite *suite = suite_create("output");
    TCase *cases = tcase_create("output");

    if (!setlocale(LC_ALL, "C.UTF-8")) {
        fputs("the locale C.UTF-8 is missing: display widths cannot be tested\n", stderr);
        return 77;
    }
    add_data_tests(cases);
    add_people_tests(cases);
    add_fault_tests(cases);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
