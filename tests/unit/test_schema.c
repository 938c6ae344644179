/* The table of keys follows its own rules, and texts written as YAML read back. */
#include "config.h"

#include <locale.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "config/forms.h"
#include "config/write.h"
#include "documents.h"
#include "unit.h"

TEST(reads_amounts_of_memory)
{
    static const struct {
        const char *text;
        int64_t bytes;
        double percent;
    } good[] = {
        { "0", 0, 0 },
        { "1024", 1024, 0 },
        { "3K", 3 << 10, 0 },
        { "512M", 512 << 20, 0 },
        { "4G", INT64_C(4) << 30, 0 },
        { "2T", INT64_C(2) << 40, 0 },
        { "9223372036854775807", INT64_MAX, 0 },
        { "50%", ATH_UNSET, 50 },
        { "0.5%", ATH_UNSET, 0.5 },
        { "100%", ATH_UNSET, 100 },
    };
    static const char *const bad[] = { "",
                                       "G",
                                       "%",
                                       "0%",
                                       "101%",
                                       "-1",
                                       "4g",
                                       "4 G",
                                       "4GB",
                                       "1.5G",
                                       "8388608T",
                                       "4G\n",
                                       "9223372036854775808" };
    for (size_t i = 0; i < ATH_COUNT(good); i++) {
        int64_t bytes = 7;
        double percent = 7;
        ck_assert_msg(!ath_form_memory(good[i].text, &bytes, &percent), "%s", good[i].text);
        ck_assert_int_eq(bytes, good[i].bytes);
        ck_assert_double_eq(percent, good[i].percent);
    }
    for (size_t i = 0; i < ATH_COUNT(bad); i++)
        ck_assert_msg(!ath_form_fits(ATH_FORM_MEMORY, bad[i]), "%s", bad[i]);
}

TEST(places_to_listen_at)
{
    static const struct {
        const char *text, *address;
        int port;
    } good[] = {
        { "1", "", 1 },
        { "65535", "", 65535 },
        { "10.0.0.1:9400", "10.0.0.1", 9400 },
        { "[::]:9400", "::", 9400 },
        { "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:9", /* the longest one */
          "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", 9 },
    };
    static const char *const bad[] = {
        "",        "0",          "65536",           "9400\n",        "10.0.0.1",
        ":9400",   "host:9400",  "10.0.0.1:",       "10.0.0.1:0",    "::1:9400",
        "[]:9400", "[::1]9400",  "[10.0.0.1]:9400", "[::1:9400",     "10.0.0.1 :9400",
        "-1",      "10.0.0.1:x", "[::1]:9400 ",     "10.0.0.1:94000"
    };
    char address[ATH_FORM_ADDRESS_BYTES];
    int port;
    for (size_t i = 0; i < ATH_COUNT(good); i++) {
        ck_assert_msg(!ath_form_listen(good[i].text, address, &port), "%s", good[i].text);
        ck_assert_str_eq(address, good[i].address);
        ck_assert_int_eq(port, good[i].port);
    }
    for (size_t i = 0; i < ATH_COUNT(bad); i++)
        ck_assert_msg(!ath_form_fits(ATH_FORM_LISTEN, bad[i]), "%s", bad[i]);
}

static void check_row(const struct ath_schema *key)
{
    ath_auto_free char *allowed = ath_schema_allowed(key);
    bool is_number = key->kind == ATH_VALUE_INTEGER || key->kind == ATH_VALUE_NUMBER ||
                     key->kind == ATH_VALUE_IDS;

    ck_assert_msg(key->help && *key->help, "%s has no help", key->name);
    ck_assert_msg(*allowed, "%s", key->name);
    ck_assert_msg(!is_number || key->max > key->min, "%s has no range", key->name);
    ck_assert_msg(!key->fallback || !ath_schema_check(key, key->fallback),
                  "the default of %s is not allowed", key->name);
    ck_assert_msg(!key->is_required || !key->fallback,
                  "%s is required, so its default has no effect", key->name);
    ck_assert_msg((key->kind >= ATH_VALUE_MAPPING) == (key->keys != NULL), "%s", key->name);
    ck_assert_msg((key->kind == ATH_VALUE_CHOICE) == (key->choices != NULL), "%s", key->name);
    ck_assert_msg(!key->keys || key->title, "%s has no title", key->name);
    if (key->kind == ATH_VALUE_ITEMS) {
        const struct ath_schema *name = ath_schema_find(key, key->name_key);
        ck_assert_msg(name && name->is_required && key->item_size, "%s", key->name);
        /* The writer puts the dash before the first key, so that key must always have a value. */
        ck_assert_ptr_eq(name, key->keys);
    }
}

static size_t check_rows(const struct ath_schema *mapping)
{
    size_t count = 0;
    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        check_row(key);
        for (const struct ath_schema *other = mapping->keys; other != key; other++)
            ck_assert_str_ne(other->name, key->name);
        count += 1 + (key->keys ? check_rows(key) : 0);
    }
    return count;
}

static void check_number(const struct ath_schema *key, double number, bool is_good)
{
    bool is_whole = key->kind == ATH_VALUE_INTEGER;
    ath_auto_free char *text =
        is_whole ? ath_xasprintf("%.0f", number) : ath_xasprintf("%.3f", number);
    ck_assert_msg(!ath_schema_check(key, text) == is_good, "%s: %s", key->name, text);
}

/* Numbers from the smallest to the largest that a key allows are good, and no others. */
static size_t check_ranges(const struct ath_schema *mapping)
{
    size_t count = 0;
    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        double step = key->kind == ATH_VALUE_INTEGER ? 1 : 0.001;
        if (key->keys)
            count += check_ranges(key);
        if (key->kind != ATH_VALUE_INTEGER && key->kind != ATH_VALUE_NUMBER)
            continue;
        count++;
        check_number(key, key->max, true);
        check_number(key, key->max + step, false);
        check_number(key, key->max - step, true);
        check_number(key, key->min - step, false);
        check_number(key, key->min + step, true);
        /* A share of nothing is none. */
        check_number(key, key->min, key->kind == ATH_VALUE_INTEGER);
    }
    return count;
}

TEST(numbers_have_exact_limits)
{
    ck_assert_uint_ge(check_ranges(ath_schema_root()), 8);
}

TEST(the_table_follows_its_rules)
{
    ck_assert_uint_gt(check_rows(ath_schema_root()), 30);
    for (int form = 0; form < ATH_FORM_COUNT; form++) {
        ck_assert(*ath_form_allowed((enum ath_form)form));
        ck_assert(*ath_form_allowed_list((enum ath_form)form));
    }
    for (int code = ATH_FAULT_NONE + 1; code < ATH_FAULT_COUNT; code++) {
        ck_assert(*ath_fault_word((enum ath_fault_code)code));
        ck_assert(*ath_fault_meaning((enum ath_fault_code)code));
    }
}

static const char *const texts[] = {
    "plain",
    "",
    " blank ",
    "a: b",
    "a #b",
    "#a",
    "- a",
    "-",
    "---",
    "...",
    "? a",
    "[a",
    "{a",
    "a]",
    "a,b",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a",
    "'",
    "\"",
    "it's",
    "say \"x\"",
    "back\\slash",
    "yes",
    "No",
    "on",
    "y",
    "true",
    "TRUE",
    "null",
    "~",
    "1",
    "1.5",
    "-1",
    "+1",
    ".5",
    "1e5",
    "0x1f",
    "0o7",
    "017",
    "1_000",
    "12:30:45",
    "0004:04:00.0",
    "2001-01-01",
    ".inf",
    ".nan",
    "=",
    "<<",
    "a\tb",
    "a\nb",
    "a\n",
    "\x01\x1b[2J",
    "é节",
    "\xc2\x85",
    "\xe2\x80\xa8",
    "\xef\xbb\xbfx",
    "\xc2\xa0x",
    "10.0.0.1/24",
    "unix:///a.sock",
    "a:",
    ":a",
};

/* In a block, in brackets and in braces, in every style. */
LOOP_TEST(any_text_written_reads_back, 0, ATH_COUNT(texts))
{
    static const char *const frames[] = { "x: %s\n", "x: [%s]\n", "x: { k: %s }\n", "x: [%s, b]" };
    for (size_t i = 0; i < 3 * ATH_COUNT(frames); i++) {
        ATH_AUTO(ath_text) value = { 0 };
        ATH_AUTO(ath_text) whole = { 0 };
        ATH_AUTO(ath_yaml) tree = { 0 };
        ATH_AUTO(ath_faults) faults = { 0 };
        ath_yaml_write(&value, texts[_i], (enum ath_yaml_style)(i % 3));
        ath_text_add(&whole, frames[i / 3], value.data);
        ck_assert_msg(ath_yaml_parse(whole.data, whole.length, &tree, &faults), "%s", whole.data);
        const struct ath_yaml *found = &tree.children[0];
        found = found->kind == ATH_YAML_SCALAR ? found : &found->children[0];
        ck_assert_str_eq(found->text, texts[_i]);
        ck_assert_msg(ath_yaml_type_of(found) == ATH_YAML_TEXT, "%s", whole.data);
    }
}

TEST(numbers_are_short_and_have_a_point)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = { { 80, "80" },       { 0.8, "0.8" },
                  { 99.99, "99.99" }, { 0.1 + 0.2, "0.30000000000000004" },
                  { 1e-3, "0.001" },  { 16777216, "16777216" },
                  { 0, "0" } };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ath_auto_free char *text = ath_number_text(cases[i].number);
        ck_assert_str_eq(text, cases[i].text);
    }
}

/* A document made of structs, with a value in every field, reads back the same. */
TEST(a_written_document_reads_back)
{
    size_t length;
    ath_auto_free char *profile = read_source("etc/ac922_topology.yaml", &length);
    ATH_AUTO(ath_document) first = { 0 };
    ATH_AUTO(ath_document) second = { 0 };
    parse_good(profile, &first);
    free(first.roce.cards.items[0].description);
    first.roce.cards.items[0].description = ath_xstrdup("a: \"b\" # c");

    ath_auto_free char *text = ath_document_write(&first, "# top\n");
    parse_good(text, &second);
    ath_auto_free char *again = ath_document_write(&second, "# top\n");
    ck_assert_str_eq(text, again);
    ck_assert_str_eq(second.roce.cards.items[0].description, "a: \"b\" # c");
    ck_assert_str_eq(second.roce.macvlans.items[1].address, "192.168.101.10/24");
}

TEST(finds_only_whole_texts)
{
    ATH_AUTO(ath_texts) devices = { 0 };
    ck_assert(!ath_texts_has(&devices, "mlx5_0"));
    ath_texts_add(&devices, "mlx5_0");
    ath_texts_add(&devices, "mlx5_10");

    ck_assert(ath_texts_has(&devices, "mlx5_0"));
    ck_assert(ath_texts_has(&devices, "mlx5_10"));
    ck_assert(!ath_texts_has(&devices, "mlx5_1"));
    ck_assert(!ath_texts_has(&devices, "mlx5_100"));
    ck_assert(!ath_texts_has(&devices, ""));
    ck_assert(!ath_texts_has(&devices, NULL));
}
