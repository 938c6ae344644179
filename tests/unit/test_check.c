/* Faults of a document that do not depend on the machine, and the faults that a change adds. */
#include "config.h"

#include "config/check.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/edit.h"
#include "documents.h"
#include "unit.h"

#define MACVLAN(name, rest) "    - { name: " name ", parent: eth0, " rest " }\n"

static void expect(const char *text, const char *faults)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) found = { 0 };
    parse_good(text, &document);
    size_t count = ath_document_check_alone(&document, &found);
    ath_auto_free char *got = faults_text(&found);
    ck_assert_uint_eq(count, found.count);
    ck_assert_str_eq(got, faults);
}

TEST(addresses_are_unique)
{
    expect(MINIMAL "roce:\n  macvlans:\n" MACVLAN("a", "address: 10.0.0.1/24")
               MACVLAN("b", "address: 10.0.0.2/24") MACVLAN("c", "mtu: 1500"),
           "");
    expect(MINIMAL "roce:\n  macvlans:\n" MACVLAN("a", "address: 10.0.0.1/24")
               MACVLAN("b", "address: 10.0.0.1/25"),
           "8:41 address-twice\n");
    expect(MINIMAL "roce:\n  macvlans:\n" MACVLAN(
               "a", "address: 10.0.0.1/24, host_link: true, host_address: 10.0.0.9/24")
               MACVLAN("b", "address: 10.0.0.9/24"),
           "8:41 address-twice\n");
    /* The address of a link that is not requested does not count. */
    expect(MINIMAL
           "roce:\n  macvlans:\n" MACVLAN("a", "address: 10.0.0.1/24, host_address: 10.0.0.9/24")
               MACVLAN("b", "address: 10.0.0.9/24"),
           "");
}

TEST(addresses_must_be_usable_by_links)
{
    expect(MINIMAL "roce:\n  macvlans:\n" MACVLAN("a", "address: 10.0.0.0/24")
               MACVLAN("b", "address: 10.0.1.0/31"),
           "7:41 address-unfit\n");
    expect(MINIMAL "roce:\n  macvlans:\n" MACVLAN(
               "a", "address: 10.0.0.1/24, host_link: true, host_address: 10.0.0.255/24"),
           "7:85 address-unfit\n");
}

TEST(links_on_the_host_need_an_address_and_bridge_mode)
{
    static const struct {
        const char *rest, *faults;
    } cases[] = {
        { "address: 10.0.0.1/24, host_link: true", "" },
        { "host_link: true", "7:43 host-link\n" },
        { "address: 10.0.0.1/24, mode: vepa, host_link: true", "7:77 host-link\n" },
        { "address: fd00::1/64, host_link: true", "7:64 host-link\n" },
        { "address: fd00::1/64, host_link: true, host_address: fd00::2/64", "" },
        { "address: 10.0.0.1/24, host_link: true, host_address: 10.0.0.1/24",
          "7:85 address-twice\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ATH_AUTO(ath_text) text = { 0 };
        ath_text_add(&text, MINIMAL "roce:\n  macvlans:\n    - { name: a, parent: eth0, %s }\n",
                     cases[i].rest);
        expect(text.data, cases[i].faults);
    }
}

TEST(entries_share_a_gpu_up_to_its_memory)
{
    static const struct {
        const char *first, *second, *faults;
    } cases[] = {
        { "", "", "4:61 gpu-twice\n" },
        { ", vram_fraction: 0.6", ", vram_fraction: 0.5", "4:61 gpu-twice\n" },
        { ", vram_fraction: 0.6", ", vram_fraction: 0.4", "" },
        { ", vram_fraction: 0.601", ", vram_fraction: 0.4", "4:61 gpu-twice\n" },
        { ", vram_fraction: 0.1", ", vram_fraction: 0.9", "" },
        { ", vram_fraction: 0.7", ", vram_fraction: 0.3", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ath_auto_free char *text = ath_xasprintf(
            "schema: aitherion.topology/1\nnuma:\n"
            "  - { id: 0, node: 0, control_port: 1, data_port: 2, gpus: ['0004:04:00.0']%s }\n"
            "  - { id: 1, node: 0, control_port: 3, data_port: 4, gpus: ['4:4:0.0']%s }\n",
            cases[i].first, cases[i].second);
        expect(text, cases[i].faults);
    }
}

/* Shares beyond a GPU's time are a doubt, which `start` accepts. */
TEST(shares_of_identities_add_up_to_a_gpus_time)
{
    static const struct {
        const char *first, *second, *faults;
    } cases[] = {
        { "share: 60", "share: 40", "" },
        { "share: 60", "share: 41", "8:25 shares-above-100\n" },
        { "share: 60", "memory: 1G", "" },
        { "share: 100", "share: 1, gpus: ['0004:04:00.0']", "8:25 shares-above-100\n" },
        { "share: 100, gpus: ['0004:05:00.0']", "share: 100, gpus: ['0004:04:00.0']", "" },
        { "share: 100, gpus: ['0004:05:00.0']", "share: 1, gpus: ['4:5:0.0']",
          "8:25 shares-above-100\n" },
        /* Strict priorities: the lower one gets what is left, whatever its share. */
        { "share: 90", "share: 20, priority: low", "" },
        { "share: 90, cap: true", "share: 20, priority: low", "8:25 shares-above-100\n" },
        { "share: 90, cap: true", "share: 10, priority: low", "" },
        { "share: 60, priority: low", "share: 41, priority: low", "8:25 shares-above-100\n" },
        /* A program of the first one has the priority `normal` until it asks for more. */
        { "share: 60, priority: high", "share: 41", "8:25 shares-above-100\n" },
        { "share: 60, cap: true", "share: 41, cap: true", "8:25 shares-above-100\n" },
        /* No entry serves this GPU. */
        { "share: 100, gpus: ['0004:06:00.0']", "share: 100, gpus: ['0004:06:00.0']", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ATH_AUTO(ath_document) document = { 0 };
        ATH_AUTO(ath_faults) alone = { 0 };
        ATH_AUTO(ath_faults) found = { 0 };
        ath_auto_free char *text = ath_xasprintf(
            "schema: aitherion.topology/1\nnuma:\n"
            "  - { id: 0, node: 0, control_port: 1, data_port: 2, gpus: ['0004:04:00.0'] }\n"
            "  - { id: 1, node: 0, control_port: 3, data_port: 4, gpus: ['4:5:0.0'] }\n"
            "\nidentities:\n  - { name: alice, %s }\n  - { name: bob, %s }\n",
            cases[i].first, cases[i].second);
        parse_good(text, &document);
        ck_assert_uint_eq(ath_document_check_alone(&document, &alone), 0);
        ck_assert_uint_eq(ath_document_check_doubts(&document, &found), found.count);
        ath_auto_free char *got = faults_text(&found);
        ck_assert_str_eq(got, cases[i].faults);
    }
}

LOOP_TEST(a_macvlans_mtu_fits_its_parent, 0, 8)
{
    static const struct {
        int parent_mtu;
        const char *mtu, *faults;
    } cases[] = {
        { 1500, "mtu: 1500", "" },
        { 1500, "mtu: 1501", "7:37 mtu-above-parent\n" },
        { 1500, "mtu: 1499", "" },
        { 9000, "mtu: 9000", "" },
        { 9000, "mtu: 9001", "7:37 mtu-above-parent\n" },
        { ATH_UNKNOWN, "mtu: 9000", "" },
        { 0, "mtu: 9000", "" },
        { 1500, "address: 10.0.0.1/24", "" },
    };
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) found = { 0 };
    for (int id = 0; id <= 8; id += 8) {
        struct ath_numa_node *node = ath_machine_add_node(&machine, id);
        node->is_online = true;
        ath_idset_add(&node->cpus, id, id + 7);
    }
    struct ath_nic *nic = ath_machine_add_nic(&machine);
    nic->netdev = ath_xstrdup("eth0");
    nic->mtu = cases[_i].parent_mtu;
    machine.source = ATH_SOURCE_LIVE;
    ath_machine_finish(&machine);
    ath_auto_free char *text = ath_xasprintf(
        MINIMAL "roce:\n  macvlans:\n    - { name: a, parent: eth0, %s }\n", cases[_i].mtu);
    parse_good(text, &document);
    ath_document_check(&document, &machine, &found);
    ath_auto_free char *got = faults_text(&found);
    ck_assert_str_eq(got, cases[_i].faults);
}

TEST(only_new_faults_are_taken)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) old = { 0 };
    ATH_AUTO(ath_faults) all = { 0 };
    ATH_AUTO(ath_faults) new = { 0 };
    const struct ath_yaml whole = { .end = SIZE_MAX };
    struct ath_err err;

    parse_good(MINIMAL "roce:\n  macvlans:\n" MACVLAN("a", "host_link: true")
                   MACVLAN("b", "address: 10.0.0.1/24"),
               &document);
    ck_assert_uint_eq(ath_document_check_alone(&document, &old), 1);
    ck_assert_int_eq(ath_document_set(&document, "roce.macvlans.b.mode", "vepa", &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "roce.macvlans.b.host_link", "true", &err), 0);
    ck_assert_uint_eq(ath_document_check_alone(&document, &all), 2);
    ath_faults_take_new(&old, &whole, &all, &whole, &new);
    ck_assert_uint_eq(new.count, 1);
    ck_assert_uint_eq(all.count, 1);
    ck_assert_ptr_nonnull(strstr(new.items[0].message, "'b'"));
    ck_assert_ptr_nonnull(strstr(all.items[0].message, "'a'"));

    /* If the part is new, every fault in it is new. */
    ath_faults_take_new(&old, NULL, &all, &whole, &new);
    ck_assert_uint_eq(new.count, 2);
    ck_assert_uint_eq(all.count, 0);
}
