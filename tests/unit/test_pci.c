/* PCI addresses in every format, and distances checked against `nvidia-smi topo -m` of an AC922. */
#include "config.h"

#include "base/pci.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pci_names.h"
#include "tree.h"
#include "unit.h"

TEST(reads_addresses)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "0004:04:00.0", "0004:04:00.0" },   { "00000004:04:00.0", "0004:04:00.0" },
        { "04:00.1", "0000:04:00.1" },        { "0035:0A:1f.7", "0035:0a:1f.7" },
        { "10000:e1:00.0", "10000:e1:00.0" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct ath_pci address;
        char text[ATH_PCI_TEXT];
        ck_assert_int_eq(ath_pci_parse(rows[i].text, &address), 0);
        ck_assert_str_eq(ath_pci_format(&address, text), rows[i].expected);
    }
}

TEST(refuses_invalid_addresses)
{
    static const char *const bad[] = { "",
                                       "0000",
                                       "0000:00:00",
                                       "0000:00:20.0",
                                       "0000:00:00.8",
                                       "0000:100:00.0",
                                       "g000:00:00.0",
                                       "0000:00:00.0 ",
                                       "0000:00:00.00",
                                       "123456789:00:00.0",
                                       ":00:00.0" };
    for (size_t i = 0; i < ATH_COUNT(bad); i++) {
        struct ath_pci address = { .domain = 77 };
        ck_assert_msg(ath_pci_parse(bad[i], &address) < 0, "'%s' was accepted", bad[i]);
        ck_assert_uint_eq(address.domain, 77);
    }
}

TEST(finds_the_function_in_a_path)
{
    struct ath_pci address;
    char text[ATH_PCI_TEXT];

    ck_assert(ath_pci_of_path("../../devices/pci0003:00/0003:00:00.0/0003:01:00.0/net/enP3p1s0f0",
                              &address));
    ck_assert_str_eq(ath_pci_format(&address, text), "0003:01:00.0");
    ck_assert(ath_pci_of_path("../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0", &address));
    ck_assert_str_eq(ath_pci_format(&address, text), "0000:00:03.0");
    ck_assert(!ath_pci_of_path("../../devices/virtual/net/lo", &address));
    ck_assert(!ath_pci_of_path("", &address));
}

TEST(orders_by_all_parts)
{
    static const char *const ordered[] = { "0000:00:00.0", "0000:00:00.1", "0000:00:01.0",
                                           "0000:0a:00.0", "0001:00:00.0", "10000:00:00.0" };
    for (size_t i = 0; i + 1 < ATH_COUNT(ordered); i++) {
        struct ath_pci a, b;
        ck_assert_int_eq(ath_pci_parse(ordered[i], &a), 0);
        ck_assert_int_eq(ath_pci_parse(ordered[i + 1], &b), 0);
        ck_assert_int_lt(ath_pci_compare(&a, &b), 0);
        ck_assert_int_gt(ath_pci_compare(&b, &a), 0);
        ck_assert(ath_pci_equals(&a, &a));
    }
}

/* Places are from ac922-4gpu.bootlog-extract.txt, classes from ac922-4gpu.smi-topo-numactl.txt. */
TEST(agrees_with_topo_m)
{
    static const char gpu0[] = "pci0004:00/0004:00:00.0/0004:01:00.0/0004:02:0a.0";
    static const char card0[] = "pci0003:00/0003:00:00.0", card1[] = "pci0033:00/0033:00:00.0";

    ck_assert_int_eq(ath_pci_class_between(gpu0, 0, card0, 0), ATH_PCI_NODE);
    ck_assert_int_eq(ath_pci_class_between(gpu0, 0, card1, 8), ATH_PCI_SYS);
    ck_assert_int_eq(ath_pci_class_between(card0, 0, card0, 0), ATH_PCI_PIX);
    ck_assert_int_eq(ath_pci_class_between(card0, 0, card1, 8), ATH_PCI_SYS);
}

TEST(counts_switches)
{
    static const char root[] = "pci0000:00";
    static const char port_a[] = "pci0000:00/0000:00:01.0", port_b[] = "pci0000:00/0000:00:02.0";
    static const char one[] = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0";
    static const char two[] = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0";
    static const char deep[] =
        "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:08.0/0000:05:00.0/0000:06:00.0";

    ck_assert_int_eq(ath_pci_class_between(one, 0, two, 0), ATH_PCI_PIX);
    ck_assert_int_eq(ath_pci_class_between(one, 0, deep, 0), ATH_PCI_PXB);
    ck_assert_int_eq(ath_pci_class_between(port_a, 0, port_b, 0), ATH_PCI_PHB);
    ck_assert_int_eq(ath_pci_class_between(root, 0, root, 0), ATH_PCI_PHB);
    ck_assert_int_eq(ath_pci_class_between(one, -1, two, -1), ATH_PCI_PIX);
}

TEST(reports_unknown_distances)
{
    ck_assert_int_eq(ath_pci_class_between(NULL, 0, "pci0000:00", 0), ATH_PCI_UNKNOWN);
    ck_assert_int_eq(ath_pci_class_between(NULL, 0, NULL, 8), ATH_PCI_SYS);
    ck_assert_int_eq(ath_pci_class_between("pci0000:00", -1, "pci0001:00", 0), ATH_PCI_UNKNOWN);
    ck_assert_str_eq(ath_pci_class_word(ATH_PCI_UNKNOWN), "?");
}

TEST(names_devices)
{
    ck_assert_str_eq(ath_pci_name(0x15b3, 0x1019), "ConnectX-5 Ex");
    ck_assert_str_eq(ath_pci_name(0x10de, 0x1db1), "Tesla V100 SXM2 16GB");
    ck_assert_str_eq(ath_pci_name(0x10de, 0x2901), "B200");
    ck_assert_str_eq(ath_pci_name(0x10de, 0x2941), "GB200");
    ck_assert_str_eq(ath_pci_name(0x10de, 0x2e12), "GB10");
    ck_assert_str_eq(ath_pci_name(0x1da3, 0x1060), "Gaudi 3");
    ck_assert_str_eq(ath_pci_name(0x1002, 0x75a0), "Instinct MI350X");
    ck_assert_str_eq(ath_pci_name(0x17db, 0x0501), "Slingshot 200Gb");
    ck_assert_ptr_null(ath_pci_name(0x10de, 0x15b3));
    ck_assert_ptr_null(ath_pci_name(-1, -1));
}

/* A GPU of a text has a number as its key: no address, and nothing that can be parsed as one. */
TEST(numbered_keys_are_no_addresses)
{
    const struct ath_pci three = ath_pci_numbered(3), ten = ath_pci_numbered(10), bus = { 0 };
    char text[ATH_PCI_TEXT];
    struct ath_pci read;

    ck_assert(!ath_pci_is_address(&three));
    ck_assert(ath_pci_is_address(&bus));
    ck_assert_str_eq(ath_pci_format(&three, text), "3");
    ck_assert_int_eq(ath_pci_parse(text, &read), -EINVAL);
    ck_assert_int_lt(ath_pci_compare(&three, &ten), 0);
    ck_assert(!ath_pci_equals(&(struct ath_pci){ .domain = 3 }, &three));
    ck_assert(!ath_pci_same_slot(&(struct ath_pci){ .domain = 3 }, &three));
    ck_assert(!ath_pci_same_slot(&three, &three));
}
