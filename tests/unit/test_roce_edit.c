/* Cards, devices and entries by every name, and changes that leave everything else as it is. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "config/entry.h"
#include "config/roce_edit.h"
#include "documents.h"
#include "unit.h"

/* A card at two nodes with four ports, another card without RDMA, and a soft device on a virtual
 * link. */
static struct ath_nic *add_nic(struct ath_machine *machine, const char *pci, const char *netdev,
                               const char *device, int node, const char *card)
{
    struct ath_nic *nic = ath_machine_add_nic(machine);

    nic->has_pci = pci && !ath_pci_parse(pci, &nic->pci);
    nic->netdev = ath_xstrdup(netdev);
    nic->rdma_device = ath_xstrdup(device);
    nic->port = device ? 1 : ATH_UNKNOWN;
    nic->numa_node = node;
    nic->card = ath_xstrdup(card);
    return nic;
}

static void make_machine(struct ath_machine *out)
{
    *out = (struct ath_machine){ .source = ATH_SOURCE_ROOT };
    ath_machine_add_node(out, 0);
    ath_machine_add_node(out, 8);
    add_nic(out, "0003:01:00.0", "eth0", "mlx5_0", 0, "0003:01:00.0")->model =
        ath_xstrdup("ConnectX-5 Ex");
    add_nic(out, "0003:01:00.1", "eth1", "mlx5_1", 0, "0003:01:00.0");
    add_nic(out, "0005:01:00.0", "eth4", NULL, 0, "0005:01:00.0");
    add_nic(out, "0033:01:00.0", "eth2", "mlx5_2", 8, "0003:01:00.0");
    add_nic(out, "0033:01:00.1", "eth3", "mlx5_3", 8, "0003:01:00.0");
    add_nic(out, NULL, "usb0", "rxe1", ATH_UNKNOWN, NULL);
    *(char **)ath_push(&out->others.rdma_devices, &out->others.rdma_device_count, sizeof(char *)) =
        ath_xstrdup("rxe0");
    ath_machine_sort(out);
}

TEST(a_card_has_many_names)
{
    static const char *const names[] = { "0003:01:00.0", "0033:01:00.1", "33:1:0.0",
                                         "mlx5_0",       "mlx5_3",       "eth2" };
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err err = { 0 };
    make_machine(&machine);

    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        struct ath_roce_card card;
        ck_assert_msg(!ath_roce_card_find(&machine, names[i], &card, &err), "%s: %s", names[i],
                      err.message);
        ck_assert_str_eq(card.pci, "0003:01:00.0");
    }
}

/* A document may name a card by any of its functions. Another card is not taken for it. */
LOOP_TEST(a_card_is_found_in_the_document, 0, 5)
{
    static const struct {
        const char *pci, *card;
        bool is_found;
    } cases[] = {
        { "0003:01:00.0", "0003:01:00.0", true },  { "0033:01:00.1", "0003:01:00.0", true },
        { "0005:01:00.0", "0003:01:00.0", false }, { "0033:01:00.1", "0005:01:00.0", false },
        { "0005:01:00.0", "0005:01:00.0", true },
    };
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_machine(&machine);
    ath_auto_free char *text =
        ath_xasprintf(MINIMAL "roce:\n  cards:\n    - { pci: \"%s\", numa: [0] }\n", cases[_i].pci);
    parse_good(text, &document);
    const struct ath_document_card *found = ath_roce_card_in(&document, &machine, cases[_i].card);
    ck_assert_int_eq(found != NULL, cases[_i].is_found);
    if (found)
        ck_assert_str_eq(found->pci, cases[_i].pci);
}

static enum ath_error refused(const struct ath_machine *machine, const char *name)
{
    struct ath_err err = { 0 };
    struct ath_roce_card card;
    ck_assert_int_lt(ath_roce_card_find(machine, name, &card, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, name));
    ck_assert_str_ne(err.hint, "");
    return err.code;
}

TEST(names_of_no_card_are_refused)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    make_machine(&machine);
    ck_assert_int_eq(refused(&machine, "0007:01:00.0"), ATH_E_NOT_FOUND);
    ck_assert_int_eq(refused(&machine, "mlx5_9"), ATH_E_NOT_FOUND);
    ck_assert_int_eq(refused(&machine, "0005:01:00.0"), ATH_E_NO_RDMA);
    ck_assert_int_eq(refused(&machine, "eth4"), ATH_E_NO_RDMA);
    ck_assert_int_eq(refused(&machine, "rxe0"), ATH_E_UNSUPPORTED);
    ck_assert_int_eq(refused(&machine, "rxe1"), ATH_E_UNSUPPORTED);
}

TEST(a_file_without_rdma_devices_refuses_no_card)
{
    ATH_AUTO(ath_machine) machine = { .source = ATH_SOURCE_XML };
    struct ath_err err = { 0 };
    struct ath_roce_card card;
    add_nic(&machine, "0101:00:00.0", NULL, NULL, 0, "0101:00:00.0");
    ck_assert_int_eq(ath_roce_card_find(&machine, "0101:00:00.0", &card, &err), 0);
    ck_assert_str_eq(ath_roce_device_find(&machine, "mlx5_7", &err), "mlx5_7");
    machine.source = ATH_SOURCE_ROOT;
    ck_assert_int_lt(ath_roce_card_find(&machine, "0101:00:00.0", &card, &err), 0);
    ck_assert_ptr_null(ath_roce_device_find(&machine, "mlx5_7", &err));
}

TEST(entries_have_several_names)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    static const char *const names[] = { "1", "NUMA1", "numa1", "aitherion-numa1" };
    static const char *const wrong[] = { "2", "", "-1", "NUMA", "1x", "aitherion-1", "NUMA 1" };
    parse_good(MINIMAL, &document);

    for (size_t i = 0; i < ATH_COUNT(names); i++)
        ck_assert_int_eq(ath_entry_find(&document, names[i], &err)->id, 1);
    for (size_t i = 0; i < ATH_COUNT(wrong); i++) {
        ck_assert_ptr_null(ath_entry_find(&document, wrong[i], &err));
        ck_assert_int_eq(err.code, ATH_E_KEY_UNKNOWN);
        ck_assert_ptr_nonnull(strstr(err.hint, "NUMA0, NUMA1"));
    }
}

TEST(lists_of_entries_are_read)
{
    static const struct {
        const char *text, *ids; /* NULL: refused */
    } cases[] = { { "0", "0" },     { "0,1", "0-1" },         { "[1, 0]", "0-1" },
                  { "0-1", "0-1" }, { "NUMA0 numa1", "0-1" }, { "", "" },
                  { "[]", "" },     { "0,2", NULL },          { "0-16777216", NULL },
                  { "zero", NULL } };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(MINIMAL, &document);

    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ATH_AUTO(ath_idset) ids = { 0 };
        int status = ath_entries_parse(&document, cases[i].text, &ids, &err);
        ck_assert_msg(!status == (cases[i].ids != NULL), "%s", cases[i].text);
        ath_auto_free char *found = ath_idset_format(&ids);
        ck_assert_str_eq(found, cases[i].ids ? cases[i].ids : "");
    }
}

TEST(near_entries_are_on_the_nodes_of_the_functions)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_idset) both = { 0 };
    ATH_AUTO(ath_idset) one = { 0 };
    make_machine(&machine);
    parse_good(MINIMAL, &document);
    ath_roce_card_near(&document, &machine, "0003:01:00.0", &both);
    ath_roce_card_near(&document, &machine, "0005:01:00.0", &one);
    ath_auto_free char *both_text = ath_roce_ids_value(&both), *one_text = ath_roce_ids_value(&one);
    ck_assert_str_eq(both_text, "[0, 1]");
    ck_assert_str_eq(one_text, "[0]");
}

#define CARDS "roce:\n  cards:   # ours\n    - pci: \"%s\" # the big one\n      numa: [%s]\n"

static char *add(const char *text, const char *entries, const char *description)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_idset) ids = { 0 };
    struct ath_err err = { 0 };
    make_machine(&machine);
    parse_good(text, &document);
    ck_assert_int_eq(ath_entries_parse(&document, entries, &ids, &err), 0);
    ck_assert_msg(!ath_roce_card_add(&document, &machine, "0003:01:00.0", &ids, description, &err),
                  "%s", err.message);
    return ath_steal(&document.text);
}

TEST(a_new_card_gets_its_model)
{
    ath_auto_free char *plain = add(MINIMAL, "0,1", NULL);
    ath_auto_free char *named = add(MINIMAL, "1", "mine");
    ath_auto_free char *bare = add(MINIMAL, "1", "");
    ck_assert_str_eq(plain, MINIMAL "roce:\n  cards:\n    - pci: \"0003:01:00.0\"\n"
                                    "      description: \"ConnectX-5 Ex\"\n      numa: [0, 1]\n");
    ck_assert_str_eq(named, MINIMAL "roce:\n  cards:\n    - pci: \"0003:01:00.0\"\n"
                                    "      description: mine\n      numa: [1]\n");
    ck_assert_str_eq(bare, MINIMAL "roce:\n  cards:\n    - pci: \"0003:01:00.0\"\n"
                                   "      numa: [1]\n");
}

TEST(a_known_card_is_changed_in_place)
{
    /* The document may name the card by another function, and in its own spelling. */
    static const char *const spellings[] = { "0003:01:00.0", "33:1:0.1" };

    for (size_t i = 0; i < ATH_COUNT(spellings); i++) {
        ath_auto_free char *old = ath_xasprintf(MINIMAL CARDS, spellings[i], "1,  0");
        ath_auto_free char *new = ath_xasprintf(MINIMAL CARDS, spellings[i], "0");
        ath_auto_free char *same = add(old, "0,1", NULL), *less = add(old, "0", NULL);
        ck_assert_str_eq(same, old);
        ck_assert_str_eq(less, new);
    }
}

TEST(a_removed_card_leaves_the_rest)
{
    static const char *const spellings[] = { "0003:01:00.0", "0033:01:00.1" };
    ATH_AUTO(ath_machine) machine = { 0 };
    make_machine(&machine);

    for (size_t i = 0; i < ATH_COUNT(spellings); i++) {
        ATH_AUTO(ath_document) document = { 0 };
        struct ath_err err = { 0 };
        ath_auto_free char *text = ath_xasprintf(MINIMAL CARDS "# end\n", spellings[i], "0");
        parse_good(text, &document);
        for (int again = 0; again < 2; again++) { /* the second pass has nothing to do */
            ck_assert_int_eq(ath_roce_card_remove(&document, &machine, "0003:01:00.0", &err), 0);
            ck_assert_str_eq(document.text, MINIMAL "roce:\n  cards: []   # ours\n# end\n");
        }
    }
}

#define ENTRY(devices)                                                                             \
    "schema: aitherion.topology/1\nnuma:\n  - id: 0   # first\n    node: 0\n    control_port: 1\n" \
    "    data_port: 2\n" devices

static char *bind(const char *text, const char *device, bool is_bound)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(text, &document);
    ck_assert_msg(!ath_roce_bind(&document, 0, device, is_bound, &err), "%s", err.message);
    return ath_steal(&document.text);
}

TEST(binding_changes_one_list)
{
    static const struct {
        const char *before, *device;
        bool is_bound;
        const char *after;
    } cases[] = {
        { ENTRY(""), "mlx5_0", true, ENTRY("    rdma_devices: [mlx5_0]\n") },
        { ENTRY(""), "mlx5_0", false, ENTRY("") },
        { ENTRY("    rdma_devices: [ mlx5_0 ] # x\n"), "mlx5_0", true,
          ENTRY("    rdma_devices: [ mlx5_0 ] # x\n") },
        { ENTRY("    rdma_devices: [mlx5_0] # x\n"), "mlx5_1", true,
          ENTRY("    rdma_devices: [mlx5_0, mlx5_1] # x\n") },
        { ENTRY("    rdma_devices:\n      - mlx5_0 # a\n      - mlx5_1 # b\n"), "mlx5_0", false,
          ENTRY("    rdma_devices:\n      - mlx5_1 # b\n") },
    };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ath_auto_free char *found = bind(cases[i].before, cases[i].device, cases[i].is_bound);
        ck_assert_str_eq(found, cases[i].after);
    }
}

TEST(binding_refuses_what_it_cannot_write)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    parse_good(MINIMAL, &document);
    ck_assert_int_lt(ath_roce_bind(&document, 0, "a,b", true, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_UNSUPPORTED);
    ck_assert_int_lt(ath_roce_bind(&document, 0, "a b", true, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
    ck_assert_int_lt(ath_roce_bind(&document, 7, "mlx5_0", true, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_KEY_UNKNOWN);
    ck_assert_str_eq(document.text, MINIMAL);
}

TEST(a_device_is_found_by_its_link_and_function)
{
    static const struct {
        const char *name, *device;
    } cases[] = { { "mlx5_1", "mlx5_1" },
                  { "eth2", "mlx5_2" },
                  { "0033:01:00.1", "mlx5_3" },
                  { "rxe0", "rxe0" },
                  { "usb0", "rxe1" } };
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err err = { 0 };
    make_machine(&machine);

    for (size_t i = 0; i < ATH_COUNT(cases); i++)
        ck_assert_str_eq(ath_roce_device_find(&machine, cases[i].name, &err), cases[i].device);
    ck_assert_ptr_null(ath_roce_device_find(&machine, "mlx5_4", &err));
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "did you mean 'mlx5_"));
    ck_assert_ptr_null(ath_roce_device_find(&machine, "eth4", &err));
    ck_assert_int_eq(err.code, ATH_E_NO_RDMA);
}

TEST(far_devices_are_reported_with_the_nearer_ones)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    make_machine(&machine);
    parse_good(MINIMAL, &document);
    const struct ath_document_numa *entry = ath_entry_find(&document, "1", &err);
    ath_auto_free char *far = ath_roce_far_text(&machine, entry, "mlx5_0");
    ck_assert_ptr_nonnull(strstr(far, "mlx5_2, mlx5_3"));
    ck_assert_ptr_null(ath_roce_far_text(&machine, entry, "mlx5_2"));
    ck_assert_ptr_null(ath_roce_far_text(&machine, entry, "rxe0")); /* its node is not known */
    ck_assert_ptr_null(ath_roce_far_text(&machine, entry, "rxe1"));
}
