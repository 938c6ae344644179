/* Functions are grouped into cards by slot, by the RDMA devices' GUID and by serial number. */
#include "config.h"

#include "roce/card.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_root root;
static struct ath_ports ports;

static void setup(void)
{
    struct ath_err err;
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    ports = (struct ath_ports){ 0 };
}

static void teardown(void)
{
    ath_ports_free(&ports);
    ath_root_free(&root);
    tree_remove(&tree);
}

static void add(const char *address, int device_id, const char *guid)
{
    struct ath_port *port = ath_ports_add(&ports);
    port->nic.has_pci = true;
    ck_assert_int_eq(ath_pci_parse(address, &port->nic.pci), 0);
    port->nic.vendor_id = 0x15b3;
    port->nic.device_id = device_id;
    port->sys_image_guid = ath_xstrdup(guid);
}

static void group(void)
{
    ath_ports_sort(&ports);
    ath_cards_group(&root, &ports);
}

static const char *card_of(const char *address)
{
    struct ath_pci pci;
    ck_assert_int_eq(ath_pci_parse(address, &pci), 0);
    return ports.items[ath_ports_find(&ports, ports.count, &pci)].nic.card;
}

/* Makes vital product data: an identifier string, then a read-only resource with these fields. */
static size_t make_vpd(uint8_t *out, const char *fields, size_t length)
{
    static const uint8_t head[] = { 0x82, 4, 0, 'c', 'a', 'r', 'd', 0x90 };
    memcpy(out, head, sizeof head);
    out[sizeof head] = (uint8_t)length;
    out[sizeof head + 1] = 0;
    memcpy(out + sizeof head + 2, fields, length);
    out[sizeof head + 2 + length] = 0x78; /* the end tag */
    return sizeof head + 3 + length;
}

static void put_vpd(const char *address, const char *serial)
{
    uint8_t data[128];
    char path[256], fields[64];
    size_t length = (size_t)snprintf(fields, sizeof fields, "PN%c%s", 3, "XYZ");
    length += (size_t)snprintf(fields + length, sizeof fields - length, "SN%c%s",
                               (int)strlen(serial), serial);
    tree_folder(&tree, "sys/bus/pci/devices/%s/x", address);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/vpd", tree.path, address);
    tree_put_bytes(path, data, make_vpd(data, fields, length));
}

FIXTURE(setup, teardown);

TEST(joins_the_shared_card_of_an_ac922_by_guid)
{
    add("0033:01:00.1", 0x1019, "0200:0000:0003:0100");
    add("0003:01:00.0", 0x1019, "0200:0000:0003:0100");
    add("0003:01:00.1", 0x1019, NULL); /* the driver is not loaded */
    add("0033:01:00.0", 0x1019, "0200:0000:0003:0100");
    add("0030:01:00.0", 0x1015, "0200:0000:0030:0100");
    group();
    ck_assert_str_eq(card_of("0003:01:00.0"), "0003:01:00.0");
    ck_assert_str_eq(card_of("0003:01:00.1"), "0003:01:00.0");
    ck_assert_str_eq(card_of("0033:01:00.0"), "0003:01:00.0");
    ck_assert_str_eq(card_of("0033:01:00.1"), "0003:01:00.0");
    ck_assert_str_eq(card_of("0030:01:00.0"), "0030:01:00.0");
}

TEST(joins_by_serial_number)
{
    add("0003:01:00.0", 0x1019, NULL);
    add("0033:01:00.0", 0x1019, NULL);
    add("0034:01:00.0", 0x1019, NULL);
    add("0035:01:00.0", 0x1019, NULL);
    put_vpd("0003:01:00.0", "MT1234X00001");
    put_vpd("0033:01:00.0", "MT1234X00001  ");
    put_vpd("0034:01:00.0", "MT1234X00002");
    group();
    ck_assert_str_eq(card_of("0033:01:00.0"), "0003:01:00.0");
    ck_assert_str_eq(card_of("0034:01:00.0"), "0034:01:00.0");
    ck_assert_str_eq(card_of("0035:01:00.0"), "0035:01:00.0");
}

TEST(keeps_slots_apart_without_guid_and_serial)
{
    add("0000:18:00.0", 0x1017, NULL);
    add("0000:18:00.1", 0x1017, NULL);
    add("0000:3b:00.0", 0x1017, NULL);
    ath_ports_add(&ports); /* a port without a PCI address */
    group();
    ck_assert_str_eq(card_of("0000:18:00.1"), "0000:18:00.0");
    ck_assert_str_eq(card_of("0000:3b:00.0"), "0000:3b:00.0");
    ck_assert_ptr_null(ports.items[3].nic.card);
}

TEST(survives_broken_vital_product_data)
{
    static const uint8_t cut[] = { 0x90, 0x40, 0x00, 'S', 'N', 0x20, 'A' };
    static const uint8_t field_too_long[] = { 0x90, 0x05, 0x00, 'S', 'N', 0x20, 'A', 'B', 0x78 };
    static const uint8_t blank[] = { 0x90, 0x05, 0x00, 'S', 'N', 0x02, ' ', ' ', 0x78 };
    static const uint8_t half_tag[] = { 0x90, 0x05 };
    uint8_t ones[64], good[64];

    memset(ones, 0xff, sizeof ones);
    ck_assert_ptr_null(ath_vpd_serial(cut, sizeof cut));
    ck_assert_ptr_null(ath_vpd_serial(field_too_long, sizeof field_too_long));
    ck_assert_ptr_null(ath_vpd_serial(blank, sizeof blank));
    ck_assert_ptr_null(ath_vpd_serial(half_tag, sizeof half_tag));
    ck_assert_ptr_null(ath_vpd_serial(ones, sizeof ones));
    ck_assert_ptr_null(ath_vpd_serial(NULL, 0));
    size_t length = make_vpd(good, "SN\x04MT12", 7);
    for (size_t cut_at = 0; cut_at < length - 1; cut_at++)
        ck_assert_ptr_null(ath_vpd_serial(good, cut_at));
    ath_auto_free char *serial = ath_vpd_serial(good, length);
    ck_assert_str_eq(serial, "MT12");
}
