/* A change by key changes exactly that value. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/edit.h"
#include "config/key.h"
#include "documents.h"
#include "unit.h"

/* Sets a value and expects success; the caller frees the text. */
static char *set(const char *text, const char *key, const char *value)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(text, &document);
    int status = ath_document_set(&document, key, value, &err);
    ck_assert_msg(!status, "%s=%s: %s", key, value, err.message);
    return ath_steal(&document.text);
}

static void expect_set(const char *text, const char *key, const char *value, const char *expected)
{
    ath_auto_free char *found = set(text, key, value);
    ck_assert_msg(!strcmp(found, expected), "%s=%s gives:\n%s\ninstead of:\n%s", key, value, found,
                  expected);
}

#define BLOCK_HEAD "# top\nschema: aitherion.topology/1   # version\n\n"
#define BLOCK_REST "    node: 0\n    control_port: 50051\n    data_port: 5555 # data\n# end\n"

TEST(block_style_keeps_comments_and_order)
{
    const char *text = BLOCK_HEAD "numa:\n  # the first\n  - id: 0\n"
                                  "    memory_percent:   80.0    # of the node\n" BLOCK_REST;
    expect_set(text, "numa.0.memory_percent", "70",
               BLOCK_HEAD "numa:\n  # the first\n  - id: 0\n"
                          "    memory_percent:   70    # of the node\n" BLOCK_REST);
    expect_set(text, "numa.0.id", "12",
               BLOCK_HEAD "numa:\n  # the first\n  - id: 12\n"
                          "    memory_percent:   80.0    # of the node\n" BLOCK_REST);
}

TEST(a_missing_key_is_added_beside_its_siblings)
{
    const char *text = BLOCK_HEAD "numa:\n  - id: 0\n" BLOCK_REST;
    expect_set(text, "numa.0.vram_fraction", ".5",
               BLOCK_HEAD "numa:\n  - id: 0\n    node: 0\n    control_port: 50051\n"
                          "    data_port: 5555 # data\n    vram_fraction: 0.5\n# end\n");
    expect_set(text, "engine.kind", "process",
               BLOCK_HEAD "numa:\n  - id: 0\n    node: 0\n    control_port: 50051\n"
                          "    data_port: 5555 # data\nengine: { kind: process }\n# end\n");
    expect_set(text, "numa.0.gpus", "0004:04:00.0,4:5:0.0",
               BLOCK_HEAD
               "numa:\n  - id: 0\n    node: 0\n    control_port: 50051\n"
               "    data_port: 5555 # data\n    gpus: [\"0004:04:00.0\", \"4:5:0.0\"]\n# end\n");
}

TEST(flow_style_stays_in_its_braces)
{
    expect_set(MINIMAL "engine: {}\n", "engine.sim", "true", MINIMAL "engine: { sim: true }\n");
    expect_set(MINIMAL "engine: {kind: auto} # e\n", "engine.sim", "true",
               MINIMAL "engine: {kind: auto, sim: true} # e\n");
    expect_set(MINIMAL "engine: {kind: auto, }\n", "engine.kind", "docker",
               MINIMAL "engine: {kind: docker, }\n");
    expect_set(MINIMAL "engine: {\n  kind: auto,  # which\n}\n", "engine.sim", "true",
               MINIMAL "engine: {\n  kind: auto, sim: true,  # which\n}\n");
    expect_set(
        "{\"schema\":\"aitherion.topology/1\",\"numa\":[],\"engine\":{\"kind\":\"auto\"}}",
        "engine.kind", "docker",
        "{\"schema\":\"aitherion.topology/1\",\"numa\":[],\"engine\":{\"kind\":\"docker\"}}");
    expect_set("{\"schema\":\"aitherion.topology/1\",\"numa\":[],\"engine\":{\"sim\":true}}",
               "engine.sim", "false",
               "{\"schema\":\"aitherion.topology/1\",\"numa\":[],\"engine\":{\"sim\": false}}");
}

TEST(keys_without_a_value_get_one)
{
    expect_set(MINIMAL "key_file:\n", "key_file", "/k", MINIMAL "key_file: /k\n");
    expect_set(MINIMAL "key_file:   # none\n", "key_file", "/k", MINIMAL "key_file: /k   # none\n");
    expect_set(MINIMAL "key_file: ~ # none\n", "key_file", "/k", MINIMAL "key_file: /k # none\n");
    expect_set(MINIMAL "engine:\nnode:\n", "engine.kind", "docker",
               MINIMAL "engine: { kind: docker }\nnode:\n");
    expect_set(MINIMAL "engine: {kind: }\n", "engine.kind", "docker",
               MINIMAL "engine: {kind: docker}\n");
}

TEST(optional_values_can_be_removed)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(MINIMAL "node: { name: a, profile: b }\n", &document);
    ck_assert_int_eq(ath_document_set(&document, "node.name", "null", &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "node.profile", "null", &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "key_file", "null", &err), 0);
    ck_assert_str_eq(document.text, MINIMAL "node: { profile: null }\n");
    ck_assert_ptr_null(document.node.name);
    ck_assert_int_lt(ath_document_set(&document, "numa.0.node", "null", &err), 0);
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
    /* The line goes too, unless it holds anything else. */
    expect_set(MINIMAL "node:\n  # ours\n  name: a\n  profile: b\n", "node.name", "null",
               MINIMAL "node:\n  # ours\n  profile: b\n");
    expect_set(MINIMAL "node:\n  profile: b\n  name: a", "node.name", "null",
               MINIMAL "node:\n  profile: b\n");
    expect_set(MINIMAL "node:\n  name: a # mine\n  profile: b\n", "node.name", "null",
               MINIMAL "node:\n  name: null # mine\n  profile: b\n");
    expect_set(MINIMAL "node: {profile: b, name: a}\n", "node.name", "null",
               MINIMAL "node: {profile: b}\n");
    expect_set(MINIMAL "roce:\n  macvlans:\n  - mtu: 1500\n    name: a\n    parent: b\n",
               "roce.macvlans.a.mtu", "null",
               MINIMAL "roce:\n  macvlans:\n  - mtu: null\n    name: a\n    parent: b\n");
    expect_set(MINIMAL "roce:\n  macvlans:\n  - name: a\n    parent: b\n    mtu: 1500\n",
               "roce.macvlans.a.mtu", "null",
               MINIMAL "roce:\n  macvlans:\n  - name: a\n    parent: b\n");
}

TEST(line_ends_are_kept)
{
    expect_set("schema: aitherion.topology/1\r\nnuma: []\r\nnode:\r\n  name: a\r\n# end\r\n",
               "node.profile", "x",
               "schema: aitherion.topology/1\r\nnuma: []\r\nnode:\r\n  name: a\r\n  profile: "
               "x\r\n# end\r\n");
    expect_set("schema: aitherion.topology/1\nnuma: []\nnode:\n  name: a", "node.profile", "x",
               "schema: aitherion.topology/1\nnuma: []\nnode:\n  name: a\n  profile: x");
    expect_set("schema: aitherion.topology/1\nnuma: []\nkey_file: /a", "key_file", "/b",
               "schema: aitherion.topology/1\nnuma: []\nkey_file: /b");
    expect_set("schema: aitherion.topology/1\rnuma: []\rnode:\r  name: a\r", "node.profile", "x",
               "schema: aitherion.topology/1\rnuma: []\rnode:\r  name: a\r  profile: x\r");
    expect_set("\xef\xbb\xbfnuma: []\nschema: aitherion.topology/1\n", "key_file", "/k",
               "\xef\xbb\xbfnuma: []\nschema: aitherion.topology/1\nkey_file: /k\n");
    expect_set("numa: []\nschema: aitherion.topology/1\n...\n", "key_file", "/k",
               "numa: []\nschema: aitherion.topology/1\nkey_file: /k\n...\n");
}

TEST(tabs_and_wide_characters_do_not_shift_the_place)
{
    expect_set("# 节点\nschema:\taitherion.topology/1\t# 版本\nnuma: []\n"
               "roce: { cards: [ { description: \"网卡\",\tpci: \"3:1:0.0\", numa: [] } ] } # é\n",
               "roce.cards.0003:01:00.0.pci", "0033:01:00.0",
               "# 节点\nschema:\taitherion.topology/1\t# 版本\nnuma: []\n"
               "roce: { cards: [ { description: \"网卡\",\tpci: \"0033:01:00.0\", numa: [] } ] } # "
               "é\n");
    expect_set("schema: aitherion.topology/1\nnuma: []\n"
               "roce: { cards: [ { description: \"网卡\", pci: \"3:1:0.0\" } ] }\n",
               "roce.cards.3:1:0.0.description", "a \"b\" \\ 卡",
               "schema: aitherion.topology/1\nnuma: []\n"
               "roce: { cards: [ { description: \"a \\\"b\\\" \\\\ 卡\", pci: \"3:1:0.0\" } ] }\n");
}

/* Every kind of key, by every kind of path. */
static const struct {
    const char *key, *value, *read_back;
} settings[] = {
    { "node.name", "host-1", "host-1" },
    { "node.name", "123", "123" },
    { "node.name", "true", "true" },
    { "node.name", "no", "no" },
    { "node.profile", "ac922", "ac922" },
    { "engine.kind", "process", "process" },
    { "engine.sim", "True", "true" },
    { "engine.docker_host", "tcp://10.0.0.1:2375", "tcp://10.0.0.1:2375" },
    { "engine.image", "registry:5000/a/b@sha256:0123", "registry:5000/a/b@sha256:0123" },
    { "key_file", "/etc/a key # 'with' \"all\": {signs}", "/etc/a key # 'with' \"all\": {signs}" },
    { "numa.0.node", "254", "254" },
    { "numa.1.memory_nodes", "[8, 252,253 ]", "[8, 252, 253]" },
    { "numa.1.memory_nodes", "253,8", "[8, 253]" },
    { "numa.0.memory_percent", "99.5", "99.5" },
    { "numa.0.memory_percent", "1e1", "10" },
    { "numa.0.vram_fraction", "1", "1" },
    { "numa.0.control_iface", "enP5p1s0f0", "enP5p1s0f0" },
    { "numa.0.data_iface", "eth0.100", "[eth0.100]" },
    { "numa.0.data_iface", "eth0,eth1", "[eth0, eth1]" },
    { "numa.0.data_iface", "null", "[]" },
    { "numa.0.gpus", "[\"4:4:0.0\",'0004:05:00.0']", "[\"0004:04:00.0\", \"0004:05:00.0\"]" },
    { "numa.0.gpus", "", "[]" },
    { "numa.0.gpus", "[]", "[]" },
    { "numa.0.gpus", "null", "[]" },
    { "numa.0.rdma_devices", "mlx5_0", "[mlx5_0]" },
    { "numa.1.control_port", "65535", "65535" },
    { "roce.cards.0003:01:00.0.description", "it's: a #card", "it's: a #card" },
    { "roce.cards.3:1:0.0.numa", "0", "[0]" },
    { "roce.macvlans.mac.vlan.mtu", "9000", "9000" },
    { "roce.macvlans.mac.vlan.mode", "vepa", "vepa" },
    { "roce.macvlans.mac.vlan.address", "10.1.2.3/8", "10.1.2.3/8" },
    { "roce.macvlans.mac.vlan.numa", "1", "1" },
    { "roce.macvlans.mac.mtu", "1500", "1500" },
    { "schema", "aitherion.topology/1", "aitherion.topology/1" },
};

#define FULL                                                                                       \
    MINIMAL "roce:\n  cards: [ { pci: 0003:01:00.0 } ]\n  macvlans:\n"                             \
            "  - { name: mac, parent: e0 }\n  - name: mac.vlan\n    parent: e1\n"

LOOP_TEST(every_key_can_be_set_and_read, 0, ATH_COUNT(settings))
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(FULL, &document);
    int status = ath_document_set(&document, settings[_i].key, settings[_i].value, &err);
    ck_assert_msg(!status, "%s=%s: %s", settings[_i].key, settings[_i].value, err.message);

    ATH_AUTO(ath_document) again = { 0 };
    parse_good(document.text, &again);
    ath_auto_free char *value = NULL;
    ck_assert_int_eq(ath_document_get(&again, settings[_i].key, &value, &err), 0);
    ck_assert_str_eq(value, settings[_i].read_back);
}

/* A name without brackets stays one if the new list has one name. */
LOOP_TEST(a_list_of_one_keeps_its_form, 0, 6)
{
    static const struct {
        const char *before, *value, *after;
    } cases[] = {
        { "eth0", "eth1", "eth1" },     { "'eth0'", "[eth1]", "'eth1'" },
        { "[eth0]", "eth1", "[eth1]" }, { "eth0", "eth0,eth1", "[eth0, eth1]" },
        { "eth0", "[]", "[]" },         { "[eth0, eth1]", "eth1", "[eth1]" },
    };
    static const char form[] = "schema: aitherion.topology/1\nnuma:\n  - id: 0\n    node: 0\n"
                               "    control_port: 1\n    data_port: 2\n"
                               "    data_iface: %s # fast\n";
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    ath_auto_free char *before = ath_xasprintf(form, cases[_i].before);
    ath_auto_free char *after = ath_xasprintf(form, cases[_i].after);
    parse_good(before, &document);
    int status = ath_document_set(&document, "numa.0.data_iface", cases[_i].value, &err);
    ck_assert_msg(!status, "%s", err.message);
    ck_assert_str_eq(document.text, after);
}

static const struct {
    const char *key, *value;
    enum ath_error code;
    const char *message;
} refused[] = {
    { "numa.0.memory_percent", "170", ATH_E_VALUE_INVALID,
      "'numa.0.memory_percent' must be a number above 0, at most 100, not '170'" },
    { "numa.0.memory_percent", "", ATH_E_VALUE_INVALID, "" },
    { "numa.0.memory_percent", "70 # x", ATH_E_VALUE_INVALID, "" },
    { "numa.0.id", " 5", ATH_E_VALUE_INVALID, "" },
    { "numa.0.id", "0x5", ATH_E_VALUE_INVALID, "" },
    { "engine.kind", "dokcer", ATH_E_VALUE_INVALID,
      "'engine.kind' must be auto, docker or process, not 'dokcer'" },
    { "engine.sim", "yes", ATH_E_VALUE_INVALID, "'engine.sim' must be true or false, not 'yes'" },
    { "numa.0.data_iface", "a/b", ATH_E_VALUE_INVALID, "" },
    { "numa.0.data_iface", "a\nb", ATH_E_VALUE_INVALID, "" },
    { "numa.0.data_iface", "a,b,c,d,e,f,g,h,i", ATH_E_VALUE_INVALID,
      "cannot set 'numa.0.data_iface' to 'a,b,c,d,e,f,g,h,i': 'numa.0.data_iface' must be at most "
      "8 interfaces, not 9" },
    { "key_file", "/a\nx: y", ATH_E_VALUE_INVALID, "" },
    { "numa.0.gpus", "[0004:04:00.0", ATH_E_VALUE_INVALID, "" },
    { "numa.0.gpus", "0004:04:00.0,,", ATH_E_VALUE_INVALID, "" },
    { "numa.0.gpus", "GPU0", ATH_E_VALUE_INVALID,
      "'numa.0.gpus' must be a list of PCI addresses such as [\"0004:04:00.0\"], not 'GPU0'" },
    { "numa.0.gpus", "4:4:0.0,0004:04:00.0", ATH_E_VALUE_INVALID,
      "cannot set 'numa.0.gpus' to '4:4:0.0,0004:04:00.0': '0004:04:00.0' is in this list twice" },
    { "numa.0.control_port", "50052", ATH_E_VALUE_INVALID,
      "cannot set 'numa.0.control_port' to '50052': two services want the port 50052: "
      "'numa.0.control_port' "
      "and 'numa.1.control_port'" },
    { "numa.0.id", "1", ATH_E_VALUE_INVALID,
      "cannot set 'numa.0.id' to '1': another entry above has the id 1" },
    { "roce.cards.0003:01:00.0.numa", "[5]", ATH_E_VALUE_INVALID, "" },
    { "roce.cards", "[]", ATH_E_VALUE_INVALID, "" },
    { "roce", "null", ATH_E_VALUE_INVALID, "" },
    { "numa.0", "x", ATH_E_VALUE_INVALID, "" },
    { "schema", "aitherion.topology/2", ATH_E_VALUE_INVALID, "" },
    { "numa.0.memory_percnt", "70", ATH_E_KEY_UNKNOWN,
      "the document has no key 'numa.0.memory_percnt'; did you mean 'numa.0.memory_percent'?" },
    { "numa.2.node", "70", ATH_E_KEY_UNKNOWN, "" },
    { "nmua.0.node", "70", ATH_E_KEY_UNKNOWN,
      "the document has no key 'nmua.0.node'; did you mean 'numa'?" },
    { "numa.0.node.x", "70", ATH_E_KEY_UNKNOWN, "" },
    { "numa.0.", "70", ATH_E_KEY_UNKNOWN, "" },
    { "numa..node", "70", ATH_E_KEY_UNKNOWN, "" },
    { "", "70", ATH_E_KEY_UNKNOWN, "" },
    { ".", "70", ATH_E_KEY_UNKNOWN, "" },
    { "roce.cards.0003:01:00.1.numa", "0", ATH_E_KEY_UNKNOWN,
      "the document has no key 'roce.cards.0003:01:00.1.numa'; did you mean "
      "'roce.cards.0003:01:00.0'?" },
    { "roce.macvlans.macvlan.mtu", "9000", ATH_E_KEY_UNKNOWN, "" },
};

LOOP_TEST(invalid_changes_are_refused_and_change_nothing, 0, ATH_COUNT(refused))
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(FULL, &document);
    ck_assert_int_lt(ath_document_set(&document, refused[_i].key, refused[_i].value, &err), 0);
    ck_assert_msg(err.code == refused[_i].code, "%s: %s", ath_error_word(err.code), err.message);
    if (*refused[_i].message)
        ck_assert_str_eq(err.message, refused[_i].message);
    ck_assert_str_eq(document.text, FULL);
    ck_assert_int_eq(document.numa.items[1].control_port, 50052);
}

TEST(changes_are_made_together)
{
    static const struct ath_change swap[] = { { "numa.0.control_port", "50052" },
                                              { "numa.1.control_port", "50051" } };
    static const struct ath_change half[] = { { "numa.0.node", "3" }, { "numa.0.nod", "4" } };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(MINIMAL, &document);

    ck_assert_int_eq(ath_document_set_all(&document, swap, 2, &err), 0);
    ck_assert_int_eq(ath_document_numa(&document, 0)->control_port, 50052);
    ck_assert_int_eq(ath_document_numa(&document, 1)->control_port, 50051);
    ck_assert_int_eq(ath_document_set_all(&document, half, 2, &err), -ENOENT);
    ck_assert_int_eq(ath_document_numa(&document, 0)->node, 0);
}

/* A document with faults in values, as ath_document_load_faulty() gives it; the file is removed. */
static void load_faulty(const char *text, struct ath_document *out)
{
    char path[] = "/tmp/ath-test-XXXXXX";
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    ck_assert_int_eq(ath_document_load(path, out, &faults, &err), -EINVAL);
    ck_assert_int_eq(ath_document_load_faulty(path, out, &faults, &err), 0);
    unlink(path);
}

#define FAULTY                                                                                     \
    "schema: aitherion.topology/1\n"                                                               \
    "numa:\n"                                                                                      \
    "  - { id: 0, node: no, control_port: 50051, data_port: 5555 } # stays\n"                      \
    "  - { id: 1, node: 8, memory_nodes: [8, x], control_port: 0, data_port: 5556 }\n"

TEST(faulty_values_are_repaired_together)
{
    static const struct ath_change some[] = { { "numa.0.node", "0" },
                                              { "numa.1.memory_nodes", "[8]" } };
    static const struct ath_change all[] = { { "numa.0.node", "0" },
                                             { "numa.1.memory_nodes", "[8]" },
                                             { "numa.1.control_port", "50052" } };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    load_faulty(FAULTY, &document);

    for (size_t i = 0; i < ATH_COUNT(all); i++) {
        static const char *const before[] = { "no", "[8, x]", "0" };
        ath_auto_free char *value = NULL;
        ck_assert_int_eq(ath_document_get(&document, all[i].key, &value, &err), 0);
        ck_assert_str_eq(value, before[i]);
    }
    ck_assert_int_eq(ath_document_set_all(&document, some, ATH_COUNT(some), &err), -EINVAL);
    ck_assert_msg(strstr(err.message, "'numa.1.control_port' must be"), "%s", err.message);
    ck_assert_str_eq(document.text, FAULTY);
    ck_assert_int_eq(ath_document_set_all(&document, all, ATH_COUNT(all), &err), 0);
    ck_assert(!document.has_faults);
    ck_assert_int_eq(ath_document_numa(&document, 1)->control_port, 50052);
    ck_assert_ptr_nonnull(
        strstr(document.text, "node: 0, control_port: 50051, data_port: 5555 } # stays\n"));
}

TEST(a_fault_leads_to_its_key)
{
    static const char *const places[][2] = { { "no,", "numa.0.node" },
                                             { "x]", "numa.1.memory_nodes" },
                                             { "0, data_port: 5556", "numa.1.control_port" },
                                             { "aitherion", "schema" },
                                             { "# stays", NULL } };
    ATH_AUTO(ath_document) document = { 0 };
    load_faulty(FAULTY, &document);

    for (size_t i = 0; i < ATH_COUNT(places); i++) {
        size_t offset = (size_t)(strstr(document.text, places[i][0]) - document.text);
        ath_auto_free char *key = ath_key_at(&document.tree, offset);
        ck_assert_pstr_eq(key, places[i][1]);
    }
}

#define LIST_HEAD                                                                                  \
    "schema: aitherion.topology/1\nnuma:\n- id: 0\n  node: 0\n  control_port: 1\n  data_port: 2\n"

/* A list whose entries have lines of their own is changed line by line. */
TEST(block_lists_keep_the_comments_of_remaining_entries)
{
    const char *text = LIST_HEAD "  memory_nodes:   # which\n  # the CPUs'\n  - 0    # own\n"
                                 "  - 254  # of one\n  - 255  # of two\n  # behind\n# end\n";
    expect_set(text, "numa.0.memory_nodes", "0,255",
               LIST_HEAD "  memory_nodes:   # which\n  # the CPUs'\n  - 0    # own\n"
                         "  - 255  # of two\n  # behind\n# end\n");
    expect_set(text, "numa.0.memory_nodes", "[254, 0, 255, 253]",
               LIST_HEAD "  memory_nodes:   # which\n  # the CPUs'\n  - 0    # own\n"
                         "  - 254  # of one\n  - 255  # of two\n  - 253\n  # behind\n# end\n");
    expect_set(text, "numa.0.memory_nodes", "8",
               LIST_HEAD "  memory_nodes:   # which\n  # the CPUs'\n  - 8\n  # behind\n# end\n");
    expect_set(LIST_HEAD "  gpus: # g\n    - 4:4:0.0\n    - 4:5:0.0\n  vram_fraction: 1\n",
               "numa.0.gpus", "[]", LIST_HEAD "  gpus: [] # g\n  vram_fraction: 1\n");
    expect_set(LIST_HEAD "  gpus:\n    -\n      4:4:0.0\n    - 4:5:0.0", "numa.0.gpus", "4:4:0.0",
               LIST_HEAD "  gpus:\n    -\n      4:4:0.0\n");
}

TEST(flow_lists_over_lines_keep_their_comments)
{
    const char *text = LIST_HEAD "  gpus: [\n    \"4:4:0.0\",  # upper\n    \"4:5:0.0\"   # lower\n"
                                 "  ]\n";
    expect_set(text, "numa.0.gpus", "4:5:0.0",
               LIST_HEAD "  gpus: [\n    # upper\n    \"4:5:0.0\"   # lower\n  ]\n");
    expect_set(text, "numa.0.gpus", "4:4:0.0",
               LIST_HEAD "  gpus: [\n    \"4:4:0.0\",  # upper\n       # lower\n  ]\n");
    expect_set(text, "numa.0.gpus", "4:4:0.0,4:5:0.0,4:6:0.0",
               LIST_HEAD "  gpus: [\n    \"4:4:0.0\",  # upper\n    \"4:5:0.0\", \"4:6:0.0\"   # "
                         "lower\n  ]\n");
    expect_set(LIST_HEAD "  gpus: [\"4:4:0.0\",\"4:5:0.0\"] # both\n", "numa.0.gpus",
               "4:5:0.0,4:4:0.0", LIST_HEAD "  gpus: [\"4:5:0.0\", \"4:4:0.0\"] # both\n");
}

/* A change that cannot be made safely is refused with the line number. */
static const struct {
    const char *text, *key, *value;
} uneditable[] = {
    { MINIMAL "key_file: &here /k\n", "key_file", "/l" },
    { MINIMAL "key_file: |-\n  /k\n", "key_file", "/l" },
    { MINIMAL "key_file: >-\n  /k\n", "key_file", "/l" },
    { MINIMAL "engine: &e { kind: auto }\n", "engine.sim", "true" },
    { LIST_HEAD "  gpus: &g\n    - 4:4:0.0\n    - 4:5:0.0\n", "numa.0.gpus", "[]" },
    { LIST_HEAD "  gpus:\n    - 4:4:0.0\n    - 4:5:0.0\n", "numa.0.gpus", "4:5:0.0,4:4:0.0" },
    { "? schema\n: aitherion.topology/1\n? numa\n: []\n? node\n: ? name\n  : a\n", "node.profile",
      "x" },
};

LOOP_TEST(unsafe_changes_are_refused, 0, ATH_COUNT(uneditable))
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(uneditable[_i].text, &document);
    ck_assert_int_eq(ath_document_set(&document, uneditable[_i].key, uneditable[_i].value, &err),
                     -ENOTSUP);
    ck_assert_int_eq(err.code, ATH_E_DOCUMENT_UNEDITABLE);
    ck_assert_str_eq(document.text, uneditable[_i].text);
}

TEST(strange_forms_can_be_edited)
{
    expect_set("? schema\n: aitherion.topology/1\n? numa\n: []\n? key_file\n: /a # b\n", "key_file",
               "/c", "? schema\n: aitherion.topology/1\n? numa\n: []\n? key_file\n: /c # b\n");
    expect_set(MINIMAL "key_file: '/it''s'\n", "key_file", "/that's",
               MINIMAL "key_file: '/that''s'\n");
    expect_set(MINIMAL "key_file: \"/k\"\n", "key_file", "/l", MINIMAL "key_file: \"/l\"\n");
    expect_set(MINIMAL "key_file: \"/a\\\n  b\"\nnode: {}\n", "key_file", "/l",
               MINIMAL "key_file: \"/l\"\nnode: {}\n");
    expect_set("%YAML 1.1\n---\n" MINIMAL "...\n", "numa.0.node", "5",
               "%YAML 1.1\n---\nschema: aitherion.topology/1\nnuma:\n"
               "  - { id: 0, node: 5, control_port: 50051, data_port: 5555 }\n"
               "  - { id: 1, node: 8, control_port: 50052, data_port: 5556 }\n...\n");
}

static const struct ath_change card[] = { { "pci", "0033:01:00.0" },
                                          { "description", "a: b" },
                                          { "numa", "[0,1]" } };

static char *append(const char *text)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(text, &document);
    int status = ath_document_append(&document, "roce.cards", card, ATH_COUNT(card), &err);
    ck_assert_msg(!status, "%s", err.message);
    ck_assert_ptr_nonnull(ath_document_card(&document, "0033:01:00.0"));
    return ath_steal(&document.text);
}

#define CARD "{ pci: \"0033:01:00.0\", description: \"a: b\", numa: [0, 1] }"
#define CARD_LINES "    - pci: \"0033:01:00.0\"\n      description: \"a: b\"\n      numa: [0, 1]\n"

TEST(entries_are_added_in_the_style_of_the_others)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        { "", "roce:\n  cards:\n" CARD_LINES },
        { "roce:\n", "roce: { cards: [" CARD "] }\n" },
        { "roce: {}\n", "roce: { cards: [" CARD "] }\n" },
        { "roce:\n  macvlans: []\n", "roce:\n  macvlans: []\n  cards:\n" CARD_LINES },
        { "roce:\n  cards: [] # c\n", "roce:\n  cards: # c\n" CARD_LINES },
        { "roce:\n  cards: []\n  macvlans: []", "roce:\n  cards:\n" CARD_LINES "  macvlans: []" },
        { "roce: {\n  cards: []\n}\n", "roce: {\n  cards: [" CARD "]\n}\n" },
        { "roce:\n  cards:\n", "roce:\n  cards: [" CARD "]\n" },
        { "roce:\n  cards:\n  - { pci: 3:1:0.0 } # c\n",
          "roce:\n  cards:\n  - { pci: 3:1:0.0 } # c\n  - " CARD "\n" },
        { "roce:\n  cards:\n    - pci: 3:1:0.0 # c\n      numa:\n      - 0 # zero\n  # end\n",
          "roce:\n  cards:\n    - pci: 3:1:0.0 # c\n      numa:\n      - 0 # zero\n"
          "    - pci: \"0033:01:00.0\"\n      description: \"a: b\"\n      numa: [0, 1]\n"
          "  # end\n" },
    };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ath_auto_free char *before = ath_xasprintf("%s%s", MINIMAL, cases[i].before);
        ath_auto_free char *after = ath_xasprintf("%s%s", MINIMAL, cases[i].after);
        ath_auto_free char *found = append(before);
        ck_assert_str_eq(found, after);
    }
}

TEST(a_value_of_an_identity_makes_its_row)
{
    static const char *const wrong[] = {
        "identities.a.shrae",     "identities.a b.share", "identities.share", "identities..share",
        "identities.x.bak.share", "identities.c.name",    "identities.a",     "identities.a.",
    };
    ath_auto_free char *found = set(MINIMAL, "identities.a.b.share", "25");
    ck_assert_str_eq(found, MINIMAL "identities:\n  - name: a.b\n    share: 25\n");
    ath_auto_free char *second = set(found, "identities.a.share", "30");
    ath_auto_free char *wanted = ath_xasprintf("%s  - name: a\n    share: 30\n", found);
    ck_assert_str_eq(second, wanted);

    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(second, &document);
    for (size_t i = 0; i < ATH_COUNT(wrong); i++)
        ck_assert_msg(ath_document_set(&document, wrong[i], "25", &err) < 0, "%s", wrong[i]);
    ck_assert_int_eq(ath_document_set(&document, "identities.c.share", "null", &err), -ENOENT);
    ck_assert_int_eq(ath_document_set(&document, "identities.c.share", "101", &err), -EINVAL);
    ck_assert_str_eq(document.text, second);
}

TEST(entries_are_removed_with_their_lines)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        { "roce:\n  cards:\n  # one\n  - pci: 3:1:0.0 # c\n    numa: [0] # d\n  # two\n"
          "  - pci: 4:1:0.0\n",
          "roce:\n  cards:\n  # one\n  # two\n  - pci: 4:1:0.0\n" },
        { "roce:\n  cards:\n    - pci: 4:1:0.0\n    - pci: 3:1:0.0",
          "roce:\n  cards:\n    - pci: 4:1:0.0\n" },
        { "roce:\n  cards: # all\n    - pci: 3:1:0.0\n      numa: [ 0,\n         1]\n  macvlans: "
          "[]\n",
          "roce:\n  cards: [] # all\n  macvlans: []\n" },
        { "roce: { cards: [ { pci: 3:1:0.0 }, { pci: 4:1:0.0 } ] }\n",
          "roce: { cards: [ { pci: 4:1:0.0 } ] }\n" },
        { "roce: { cards: [ { pci: 4:1:0.0 }, { pci: 3:1:0.0 } ] }\n",
          "roce: { cards: [ { pci: 4:1:0.0 } ] }\n" },
        { "roce: { cards: [{ pci: 3:1:0.0 }] }\n", "roce: { cards: [] }\n" },
    };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ATH_AUTO(ath_document) document = { 0 };
        struct ath_err err = { 0 };
        ath_auto_free char *before = ath_xasprintf("%s%s", MINIMAL, cases[i].before);
        ath_auto_free char *after = ath_xasprintf("%s%s", MINIMAL, cases[i].after);
        parse_good(before, &document);
        int status = ath_document_remove(&document, "roce.cards.0003:01:00.0", &err);
        ck_assert_msg(!status, "%s\n%s", err.message, before);
        ck_assert_str_eq(document.text, after);
    }
}

TEST(adding_and_removing_keep_the_rules)
{
    static const struct ath_change twice[] = { { "pci", "3:1:0.0" } };
    static const struct ath_change nameless[] = { { "numa", "[0]" } };
    static const struct ath_change unknown[] = { { "pcie", "3:1:0.0" } };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(MINIMAL "roce: { cards: [{ pci: 0003:01:00.0, numa: [0] }] }\n", &document);

    ck_assert_int_eq(ath_document_append(&document, "roce.cards", twice, 1, &err), -EINVAL);
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
    ck_assert_int_eq(ath_document_append(&document, "roce.cards", nameless, 1, &err), -EINVAL);
    ck_assert_int_eq(ath_document_append(&document, "roce.cards", unknown, 1, &err), -ENOENT);
    ck_assert_int_eq(ath_document_append(&document, "engine", twice, 1, &err), -ENOENT);
    ck_assert_int_eq(ath_document_remove(&document, "numa.0", &err), -EINVAL);
    ck_assert_str_eq(err.message, "cannot remove 'numa.0': 'roce.cards.0003:01:00.0' names the id "
                                  "0, but no entry of 'numa' has it");
    ck_assert_int_eq(ath_document_remove(&document, "numa.0.node", &err), -ENOENT);
    ck_assert_int_eq(ath_document_remove(&document, "roce.cards", &err), -ENOENT);
    ck_assert_int_eq(ath_document_remove(&document, "numa.1", &err), 0);
    ck_assert_uint_eq(document.numa.count, 1);
}

TEST(the_shipped_profile_can_be_edited_everywhere)
{
    size_t length;
    ath_auto_free char *text = read_source("etc/ac922_topology.yaml", &length);
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good_bytes(text, length, &document);

    ck_assert_int_eq(ath_document_set(&document, "numa.0.memory_percent", "70", &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "numa.0.memory_percent", "80.0", &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "roce.macvlans.macvlan1.mtu", "1500", &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "roce.macvlans.macvlan1.mtu", "9000", &err), 0);
    ck_assert_int_eq(ath_document_append(&document, "roce.cards", card, 3, &err), 0);
    ck_assert_int_eq(ath_document_remove(&document, "roce.cards.33:1:0.0", &err), 0);
    ck_assert_str_eq(document.text, text);
}
