/* Output of a machine: every format is well-formed, has the machine's facts, and cleans foreign
 * names. */
#include "config.h"

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
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/late.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"
#include "cli/output/json_yaml.h"
#include "cli/output/logs.h"
#include "cli/output/machine/machine.h"
#include "cli/output/table.h"
#include "cli/output/words.h"
#include "made_machines.h"
#include "numa/pair.h"
#include "unit.h"

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
    { "b200", made_b200 },
};

static int set_locale(void)
{
    if (setlocale(LC_ALL, "C.UTF-8"))
        return 0;
    puts("skipped: the locale C.UTF-8 is missing: display widths cannot be tested");
    return 77;
}

PREPARE(set_locale);

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

/* Checks a value against a schema, with the part of JSON Schema that our schemas use. */
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

LOOP_TEST(json_matches_its_schema, 0, ATH_COUNT(made))
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

static json_t *at(const json_t *value, const char *list, size_t index)
{
    return json_array_get(json_object_get(value, list), index);
}

TEST(json_has_null_for_unknown_facts)
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

/* With too many pairs, only the nearest 16 of each GPU are printed. */
TEST(json_keeps_the_nearest_pairs)
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

TEST(json_describes_an_ac922)
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

static json_t *load_yaml_node(yaml_parser_t *parser, yaml_event_t *event);

/* A scalar as a YAML reader loads it: plain text may be of any type, quoted text is a string. */
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
        ck_assert_msg(json_is_string(key), "a key is not a string");
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

LOOP_TEST(yaml_loads_as_the_same_value_as_json, 0, ATH_COUNT(made))
{
    ath_auto_free char *text = shown_made(made[_i].make, ATH_FORMAT_YAML);
    json_t *json = json_of(made[_i].make), *yaml = load_yaml(text);

    ck_assert_msg(json_equal(json, yaml), "%s", text);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    json_decref(json);
    json_decref(yaml);
}

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

TEST(yaml_quotes_strings_that_a_reader_would_misread)
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

/* Letters outside ASCII are written as themselves: a reader of the file sees the name. */
TEST(yaml_keeps_letters_outside_ascii)
{
    json_t *value = json_pack("{s:s}", "key", "Gr\u00f6\u00dfe \u6d4b\u8bd5");
    ath_auto_free char *text = yaml_of(value);

    ck_assert_str_eq(text, "key: \"Gr\u00f6\u00dfe \u6d4b\u8bd5\"\n");
    json_decref(value);
}

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

TEST(matrix_agrees_with_nvidia_smi)
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

TEST(lines_have_bandwidths)
{
    ATH_AUTO(ath_machine) six = { 0 }, mesh = { 0 };
    made_ac922_six(&six);
    made_dgx1(&mesh);
    ath_auto_free char *dot = shown(&six, ATH_FORMAT_DOT, &plain);
    ath_auto_free char *svg = shown(&six, ATH_FORMAT_SVG, &plain);
    ath_auto_free char *crowded = shown(&mesh, ATH_FORMAT_SVG, &plain);
    ath_auto_free char *matrix = shown(&six, ATH_FORMAT_MATRIX, &plain);

    check_has(dot, "gpu0 -- gpu1 [label=\"NV2 50 GB/s\"");
    check_has(svg, ">NV2 50 GB/s<");
    check_has(crowded, ">NV1<");
    ck_assert_ptr_null(strstr(crowded, "GB/s<"));
    check_has(matrix, "GB/s from GPU to GPU, in one direction (t: from a table of links)");
    check_has(matrix, "GPU0    X       50      50      32t     32t     32t\n");
}

TEST(matrix_shows_known_links)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_ac922_six(&machine);
    machine.gpus[0].nvlinks[1].count = machine.gpus[2].nvlinks[0].count = ATH_UNKNOWN;
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

/* Links are counted even if the source lists only switches as peers. */
TEST(matrix_adds_up_links_over_switches)
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

TEST(matrix_names_both_ports_of_one_device)
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

/* Links to switches that have no address, and a GPU that has lost its links. */
TEST(matrix_counts_links_to_switches_without_an_address)
{
    ath_auto_free char *text = shown_made(made_b200, ATH_FORMAT_MATRIX);
    check_has(text, "GPU0  X     NV18  NV18  NV18  NV18  NV18  NV18  SYS ");
    check_has(text, "GPU6  NV18  NV18  NV18  NV18  NV18  NV18  X     NODE");
    check_has(text, "GPU7  SYS   SYS   SYS   SYS   NODE  NODE  NODE  X ");
}

TEST(a_gpu_that_lost_its_links_is_not_on_the_switch)
{
    ath_auto_free char *svg = shown_made(made_b200, ATH_FORMAT_SVG);
    ath_auto_free char *text = shown_made(made_b200, ATH_FORMAT_TEXT);
    size_t lines = 0;

    for (const char *at = svg; (at = strstr(at, "<path class=\"nvlink\"")); at++)
        lines++;
    ck_assert_uint_eq(lines, 7);
    check_has(svg, "NVSwitch: the GPUs on it to each other over 18 NVLinks");
    check_has(svg, "no NVLink");
    check_lacks(svg, "every GPU to every other");
    check_has(text, "NVLink       none");
    check_has(text, "GPU '0000:48:00.0' has 0 NVLinks to GPUs");
}

/* --- text ------------------------------------------------------------------------------------- */

TEST(text_describes_an_ac922)
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

LOOP_TEST(text_is_no_wider_than_the_terminal, 0, ATH_COUNT(made))
{
    const struct ath_style narrow = { .is_utf8 = true, .columns = 60 };
    ATH_AUTO(ath_machine) machine = { 0 };

    made[_i].make(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &narrow);
    char *rest = text;
    for (char *line; (line = next_line(&rest));)
        ck_assert_msg(ath_text_width(line) <= 60, "too wide: %s", line);
}

TEST(chinese_breaks_between_letters_but_not_before_punctuation)
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

TEST(a_long_list_of_ids_is_broken_at_commas)
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

TEST(many_nodes_are_folded)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made_large(&machine, 512);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &plain);

    check_has(text, "512 nodes without GPUs or network ports: 0-511");
    check_has(text, "20/40 another CPU node");
    ck_assert_uint_lt(strlen(text), 2000);
}

/* --- pictures --------------------------------------------------------------------------------- */

#define EXPAT_FUNCTIONS(F)                                                                         \
    F(XML_ParserCreate) F(XML_Parse) F(XML_ParserFree) F(XML_ErrorString) F(XML_GetErrorCode)
struct expat {
    EXPAT_FUNCTIONS(ATH_LATE_MEMBER)
};
static const char *const expat_names[] = { EXPAT_FUNCTIONS(ATH_LATE_NAME) NULL };

LOOP_TEST(svg_is_well_formed, 0, ATH_COUNT(made))
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

struct rect {
    int x, y, width, height;
};

static int attribute(const char *element, const char *name)
{
    const char *found = strstr(element, name);
    ck_assert_ptr_nonnull(found);
    return (int)strtol(found + strlen(name), NULL, 10);
}

/* Finds the boxes of a class: devices, or the patches behind labels. */
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

LOOP_TEST(svg_boxes_and_labels_do_not_overlap, 0, ATH_COUNT(made))
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

/* The bar that stands for NVSwitch, above its GPUs. */
TEST(svg_bar_spans_all_gpus)
{
    ath_auto_free char *text = shown_made(made_b200, ATH_FORMAT_SVG);
    struct rect bar, gpus[16];
    size_t count = find_rects(text, "class=\"gpu\"", gpus, ATH_COUNT(gpus));

    ck_assert_uint_eq(find_rects(text, "class=\"fabric\"", &bar, 1), 1);
    ck_assert_uint_ge(count, 8);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_lt(bar.y, gpus[i].y);
        ck_assert(bar.x <= gpus[i].x && gpus[i].x + gpus[i].width <= bar.x + bar.width);
    }
}

LOOP_TEST(svg_draws_every_device_once, 0, ATH_COUNT(made))
{
    ATH_AUTO(ath_machine) machine = { 0 };
    made[_i].make(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_SVG, &plain);
    static struct rect rects[64];
    size_t legend = machine.gpu_count ? 1 : 0;

    ck_assert_uint_eq(find_rects(text, "class=\"gpu\"", rects, 64), machine.gpu_count + legend);
}

static struct ath_gpu *add_gpu_at(struct ath_machine *machine, uint8_t bus)
{
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &(struct ath_pci){ .bus = bus });
    gpu->numa_node = 0;
    gpu->place = ath_xstrdup("pci0000:00/0000:00:01.0");
    return gpu;
}

static void add_plain_node(struct ath_machine *machine, const char *cpus)
{
    struct ath_numa_node *node = ath_machine_add_node(machine, 0);
    ck_assert_int_eq(ath_idset_parse_list(cpus, &node->cpus), 0);
    node->memory_total_bytes = (int64_t)504 << 30;
    node->is_online = true;
}

/* A row of nodes without GPUs has no room for the bar of NVSwitch. */
TEST(svg_has_room_for_a_bar_above_gpus_only)
{
    enum { NODES = 8 };
    struct rect nodes[2][NODES + 1];

    for (int has_bar = 0; has_bar < 2; has_bar++) {
        ATH_AUTO(ath_machine) machine = { .source = ATH_SOURCE_ROOT };
        for (int id = 0; id < NODES; id++) {
            struct ath_numa_node *node = ath_machine_add_node(&machine, id);
            ck_assert_int_eq(ath_idset_parse_list(id ? "1" : "0", &node->cpus), 0);
            node->is_online = true;
        }
        for (uint8_t bus = 1; bus < 5; bus++) {
            struct ath_gpu *gpu = add_gpu_at(&machine, bus);
            gpu->has_nvlinks = true;
            if (has_bar)
                *(struct ath_nvlink *)ath_push(&gpu->nvlinks, &gpu->nvlink_count,
                                               sizeof *gpu->nvlinks) =
                    (struct ath_nvlink){ .kind = ATH_PEER_SWITCH, .count = 18, .speed_mbps = -1 };
        }
        ath_machine_finish(&machine);
        ath_auto_free char *text = shown(&machine, ATH_FORMAT_SVG, &plain);
        ck_assert_uint_ge(find_rects(text, "class=\"node\"", nodes[has_bar], NODES + 1), NODES);
    }
    ck_assert_int_gt(nodes[1][NODES - 1].y, nodes[1][0].y); /* another row */
    ck_assert_int_gt(nodes[1][0].height, nodes[0][0].height);
    ck_assert_int_eq(nodes[1][NODES - 1].height, nodes[0][NODES - 1].height);
}

TEST(svg_shows_whole_names_and_headings)
{
    static const char *const cpus[] = { "0-31,64-95,128-159,192-223",
                                        "0-7,16-23,32-39,48-55,64-71,80-87,96-103,112-119,128-135,"
                                        "144-151,160-167,176-183" };
    for (size_t i = 0; i < ATH_COUNT(cpus); i++) {
        ATH_AUTO(ath_machine) machine = { .source = ATH_SOURCE_ROOT };
        add_plain_node(&machine, cpus[i]);
        add_gpu_at(&machine, 1)->model = ath_xstrdup("RTX PRO 6000 Blackwell Server Edition");
        ath_machine_finish(&machine);
        ath_auto_free char *text = shown(&machine, ATH_FORMAT_SVG, &plain);
        check_has(text, i ? "96 CPUs · 504.0 GiB" : "CPUs 0-31,64-95,128-159,192-223 (128) · ");
        check_has(text, "504.0 GiB");
        check_has(text, ">RTX PRO 6000<");
        check_has(text, ">Blackwell Server<");
        check_has(text, ">Edition<");
        check_lacks(text, "…");
    }
}

/* Nine GPUs take two lines, and have no lines to ports. */
LOOP_TEST(svg_legend_explains_only_what_is_drawn, 8, 10)
{
    ATH_AUTO(ath_machine) machine = { .source = ATH_SOURCE_ROOT };
    add_plain_node(&machine, "0-7");
    for (int i = 0; i < _i; i++)
        add_gpu_at(&machine, (uint8_t)(i + 1));
    struct ath_nic *nic = ath_machine_add_nic(&machine);
    nic->numa_node = 0;
    nic->place = ath_xstrdup("pci0000:00/0000:00:01.0");
    nic->netdev = ath_xstrdup("eth0");
    nic->link = ATH_LINK_DOWN;
    ath_machine_finish(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_SVG, &plain);
    ck_assert_int_eq(strstr(text, "nearest port, PIX") != NULL, _i == 8);
    check_has(text, "network port, link down");
    check_lacks(text, ">network port<");
}

/* A Grace Hopper: node 1 is the GPU's memory, nodes 2 to 8 are kept for its parts. */
static void make_grace_hopper(struct ath_machine *machine)
{
    *machine = (struct ath_machine){ .source = ATH_SOURCE_ROOT };
    add_plain_node(machine, "0-71");
    for (int id = 1; id <= 8; id++) {
        struct ath_numa_node *node = ath_machine_add_node(machine, id);
        node->is_online = true;
        node->memory_total_bytes = id == 1 ? (int64_t)96 << 30 : 0;
    }
    for (int from = 0; from <= 8; from++)
        for (int to = 0; to <= 8; to++)
            *(struct ath_distance *)ath_push(&machine->nodes[from].distances,
                                             &machine->nodes[from].distance_count,
                                             sizeof(struct ath_distance)) =
                (struct ath_distance){ to, from == to           ? 10
                                           : to > 1 || from > 1 ? 254
                                                                : 80 };
    add_gpu_at(machine, 1)->memory_node = 1;
    ath_machine_finish(machine);
}

TEST(nodes_that_have_nothing_take_one_line)
{
    ath_auto_free char *text = shown_made(make_grace_hopper, ATH_FORMAT_TEXT);
    ath_auto_free char *svg = shown_made(make_grace_hopper, ATH_FORMAT_SVG);
    ath_auto_free char *dot = shown_made(make_grace_hopper, ATH_FORMAT_DOT);

    check_has(text, "Other nodes  7 nodes without CPUs, memory or devices: 2-8\n");
    check_lacks(text, "NUMA node 2");
    check_lacks(text, "254");
    check_has(svg, "7 nodes without CPUs, memory or devices: 2-8");
    check_lacks(svg, ">NUMA node 2<");
    check_has(dot, "7 nodes without CPUs, memory or devices: 2-8");
    check_lacks(dot, "NUMA node 2\"");
}

static void add_distance(struct ath_machine *machine, size_t from, int to, int value)
{
    struct ath_numa_node *node = &machine->nodes[from];
    *(struct ath_distance *)ath_push(&node->distances, &node->distance_count,
                                     sizeof *node->distances) = (struct ath_distance){ to, value };
}

/* The way back may be longer, and a value of three digits makes all columns wider. */
static void make_uneven(struct ath_machine *machine, int back)
{
    add_plain_node(machine, "0-7");
    struct ath_numa_node *node = ath_machine_add_node(machine, 1);
    node->is_online = true;
    ck_assert_int_eq(ath_idset_parse_list("8-15", &node->cpus), 0);
    add_distance(machine, 0, 0, 10);
    add_distance(machine, 0, 1, 20);
    add_distance(machine, 1, 0, back);
    add_distance(machine, 1, 1, 10);
    ath_machine_finish(machine);
}

static void make_uneven_99(struct ath_machine *machine)
{
    make_uneven(machine, 99);
}

static void make_uneven_100(struct ath_machine *machine)
{
    make_uneven(machine, 100);
}

TEST(distances_go_from_the_row_to_the_column)
{
    ath_auto_free char *narrow = shown_made(make_uneven_99, ATH_FORMAT_TEXT);
    ath_auto_free char *wide = shown_made(make_uneven_100, ATH_FORMAT_TEXT);

    check_has(narrow, "20/99 another CPU node");
    check_has(narrow, "\n       0   1\n   0  10  20\n   1  99  10\n");
    check_has(wide, "\n         0    1\n    0   10   20\n    1  100   10\n");
}

/* Every string begins and ends on the same line. */
LOOP_TEST(dot_strings_are_closed, 0, ATH_COUNT(made))
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

/* --- foreign names, styles, faults ------------------------------------------------------------ */

LOOP_TEST(output_has_no_control_characters, 0, ATH_FORMAT_COUNT)
{
    ath_auto_free char *text = shown_made(made_hostile, (enum ath_format)_i);

    for (const char *c = text; *c; c++)
        ck_assert_msg((unsigned char)*c >= ' ' || *c == '\n', "control character in: %s", c);
    ck_assert_msg(mbstowcs(NULL, text, 0) != (size_t)-1, "not UTF-8: %s", text);
    check_lacks(text, "\xe2\x80\xae");
}

TEST(clean_replaces_harmful_bytes)
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

TEST(json_lines_keep_newlines_and_tabs)
{
    json_t *json = ath_json_lines("a: 1\n\tb\r\033[2J\xff\xe2\x80\xae\n");

    ck_assert_str_eq(json_string_value(json),
                     "a: 1\n\tb\xef\xbf\xbd\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\n");
    json_decref(json);
    json = ath_json_lines(NULL);
    ck_assert(json_is_null(json));
    json_decref(json);
}

LOOP_TEST(ascii_style_prints_only_ascii, 0, ATH_COUNT(made))
{
    const struct ath_style ascii = { .columns = 80 };
    ATH_AUTO(ath_machine) machine = { 0 };

    ck_assert_ptr_nonnull(setlocale(LC_ALL, "C"));
    made[_i].make(&machine);
    ath_auto_free char *text = shown(&machine, ATH_FORMAT_TEXT, &ascii);
    for (const char *c = text; *c; c++)
        ck_assert_msg((unsigned char)*c < 0x7f, "not ASCII: %s", c);
    ck_assert_int_eq(set_locale(), 0); /* for the next test, if the tests do not fork */
}

TEST(colour_only_in_coloured_text)
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

static void fill_table(struct ath_table *table)
{
    struct ath_table_cell *row = ath_table_add_row(table);
    row[0].text = ath_xstrdup("NUMA0");
    row[1].text = ath_xstrdup("a\033b");
    row = ath_table_add_row(table);
    row[0].text = ath_xstrdup("NUMA252");
    row[2].text = ath_xstrdup("last");
}

TEST(tables_are_aligned_and_clean)
{
    static const char *const titles[] = { "Node", "State", "Since" };
    static const char table_text[] = "Node     State  Since\n"
                                     "NUMA0    a\xef\xbf\xbd"
                                     "b    -\n"
                                     "NUMA252  -      last\n";
    static const char blocks_text[] = "NUMA0\n"
                                      "  State  a\xef\xbf\xbd"
                                      "b\n"
                                      "NUMA252\n"
                                      "  Since  last\n";
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = ATH_COUNT(titles) };
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(memory);
    fill_table(&table);
    ck_assert_uint_eq(ath_table_width(&table, &plain), strlen("NUMA252  State  Since"));
    ath_table_print(&table, &plain, memory);
    fflush(memory);
    ck_assert_str_eq(text, table_text);
    ath_table_print_blocks(&table, &plain, memory);
    fclose(memory);
    ck_assert_str_eq(text + strlen(table_text), blocks_text);
    free(text);
}

TEST(durations_have_at_most_two_units)
{
    static const struct {
        int64_t seconds;
        const char *words;
    } cases[] = { { 0, "0 s" },        { 59, "59 s" },        { 60, "1 min" },
                  { 3599, "59 min" },  { 3660, "1 h 1 min" }, { 86399, "23 h 59 min" },
                  { 90000, "1 d 1 h" } };

    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ath_auto_free char *words = ath_words_duration(cases[i].seconds);
        ck_assert_str_eq(words, cases[i].words);
    }
}

TEST(errors_have_code_message_and_hint)
{
    struct ath_err err = { 0 };

    ath_err_set(&err, -EINVAL, ATH_E_USAGE, "wrong");
    json_t *json = ath_fields_to_json(ath_error_fields, &err);
    ck_assert_str_eq(json_string_value(json_object_get(json, "code")), "usage");
    ck_assert_str_eq(json_string_value(json_object_get(json, "message")), "wrong");
    ck_assert(json_is_null(json_object_get(json, "hint")));
    json_decref(json);
}

LOOP_TEST(a_full_disk_is_an_error, 0, ATH_FORMAT_COUNT)
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

TEST(a_closed_pipe_is_an_error)
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

static void nothing_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    (void)data;
    fputs("nothing\n", out);
}

TEST(a_view_without_pictures_refuses_svg)
{
    static const struct ath_field fields[] = { { .name = NULL } };
    static const struct ath_view view = { .schema = "aitherion.nothing/1",
                                          .fields = fields,
                                          .to_text = nothing_to_text };
    struct ath_err err = { 0 };

    ck_assert_int_eq(ath_output(&view, NULL, ATH_FORMAT_SVG, &plain, stdout, &err), -EINVAL);
    ck_assert_str_eq(ath_error_word(err.code), "usage");
    check_has(err.message, "'svg'");
}

LOOP_TEST(formats_have_different_words, 0, ATH_FORMAT_COUNT)
{
    const char *word = ath_format_word((enum ath_format)_i);

    ck_assert_str_ne(word, "");
    for (int i = 0; i < _i; i++)
        ck_assert_str_ne(ath_format_word((enum ath_format)i), word);
}

/* ---- lines of logs ---- */

static void take_line(void *context, const char *line)
{
    ath_text_add(context, "<%s>", line);
}

TEST(splits_logs_into_lines)
{
    static const char bytes[] = "one\r\ntwo\tparts\n\nno\rend\0ing";
    ATH_AUTO(ath_text) taken = { 0 };
    ATH_AUTO(ath_log_lines) lines = { 0 };

    for (size_t i = 0; i < sizeof bytes - 1; i++) /* each byte in a piece of its own */
        ath_log_lines_add(&lines, bytes + i, 1, take_line, &taken);
    ck_assert_str_eq(taken.data, "<one><two parts><>");
    ath_log_lines_add(&lines, NULL, 0, take_line, &taken);
    ck_assert_str_eq(taken.data, "<one><two parts><><no\rend\1ing>");
    ath_log_lines_add(&lines, NULL, 0, take_line, &taken); /* there is no line left */
    ck_assert_str_eq(taken.data, "<one><two parts><><no\rend\1ing>");
}

/* The lines, in which the digits behind "time=" are a time, that a log shows when it is followed
 * over a restart after the first `shown`. */
static char *shown_again(const char *const *log, size_t count, size_t shown)
{
    struct ath_log_seen seen = { 0 };
    ATH_AUTO(ath_text) out = { 0 };

    for (size_t i = 0; i < shown; i++) {
        ck_assert(!ath_log_seen_knows(&seen, log[i]));
        ath_log_seen_note(&seen, log[i]);
    }
    ath_log_seen_resume(&seen);
    ath_text_add(&out, "%s", "");
    for (size_t i = 0; i < count; i++)
        if (!ath_log_seen_knows(&seen, log[i])) {
            ath_log_seen_note(&seen, log[i]);
            ath_text_add(&out, "<%s>", strrchr(log[i], ' ') + 1);
        }
    return ath_text_take(&out);
}

#define AT(ms) "time=2026-11-21T03:44:27." #ms "Z level=info "

TEST(a_log_goes_on_behind_the_last_line_that_was_shown)
{
    static const char *const log[] = { AT(120) "a", AT(121) "b", "of b", AT(121) "c",
                                       AT(121) "d", AT(122) "e", "of e" };
    static const char *const rest[] = { "<a><b><b><c><d><e><e>",
                                        "<b><b><c><d><e><e>",
                                        "<b><c><d><e><e>",
                                        "<c><d><e><e>",
                                        "<d><e><e>",
                                        "<e><e>",
                                        "<e>",
                                        "" };
    for (size_t shown = 0; shown <= ATH_COUNT(log); shown++) {
        ath_auto_free char *again = shown_again(log, ATH_COUNT(log), shown);
        ck_assert_str_eq(again, rest[shown]);
    }
}

TEST(a_log_whose_beginning_is_gone_goes_on_with_the_next_line)
{
    static const char *const before[] = { AT(120) "a" }, *const after[] = { AT(121) "b" };
    struct ath_log_seen seen = { 0 };

    ath_log_seen_note(&seen, before[0]);
    ath_log_seen_resume(&seen);
    ck_assert(!ath_log_seen_knows(&seen, after[0]));
}

static void count_line(void *context, const char *line)
{
    size_t *lengths = context;
    lengths[0]++;
    lengths[lengths[0]] = strlen(line);
}

TEST(cuts_long_lines_of_logs)
{
    enum { LONGEST = 64 << 10 };
    ATH_AUTO(ath_log_lines) lines = { 0 };
    ath_auto_free char *text = ath_xalloc(LONGEST + 2);
    size_t lengths[4] = { 0 }; /* how many, and each */

    memset(text, 'x', LONGEST + 1);
    text[LONGEST] = '\n';
    ath_log_lines_add(&lines, text, LONGEST + 1, count_line, lengths);
    ck_assert_uint_eq(lengths[0], 1);
    ck_assert_uint_eq(lengths[1], LONGEST);
    text[LONGEST] = 'x';
    text[LONGEST + 1] = '\n';
    ath_log_lines_add(&lines, text, LONGEST + 2, count_line, lengths);
    ck_assert_uint_eq(lengths[0], 3);
    ck_assert_uint_eq(lengths[2], LONGEST);
    ck_assert_uint_eq(lengths[3], 1);
}
