/* The values of a document, and every fault with its place, all of them at once. */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/level.h"
#include "config/write.h"
#include "documents.h"
#include "unit.h"

SECONDS(120);

TEST(example_of_the_product_loads)
{
    size_t length;
    ath_auto_free char *text = read_source("etc/ac922_topology.yaml", &length);
    ATH_AUTO(ath_document) document = { 0 };
    parse_good_bytes(text, length, &document);

    ck_assert_str_eq(document.node.name, "ac922-01");
    ck_assert_int_eq(document.engine.kind, ATH_ENGINE_AUTO);
    ck_assert_str_eq(document.engine.docker_host, "unix:///var/run/docker.sock");
    ck_assert(!document.engine.is_sim);
    ck_assert_uint_eq(document.numa.count, 2);
    const struct ath_document_numa *numa = ath_document_numa(&document, 1);
    ath_auto_free char *nodes = ath_idset_format(&numa->memory_nodes);
    ck_assert_int_eq(numa->node, 8);
    ck_assert_str_eq(nodes, "8,252-253");
    ck_assert_double_eq(numa->memory_percent, 80);
    ck_assert_double_eq(numa->vram_fraction, 0.8);
    ck_assert_uint_eq(numa->data_iface.count, 1);
    ck_assert_str_eq(numa->data_iface.items[0], "enP51p1s0f0");
    ck_assert_str_eq(numa->gpus.items[1], "0035:04:00.0");
    ck_assert_str_eq(numa->rdma_devices.items[0], "mlx5_2");
    ck_assert_int_eq(numa->control_port, 50052);
    ck_assert_int_eq(numa->data_port, 5556);
    const struct ath_document_macvlan *macvlan = ath_document_macvlan(&document, "macvlan0");
    ck_assert_int_eq(macvlan->mode, ATH_MACVLAN_BRIDGE);
    ck_assert_int_eq(macvlan->mtu, 9000);
    ck_assert_str_eq(macvlan->address, "192.168.100.10/24");
    ck_assert(ath_idset_has(&ath_document_card(&document, "3:1:0.0")->numa, 1));
}

TEST(missing_keys_have_defaults)
{
    ATH_AUTO(ath_document) document = { 0 };
    parse_good(MINIMAL, &document);

    const struct ath_document_numa *numa = ath_document_numa(&document, 1);
    ck_assert(ath_idset_has(&numa->memory_nodes, 8));
    ck_assert_uint_eq(ath_idset_count(&numa->memory_nodes), 1);
    ck_assert_double_eq(numa->memory_percent, 80);
    ck_assert_ptr_null(numa->control_iface);
    ck_assert_uint_eq(numa->gpus.count, 0);
    ck_assert_str_eq(document.key_file, "/etc/aitherion/key");
    ck_assert_str_eq(document.engine.image, "aitherion-runtime:latest");
    ck_assert_ptr_null(document.node.name);
    ck_assert_uint_eq(document.roce.cards.count, 0);
    ck_assert_ptr_null(ath_document_numa(&document, 8));
}

TEST(any_style_and_order_reads_alike)
{
    size_t length;
    ath_auto_free char *block = read_source("tests/data/documents/good-block.yaml", &length);
    ATH_AUTO(ath_document) document = { 0 };
    parse_good_bytes(block, length, &document);
    ck_assert_int_eq(document.numa.items[0].node, 8);
    ck_assert_str_eq(document.numa.items[0].gpus.items[0], "0035:03:00.0");
    ck_assert_str_eq(document.key_file, "/etc/aitherion/it's a key");
    ck_assert_str_eq(ath_document_macvlan(&document, "mac.vlan")->address, "fd00::1/64");
    ck_assert_int_eq(ath_document_macvlan(&document, "macvlan1")->numa, ATH_UNSET);

    ath_auto_free char *flow = read_source("tests/data/documents/good-flow.yaml", &length);
    ATH_AUTO(ath_document) other = { 0 };
    parse_good_bytes(flow, length, &other);
    ck_assert_int_eq(other.numa.items[0].id, 3);
    ck_assert_str_eq(other.numa.items[1].rdma_devices.items[1], "mlx5_bond_0");
}

TEST(entries_may_share_a_node_and_have_no_gpus)
{
    ATH_AUTO(ath_document) document = { 0 };
    parse_good("schema: aitherion.topology/1\nnuma:\n"
               "- {id: 40, node: 0, gpus: [], control_port: 1, data_port: 2}\n"
               "- {id: 2, node: 0, control_port: 3, data_port: 4, data_iface: null, gpus: ~}\n",
               &document);
    ck_assert_uint_eq(document.numa.count, 2);
}

/* A name without brackets is a list of one. */
TEST(data_interfaces_are_a_list)
{
    static const struct {
        const char *value;
        size_t count;
        const char *last;
    } cases[] = {
        { "eth0", 1, "eth0" },
        { "'eth0'", 1, "eth0" },
        { "[eth0]", 1, "eth0" },
        { "[eth0, eth1]", 2, "eth1" },
        { "[]", 0, NULL },
        { "~", 0, NULL },
        { "[a, b, c, d, e, f, g, h]", ATH_DATA_INTERFACES_MAX, "h" },
    };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ATH_AUTO(ath_document) document = { 0 };
        ath_auto_free char *text = ath_xasprintf(
            "schema: aitherion.topology/1\nnuma:\n- {id: 0, node: 0, control_port: 1, "
            "data_port: 2, data_iface: %s}\n",
            cases[i].value);
        parse_good(text, &document);
        const struct ath_texts *links = &document.numa.items[0].data_iface;
        ck_assert_uint_eq(links->count, cases[i].count);
        if (cases[i].last)
            ck_assert_str_eq(links->items[links->count - 1], cases[i].last);
        ck_assert_int_eq(ath_document_data_port(&document.numa.items[0]),
                         cases[i].count ? 2 : ATH_UNKNOWN);
    }
}

TEST(access_has_defaults_and_limits)
{
    static const char entry[] = "schema: aitherion.topology/1\nnuma:\n"
                                "- {id: 0, node: 0, control_port: 1, data_port: 2}\n";
    ATH_AUTO(ath_document) plain = { 0 };
    ATH_AUTO(ath_document) other = { 0 };
    ath_auto_free char *text =
        ath_xasprintf("%sencrypt: on\nsharing: free\nlog_level: debug\nudp: on\nlimits: "
                      "{sessions_per_source: 512, host_fraction: 1}\n",
                      entry);
    parse_good(entry, &plain);
    ck_assert_int_eq(plain.encrypt, 0);
    ck_assert_int_eq(plain.sharing, 0);
    ck_assert_int_eq(plain.log_level, ATH_LEVEL_INFO);
    ck_assert_int_eq(plain.udp, ATH_SWITCH_OFF);
    ck_assert_int_eq(plain.limits.sessions_per_source, 256);
    ck_assert_double_eq(plain.limits.host_fraction, 0.5);
    parse_good(text, &other);
    ck_assert_int_eq(other.encrypt, 1);
    ck_assert_int_eq(other.sharing, 2);
    ck_assert_int_eq(other.log_level, ATH_LEVEL_DEBUG);
    ck_assert_int_eq(other.udp, ATH_SWITCH_ON);
    ck_assert_int_eq(other.limits.sessions_per_source, 512);
    ck_assert_double_eq(other.limits.host_fraction, 1);
}

/* A rare mapping of defaults is left out of a new document; it comes with a key that differs. */
TEST(a_new_document_has_no_rare_defaults)
{
    ATH_AUTO(ath_document) document = { 0 };
    parse_good("schema: aitherion.topology/1\nnuma:\n"
               "- {id: 0, node: 0, control_port: 1, data_port: 2}\n",
               &document);
    ath_auto_free char *plain = ath_document_write(&document, NULL);
    ck_assert_ptr_null(strstr(plain, "encrypt"));
    ck_assert_ptr_null(strstr(plain, "log_level"));
    ck_assert_ptr_null(strstr(plain, "sharing"));
    ck_assert_ptr_null(strstr(plain, "udp"));
    ck_assert_ptr_null(strstr(plain, "limits:"));
    ck_assert_ptr_null(strstr(plain, "tls_"));
    document.encrypt = 1;
    document.limits.host_fraction = 0.25;
    ath_auto_free char *written = ath_document_write(&document, NULL);
    ck_assert_ptr_nonnull(strstr(written, "\nencrypt: \"on\" "));
    ck_assert_ptr_nonnull(strstr(written, "\nlimits: "));
    ck_assert_ptr_nonnull(strstr(written, "\n  host_fraction: 0.25 "));
    ck_assert_ptr_null(strstr(written, "sessions_per_source"));
    ATH_AUTO(ath_document) again = { 0 };
    parse_good(written, &again);
    ck_assert_int_eq(again.encrypt, 1);
    ck_assert_double_eq(again.limits.host_fraction, 0.25);
}

TEST(json_is_yaml)
{
    ATH_AUTO(ath_document) document = { 0 };
    parse_good("{\"schema\":\"aitherion.topology/1\",\"numa\":[{\"id\":0,\"node\":0,"
               "\"vram_fraction\":1,\"control_port\":1,\"data_port\":2}]}",
               &document);
    ck_assert_double_eq(document.numa.items[0].vram_fraction, 1);
}

TEST(ten_faults_are_ten_entries_by_place)
{
    size_t length;
    ath_auto_free char *text = read_source("tests/data/documents/ten-faults.yaml", &length);
    ath_auto_free char *found = parse_bad_bytes(text, length);
    ck_assert_str_eq(found, "2:9 choice\n"
                            "3:25 key-unknown\n"
                            "4:17 choice\n"
                            "8:21 range\n"
                            "9:20 range\n"
                            "10:20 format\n"
                            "11:28 format\n"
                            "13:16 type\n"
                            "15:19 port-twice\n"
                            "19:62 format\n");
}

TEST(messages_name_allowed_values_and_similar_keys)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    const char *text = "schema: aitherion.topology/1\n"
                       "numa:\n"
                       "  - id: 4\n"
                       "    node: eight\n"
                       "    memory_percnt: 70\n"
                       "    control_port: 70000\n"
                       "    data_port: 2\n";
    ck_assert_int_lt(ath_document_parse(text, strlen(text), "my.yaml", &document, &faults, &err),
                     0);
    ck_assert_str_eq(err.message, "the topology document 'my.yaml' has 3 faults");
    ck_assert_str_eq(faults.items[0].file, "my.yaml");
    ck_assert_str_eq(
        faults.items[0].message,
        "'numa.4.node' must be a whole number from 0 to 16777216, not 'eight' (a text)");
    ck_assert_str_eq(faults.items[1].message,
                     "there is no key 'numa.4.memory_percnt'; did you mean 'memory_percent'?");
    ck_assert_str_eq(faults.items[2].message,
                     "'numa.4.control_port' must be a whole number from 1 to 65535, not '70000'");
}

#define HEAD "schema: aitherion.topology/1\n"
#define ENTRY(more) HEAD "numa:\n- {id: 0, node: 0, control_port: 1, data_port: 2" more "}\n"
#define MACVLAN(more) ENTRY("") "roce: {macvlans: [{name: m0, parent: e0" more "}]}\n"
#define TOP(more) ENTRY("") more "\n"

/* Each kind of fault on its own, with its place. */
static const struct {
    const char *text, *faults;
} bad[] = {
    { "", "1:1 empty\n" },
    { "# a comment\n", "1:1 empty\n" },
    { "---\n...\n", "1:1 empty\n" },
    { "null\n", "1:1 empty\n" },
    { "just words\n", "1:1 type\n" },
    { "- a\n- list\n", "1:1 type\n" },
    { HEAD "numa: [ { id: 0\nnode: x\n", "3:5 yaml-syntax\n" },
    { HEAD "numa: 'never ends\n", "2:7 yaml-syntax\n" },
    { HEAD "\tnuma: []\n", "2:1 yaml-syntax\n" },
    { HEAD "x: \"\\q\"\nnuma: []\n", "2:5 yaml-syntax\n" },
    { HEAD "numa: []\n---\nsecond: 1\n", "3:1 second-document\n" },
    { HEAD "numa: []\nnode: {name: \xc3\xa9\xff}\n", "3:15 encoding\n" },
    { HEAD "numa: []\nnode: {name: \xed\xa0\x80}\n", "3:14 encoding\n" },
    { HEAD "numa: []\nnode: {name: \xc0\xaf}\n", "3:14 encoding\n" },
    { HEAD "numa: []\nnode: {name: a\x01}\n", "3:15 yaml-syntax\n" },
    { "numa: []\n", "1:1 key-missing\n" },
    { HEAD, "1:1 key-missing\n" },
    { HEAD "numa:\n", "2:1 key-missing\n" },
    { HEAD "numa: {}\n", "2:7 type\n" },
    { HEAD "numa: 5\n", "2:7 type\n" },
    { HEAD "numa: [5, ~]\n", "2:8 type\n2:11 type\n" },
    { HEAD "numa: []\nnuma: []\n", "3:1 key-twice\n" },
    { HEAD "numa: []\n? [a]\n: b\n", "3:3 type\n" },
    { HEAD "numa: []\nnode: [a]\n", "3:7 type\n" },
    { HEAD "numa: []\nnode: {name: [a]}\n", "3:14 type\n" },
    { HEAD "numa: []\nnode: {name: {a: b}}\n", "3:14 type\n" },
    { HEAD "numa: []\nnode: {name: 5}\n", "3:14 type\n" },
    { HEAD "numa: []\nnode: {name: true}\n", "3:14 type\n" },
    { HEAD "numa: []\nnode: {name: \"a b\"}\n", "3:14 format\n" },
    { HEAD "numa: []\nnode: {name: \"a\\0b\"}\n", "3:14 format\n" },
    { HEAD "numa: []\nnode: {naem: a}\n", "3:8 key-unknown\n" },
    { HEAD "numa: []\nnoed: {name: a}\n", "3:1 key-unknown\n" },
    { HEAD "numa: []\nnode: {name: !!str 5}\n", "3:14 tag\n" },
    { HEAD "numa: !python/object:x []\n", "2:7 tag\n" },
    { HEAD "numa: []\nnode: &x {name: *x}\n", "3:17 alias\n" },
    { HEAD "numa: []\nnode: {<<: {name: a}}\n", "3:8 alias\n" },
    { ENTRY(", memory_percent: 100.1"), "3:67 range\n" },
    { ENTRY(", memory_percent: -1"), "3:67 range\n" },
    { ENTRY(", memory_percent: 0"), "3:67 range\n" },
    { ENTRY(", memory_percent: 0.0"), "3:67 range\n" },
    { ENTRY(", memory_percent: 80%"), "3:67 type\n" },
    { ENTRY(", memory_percent: '80'"), "3:67 type\n" },
    { ENTRY(", memory_percent: .inf"), "3:67 type\n" },
    { ENTRY(", memory_percent: .nan"), "3:67 type\n" },
    { ENTRY(", memory_percent: 80,5"), "3:70 key-unknown\n" },
    { ENTRY(", memory_percent: yes"), "3:67 type\n" },
    { ENTRY(", vram_fraction: 1.01"), "3:66 range\n" },
    { ENTRY(", vram_fraction: 0"), "3:66 range\n" },
    { ENTRY(", memory_nodes: 0"), "3:65 type\n" },
    { ENTRY(", memory_nodes: [0, -1]"), "3:69 range\n" },
    { ENTRY(", memory_nodes: [0, 0x1]"), "3:69 type\n" },
    { ENTRY(", memory_nodes: [0, 010]"), "3:69 type\n" },
    { ENTRY(", memory_nodes: [0, 1.5]"), "3:69 type\n" },
    { ENTRY(", memory_nodes: [0, [1]]"), "3:69 type\n" },
    { ENTRY(", memory_nodes: [8, 0, 8]"), "3:72 twice\n" },
    { ENTRY(", memory_nodes: [0-8]"), "3:66 type\n" },
    { ENTRY(", gpus: [\"0004:04:00.8\"]"), "3:58 format\n" },
    { ENTRY(", gpus: [\"0004:04:00.0\", \"4:4:0.0\"]"), "3:74 twice\n" },
    { ENTRY(", gpus: nothing"), "3:57 type\n" },
    { ENTRY(", rdma_devices: [mlx5/0]"), "3:66 format\n" },
    { ENTRY(", rdma_devices: [a, b, a]"), "3:72 twice\n" },
    { ENTRY(", data_iface: \"\""), "3:63 format\n" },
    { ENTRY(", data_iface: a/b"), "3:63 format\n" },
    { ENTRY(", data_iface: a b"), "3:63 format\n" },
    { ENTRY(", data_iface: .."), "3:63 format\n" },
    { ENTRY(", data_iface: sixteen-letters-"), "3:63 format\n" },
    { ENTRY(", data_iface: \"\\e[2J\""), "3:63 format\n" },
    { ENTRY(", data_iface: [a, b/c]"), "3:67 format\n" },
    { ENTRY(", data_iface: [a, b, a]"), "3:70 twice\n" },
    { ENTRY(", data_iface: 5"), "3:63 type\n" },
    { ENTRY(", data_iface: {a: b}"), "3:63 type\n" },
    { ENTRY(", data_iface: [a, b, c, d, e, f, g, h, i]"), "3:63 range\n" },
    { HEAD "numa:\n- {id: 0, node: 0, control_port: 0, data_port: 65536}\n",
      "3:34 range\n3:48 range\n" },
    { HEAD "numa:\n- {id: 0, node: 0, control_port: 7, data_port: 7}\n", "3:48 port-twice\n" },
    { HEAD "numa:\n- {id: 0, node: 0, control_port: 7, data_port: 8}\n"
           "- {id: 0, node: 0, control_port: 8, data_port: 7}\n",
      "4:8 twice\n4:34 port-twice\n4:48 port-twice\n" },
    { HEAD "numa:\n- {node: 0, control_port: 7, data_port: 8}\n", "3:3 key-missing\n" },
    { HEAD "numa:\n- {id: zero, node: 0, control_port: 7, data_port: 8}\n"
           "roce: {macvlans: [{name: m0, parent: e0, numa: 5}]}\n",
      "3:8 type\n" },
    { TOP("encrypt: yes"), "4:10 choice\n" },
    { TOP("encrypt: true"), "4:10 type\n" },
    { TOP("encrypt: [on]"), "4:10 type\n" },
    { TOP("sharing: fair"), "4:10 choice\n" },
    { TOP("log_level: verbose"), "4:12 choice\n" },
    { TOP("udp: 5555"), "4:6 type\n" },
    { TOP("udp: auto"), "4:6 choice\n" },
    { TOP("tls_certificate: /c"), "4:18 key-missing\n" },
    { TOP("tls_key: /k"), "4:10 key-missing\n" },
    { TOP("tls_certificate: /c\ntls_key: /k\nencrypt: 'off'"), "6:10 choice\n" },
    { TOP("identities: [{name: a, cap: true}]"), "4:29 key-missing\n" },
    { TOP("identities: [{name: a, share: 0}]"), "4:31 range\n" },
    { TOP("identities: [{name: a, share: 101}]"), "4:31 range\n" },
    { TOP("identities: [{name: a, share: 25.5}]"), "4:31 type\n" },
    { TOP("identities: [{name: a, priority: urgent}]"), "4:34 choice\n" },
    { TOP("tls_ca: authorities.pem"), "4:9 format\n" },
    { TOP("limits: 5"), "4:9 type\n" },
    { TOP("limits: {sessions_per_source: 0}"), "4:31 range\n" },
    { TOP("limits: {sessions_per_source: 513}"), "4:31 range\n" },
    { TOP("limits: {host_fraction: 0}"), "4:25 range\n" },
    { TOP("limits: {host_fraction: 1.01}"), "4:25 range\n" },
    { TOP("limits: {sessions: 5}"), "4:10 key-unknown\n" },
    { TOP("engine: {kind: podman}"), "4:16 choice\n" },
    { TOP("engine: {sim: yes}"), "4:15 type\n" },
    { TOP("engine: {sim: 'true'}"), "4:15 type\n" },
    { TOP("engine: {network: none}"), "4:19 choice\n" },
    { TOP("engine: {docker_host: /var/run/docker.sock}"), "4:23 format\n" },
    { TOP("engine: {image: \"two words\"}"), "4:17 format\n" },
    { TOP("key_file: relative/path"), "4:11 format\n" },
    { TOP("roce: {cards: [{pci: 3:1}]}"), "4:22 format\n" },
    { TOP("roce: {cards: [{pci: 0003:01:00.0}, {pci: 3:1:0.0}]}"), "4:43 twice\n" },
    { TOP("roce: {cards: [{pci: 0003:01:00.0, numa: [0, 4]}]}"), "4:46 id-unknown\n" },
    { TOP("roce: {cards: [{}]}"), "4:16 key-missing\n" },
    { MACVLAN(", numa: 1"), "4:48 id-unknown\n" },
    { MACVLAN(", mode: bridged"), "4:48 choice\n" },
    { MACVLAN(", mtu: 67"), "4:47 range\n" },
    { MACVLAN(", address: 10.0.0.1"), "4:51 format\n" },
    { MACVLAN(", address: 10.0.0.1/33"), "4:51 format\n" },
    { MACVLAN(", address: 10.0.0.1/0"), "4:51 format\n" },
    { MACVLAN(", address: 0.0.0.0/8"), "4:51 format\n" },
    { MACVLAN(", address: fe80::1/129"), "4:51 format\n" },
    { MACVLAN(", address: 10.0.0.1/+8"), "4:51 format\n" },
    { MACVLAN("}, {name: m0, parent: e1"), "4:50 twice\n" },
    { MACVLAN("}, {name: e0, parent: e0"), "4:62 twice\n" },
};

LOOP_TEST(each_fault_has_its_place, 0, ATH_COUNT(bad))
{
    ath_auto_free char *found = parse_bad(bad[_i].text);
    ck_assert_msg(!strcmp(found, bad[_i].faults), "for:\n%s\nfound:\n%sinstead of:\n%s",
                  bad[_i].text, found, bad[_i].faults);
}

/* Lines end in three ways, a byte order mark takes no column, and columns count characters. */
TEST(places_count_as_editors_do)
{
    ath_auto_free char *crlf = parse_bad("schema: aitherion.topology/1\r\nnuma: []\r\nx: 1\r\n");
    ck_assert_str_eq(crlf, "3:1 key-unknown\n");
    ath_auto_free char *cr = parse_bad("schema: aitherion.topology/1\rnuma: []\rx: 1\r");
    ck_assert_str_eq(cr, "3:1 key-unknown\n");
    ath_auto_free char *mark =
        parse_bad("\xef\xbb\xbfx: 1\nschema: aitherion.topology/1\nnuma: []");
    ck_assert_str_eq(mark, "1:1 key-unknown\n");
    ath_auto_free char *wide =
        parse_bad(HEAD "numa: []\nroce: {cards: [{description: \"节点卡\", x: 1}]}\n");
    ck_assert_str_eq(wide, "3:16 key-missing\n3:37 key-unknown\n");
}

TEST(nul_bytes_are_a_fault)
{
    static const char text[] = HEAD "numa: []\n\0";
    ath_auto_free char *found = parse_bad_bytes(text, sizeof text - 1);
    ck_assert_str_eq(found, "3:1 yaml-syntax\n");
}

TEST(aliases_are_refused_with_their_places)
{
    size_t length;
    ath_auto_free char *text = read_source("tests/data/documents/aliases.yaml", &length);
    ath_auto_free char *found = parse_bad_bytes(text, length);
    ck_assert_str_eq(found, "5:5 alias\n5:5 key-missing\n5:5 key-missing\n5:5 key-missing\n"
                            "5:9 alias\n7:5 alias\n");
}

/* Hostile files must not exhaust stack, time or memory. */
TEST(hostile_files_end_soon)
{
    static const struct {
        const char *head, *repeated, *code;
    } files[] = {
        { "numa: ", "[", "too-large" },
        { "numa: ", "{a: ", "too-large" },
        { "numa: [", "0,", "too-large" },
        { "", "a: 1\n", "too-large" },
        { "", "- ", "too-large" },
        { "numa:\n", "- \n", "too-large" },
        { "numa: \"", "\\u0001", "syntax" },
        { "", "? ", "too-large" },
        { "", "&a ", "empty" },
        { "numa: [", "[1],", "too-large" },
        { "", "#\n", "empty" },
        { "", "\t", "syntax" },
        { "a: |\n", " x\n", "unknown" },
        { "'", "a", "syntax" },
    };
    if (getenv("AITHERION_VALGRIND")) {
        puts("skipped test: hostile_files_end_soon: its time limits mean nothing under valgrind");
        return;
    }
    for (size_t i = 0; i < ATH_COUNT(files); i++) {
        ATH_AUTO(ath_text) text = { 0 };
        ath_text_add(&text, "%s", files[i].head);
        while (text.length < 512 << 10)
            ath_text_add(&text, "%s", files[i].repeated);
        clock_t begin = clock();
        ath_auto_free char *found = parse_bad_bytes(text.data, text.length);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        ck_assert_msg(strstr(found, files[i].code), "%s: %s", files[i].repeated, found);
        ck_assert_msg(seconds < 5, "%s took %.1f s", files[i].repeated, seconds);
    }
}

TEST(yaml_bombs_and_deep_nesting_are_refused)
{
    static const struct {
        const char *file, *first;
    } files[] = { { "tests/data/documents/alias-bomb.yaml", "2:1 key-missing\n" },
                  { "tests/data/documents/deep.yaml", "3:38 too-large\n" } };
    for (size_t i = 0; i < ATH_COUNT(files); i++) {
        size_t length;
        ath_auto_free char *text = read_source(files[i].file, &length);
        ath_auto_free char *found = parse_bad_bytes(text, length);
        ck_assert_msg(ath_starts_with(found, files[i].first), "%s: %s", files[i].file, found);
    }
}

TEST(a_file_too_large_is_refused)
{
    ath_auto_free char *text = ath_xalloc(ATH_YAML_BYTES_MAX + 2);
    memset(text, '\n', ATH_YAML_BYTES_MAX + 1);
    ath_auto_free char *found = parse_bad_bytes(text, ATH_YAML_BYTES_MAX + 1);
    ck_assert_str_eq(found, "1:1 too-large\n");
}

/* A thousand faults are listed; the rest is only counted. */
TEST(faults_are_limited)
{
    ATH_AUTO(ath_text) text = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };

    ath_text_add(&text, "%s", MINIMAL);
    for (int i = 0; i < 2500; i++)
        ath_text_add(&text, "key%d: 1\n", i);
    ck_assert_int_lt(ath_document_parse(text.data, text.length, "t", &document, &faults, &err), 0);
    ck_assert_uint_eq(faults.count, ATH_FAULTS_MAX);
    ck_assert_uint_eq(faults.left_out, 1500);
    ck_assert_str_eq(err.message, "the topology document 't' has 2500 faults");
}

TEST(long_values_are_not_repeated_whole)
{
    ATH_AUTO(ath_text) text = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };

    ath_text_add(&text, "%snode: {name: \"", MINIMAL);
    for (int i = 0; i < 10000; i++)
        ath_text_add(&text, "节");
    ath_text_add(&text, "\"}\n");
    ck_assert_int_lt(ath_document_parse(text.data, text.length, "t", &document, &faults, &err), 0);
    ck_assert_uint_le(strlen(faults.items[0].message), 403);
    ck_assert_str_eq(faults.items[0].message + strlen(faults.items[0].message) - 6, "节...");
}

TEST(a_missing_file_has_a_hint)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    ck_assert_int_lt(ath_document_load("/nonexistent/t.yaml", &document, &faults, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_DOCUMENT_MISSING);
    ck_assert_str_eq(err.hint, "aitherion init");
    ck_assert_int_lt(ath_document_load("/", &document, &faults, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_IO);
}

LOOP_TEST(what_a_text_editor_leaves_is_named, 0, 3)
{
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        { "# only a comment\n", "the file holds no document", "aitherion init --force" },
        { HEAD "\tnuma: []\n", "not YAML: a tab cannot indent, use blanks",
          "man aitherion-topology.yaml" },
        { HEAD "numa: [1\nx", "not YAML: ", "man aitherion-topology.yaml" },
    };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    const char *text = cases[_i].text;
    ck_assert_int_lt(ath_document_parse(text, strlen(text), "t", &document, &faults, &err), 0);
    ck_assert_ptr_nonnull(strstr(faults.items[0].message, cases[_i].message));
    ck_assert_str_eq(err.hint, cases[_i].hint);
}
