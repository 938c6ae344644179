/* Links, addresses and routes in a separate namespace, on veth pairs. */
#include "config.h"

#include "roce/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "patience.h"
#include "roce/netns.h"
#include "roce/rdma_netlink.h"
#include "sandbox.h"
#include "tree.h"
#include "unit.h"

static struct ath_netlink *netlink;
static struct ath_err err;

static void setup(void)
{
    sandbox_fresh();
    netlink = sandbox_netlink();
    sandbox_pair(netlink, "a0", "b0");
}

static void teardown(void)
{
    ath_netlink_close(netlink);
}

static void read_link(const char *name, struct ath_link *out)
{
    ath_link_free(out);
    sandbox_ok(ath_link_read(netlink, name, out, &err), &err);
}

static struct ath_address address(const char *text)
{
    struct ath_address parsed;
    sandbox_ok(ath_address_parse(text, &parsed, &err), &err);
    return parsed;
}

PREPARE(sandbox_enter);
SECONDS(30);
FIXTURE(setup, teardown);

TEST(reads_a_link)
{
    ATH_AUTO(ath_links) links = { 0 };
    sandbox_ok(ath_links_read(netlink, &links, &err), &err);
    const struct ath_link *a = ath_links_find(&links, "a0"), *b = ath_links_find(&links, "b0");
    const struct ath_link *lo = ath_links_find(&links, "lo");
    ck_assert(a && b && lo);
    ck_assert_str_eq(a->kind, "veth");
    ck_assert_int_eq(a->type, ATH_LINK_ETHERNET);
    ck_assert_int_eq(lo->type, ATH_LINK_LOOPBACK);
    ck_assert_ptr_null(lo->kind);
    ck_assert_int_eq(a->mtu, 1500);
    ck_assert_uint_eq(strlen(a->mac), 17);
    ck_assert_int_eq(a->parent_index, b->index);
    ck_assert_int_eq(a->parent_netns, ATH_UNKNOWN);
    ck_assert_int_eq(lo->parent_index, ATH_UNKNOWN);
    ck_assert_int_eq(a->master_index, ATH_UNKNOWN);
    ck_assert_int_eq(a->macvlan_mode, ATH_UNKNOWN);
    ck_assert_ptr_null(a->alias);
    ck_assert(!a->is_up && a->state == ATH_LINK_DOWN);
    ck_assert_ptr_eq(ath_links_by_index(&links, b->index), b);
    ck_assert(!ath_link_is_ours(a));
}

TEST(sets_mtu_alias_and_state)
{
    ATH_AUTO(ath_link) link = { 0 };
    sandbox_ok(ath_link_set_mtu(netlink, "a0", 1400, &err), &err);
    sandbox_ok(ath_link_set_alias(netlink, "a0", "aitherion:a0", &err), &err);
    sandbox_ok(ath_link_set_up(netlink, "a0", true, &err), &err);
    sandbox_ok(ath_link_set_up(netlink, "b0", true, &err), &err);
    /* The kernel reports the state up to a second later (net/core/link_watch.c). */
    sandbox_ok(ath_link_wait(NULL, "a0", 10000, &err), &err);
    read_link("a0", &link);
    ck_assert_int_eq(link.mtu, 1400);
    ck_assert_str_eq(link.alias, "aitherion:a0");
    ck_assert(link.is_up && link.state == ATH_LINK_UP);
    ck_assert(ath_link_has_alias(&link, "aitherion:a0"));
    ck_assert(
        !ath_link_is_ours(&link)); /* the alias alone does not count: the link is not a macvlan */
    sandbox_ok(ath_link_set_alias(netlink, "a0", "", &err), &err);
    sandbox_ok(ath_link_set_up(netlink, "a0", false, &err), &err);
    read_link("a0", &link);
    ck_assert(!link.alias && !link.is_up && link.state == ATH_LINK_DOWN);
}

LOOP_TEST(adds_and_removes_addresses, 0, 2)
{
    static const char *const texts[] = { "192.168.7.1/24", "fd00:7::1/64" };
    ATH_AUTO(ath_link) link = { 0 };
    struct ath_address wanted = address(texts[_i]);

    sandbox_ok(ath_link_add_address(netlink, "a0", &wanted, &err), &err);
    read_link("a0", &link);
    ck_assert_uint_eq(link.address_count, 1);
    ck_assert(ath_address_equals(&link.addresses[0], &wanted));
    ck_assert(link.addresses[0].is_permanent && !link.addresses[0].is_link_local);
    ath_auto_free char *text = ath_address_format(&link.addresses[0]);
    ck_assert_str_eq(text, texts[_i]);

    ck_assert_int_eq(ath_link_add_address(netlink, "a0", &wanted, &err), -EEXIST);
    ck_assert_ptr_nonnull(strstr(err.message, texts[_i]));
    sandbox_ok(ath_link_remove_address(netlink, "a0", &wanted, &err), &err);
    ck_assert_int_eq(ath_link_remove_address(netlink, "a0", &wanted, &err), -EADDRNOTAVAIL);
    read_link("a0", &link);
    ck_assert_uint_eq(link.address_count, 0);
}

/* With both ends up, IPv6 runs duplicate address detection. */
TEST(waits_for_duplicate_address_detection)
{
    ATH_AUTO(ath_link) link = { 0 };
    struct ath_address wanted = address("fd00:7::1/64");
    sandbox_ok(ath_link_set_up(netlink, "a0", true, &err), &err);
    sandbox_ok(ath_link_set_up(netlink, "b0", true, &err), &err);
    sandbox_ok(ath_link_add_address(netlink, "a0", &wanted, &err), &err);
    read_link("a0", &link);
    ck_assert(!ath_link_is_settled(&link));
    for (int waited_ms = 0; waited_ms < PATIENCE_MS && !ath_link_is_settled(&link);
         waited_ms += 100) {
        usleep(100000);
        read_link("a0", &link);
    }
    ck_assert(ath_link_is_settled(&link));
    ck_assert_uint_eq(link.address_count, 2); /* also the link-local one */
}

TEST(adds_and_removes_routes)
{
    ATH_AUTO(ath_link) link = { 0 };
    struct ath_address own = address("192.168.7.1/24"), far = address("192.168.9.9/32");
    sandbox_ok(ath_link_set_up(netlink, "a0", true, &err), &err);
    sandbox_ok(ath_link_add_address(netlink, "a0", &own, &err), &err);
    sandbox_ok(ath_link_add_route(netlink, "a0", &far, &err), &err);
    read_link("a0", &link);
    ck_assert_uint_eq(link.route_count, 1); /* without the kernel's own route to 192.168.7.0/24 */
    ck_assert(ath_address_equals(&link.routes[0], &far));
    sandbox_ok(ath_link_remove_route(netlink, "a0", &far, &err), &err);
    read_link("a0", &link);
    ck_assert_uint_eq(link.route_count, 0);
}

TEST(moves_a_link)
{
    ATH_AUTO(ath_link) link = { 0 };
    struct ath_netlink *there;
    sandbox_ok(ath_netns_create("aitherion-t", &err), &err);
    ath_auto_close int netns = ath_netns_open(ATH_NETNS_FOLDER "/aitherion-t", &err);
    sandbox_ok(ath_link_set_alias(netlink, "b0", "aitherion:b0", &err), &err);
    sandbox_ok(ath_link_set_mtu(netlink, "b0", 1300, &err), &err);
    sandbox_ok(ath_link_move(netlink, "b0", netns, &err), &err);

    ck_assert_int_eq(ath_link_read(netlink, "b0", &link, &err), -ENODEV);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    sandbox_ok(ath_netns_netlink(ATH_NETNS_FOLDER "/aitherion-t", NETLINK_ROUTE, &there, &err),
               &err);
    sandbox_ok(ath_link_read(there, "b0", &link, &err), &err);
    ck_assert_str_eq(link.alias, "aitherion:b0"); /* label and MTU move with the link */
    ck_assert_int_eq(link.mtu, 1300);
    ck_assert_int_ne(link.parent_netns, ATH_UNKNOWN); /* the peer is in another namespace now */
    ath_netlink_close(there);
    sandbox_ok(ath_netns_delete("aitherion-t", &err), &err);
}

TEST(refuses_to_move_to_a_taken_name)
{
    struct ath_netlink *there;
    sandbox_ok(ath_netns_create("aitherion-t", &err), &err);
    ath_auto_close int netns = ath_netns_open(ATH_NETNS_FOLDER "/aitherion-t", &err);
    sandbox_ok(ath_netns_netlink(ATH_NETNS_FOLDER "/aitherion-t", NETLINK_ROUTE, &there, &err),
               &err);
    sandbox_pair(there, "b0", "c0");
    ck_assert_int_eq(ath_link_move(netlink, "b0", netns, &err), -EEXIST);
    ath_netlink_close(there);
    sandbox_ok(ath_netns_delete("aitherion-t", &err), &err);
}

/* If the kernel has macvlan, the link is created. Otherwise the error names the module to load. */
TEST(creates_macvlan_or_reports_missing_module)
{
    ATH_AUTO(ath_link) parent = { 0 }, link = { 0 };
    read_link("a0", &parent);
    const struct ath_macvlan_new what = { .name = "m0",
                                          .parent_name = "a0",
                                          .parent_index = parent.index,
                                          .mode = ATH_MACVLAN_PRIVATE,
                                          .mtu = 1400,
                                          .mac = "02:00:00:00:00:07",
                                          .netns = -1 };
    int status = ath_link_create_macvlan(netlink, &what, &err);
    if (status) {
        ck_assert_int_eq(status, -EOPNOTSUPP);
        ck_assert_int_eq(err.code, ATH_E_UNSUPPORTED);
        ck_assert_str_eq(err.message, "cannot create macvlan 'm0' on 'a0': Operation not supported "
                                      "(kernel: Unknown device type)");
        ck_assert_str_eq(err.hint, "modprobe macvlan");
        return;
    }
    read_link("m0", &link);
    ck_assert(ath_link_is_macvlan(&link));
    ck_assert_int_eq(link.parent_index, parent.index);
    ck_assert_int_eq(link.macvlan_mode, ATH_MACVLAN_PRIVATE);
    ck_assert_int_eq(link.mtu, 1400);
    ck_assert_str_eq(link.mac, "02:00:00:00:00:07");
    sandbox_ok(ath_link_set_macvlan_mode(netlink, "m0", ATH_MACVLAN_BRIDGE, &err), &err);
    read_link("m0", &link);
    ck_assert_int_eq(link.macvlan_mode, ATH_MACVLAN_BRIDGE);
    sandbox_ok(ath_link_delete(netlink, "m0", &err), &err);
}

/* The list needs more than one receive. */
TEST(reads_many_links)
{
    ATH_AUTO(ath_links) links = { 0 };
    enum { PAIRS = 60 };
    for (int i = 1; i <= PAIRS; i++) {
        char name[16], peer[16];
        snprintf(name, sizeof name, "x%d", i);
        snprintf(peer, sizeof peer, "y%d", i);
        sandbox_pair(netlink, name, peer);
    }
    sandbox_ok(ath_links_read(netlink, &links, &err), &err);
    ck_assert_uint_ge(links.count, 2 * PAIRS + 3);
    ck_assert_ptr_nonnull(ath_links_find(&links, "y60"));
}

static const struct {
    const char *name;
    bool is_valid;
} names[] = {
    { "macvlan0", true },
    { "a", true },
    { "", false },
    { ".", false },
    { "..", false },
    { "a/b", false },
    { "a b", false },
    { "a:b", false },
    { "fifteen-letters", true },
    { "sixteen-letters0", false },
    { "a\n", false },
};

LOOP_TEST(accepts_names_like_the_kernel, 0, ATH_COUNT(names))
{
    ck_assert_int_eq(ath_link_name_is_valid(names[_i].name), names[_i].is_valid);
}

static const char *const wrong_addresses[] = { "",          "192.168.1.1",  "192.168.1.1/33",
                                               "fd00::1",   "fd00::1/129",  "1.2.3/24",
                                               "1.2.3.4/x", "1.2.3.4/0",    "fd00::1::/64",
                                               "/24",       "300.1.1.1/24", "1.2.3.4/-1" };

LOOP_TEST(refuses_wrong_addresses, 0, ATH_COUNT(wrong_addresses))
{
    struct ath_address parsed;
    ck_assert_int_eq(ath_address_parse(wrong_addresses[_i], &parsed, &err), -EINVAL);
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
}

static const struct {
    const char *text, *why; /* why NULL: a link can have the address */
} fitness[] = {
    { "192.168.1.1/24", NULL },
    { "192.168.1.254/24", NULL },
    { "10.0.0.0/31", NULL },
    { "10.0.0.1/31", NULL },
    { "10.0.0.0/32", NULL },
    { "10.1.0.255/16", NULL },
    { "10.1.1.0/16", NULL },
    { "240.0.0.1/8", NULL },
    { "fd00::1/64", NULL },
    { "fd00::ffff:ffff:ffff:ffff/64", NULL },
    { "fd00::/127", NULL },
    { "fd00::/128", NULL },
    { "192.168.1.0/24", "it is its network's own address" },
    { "10.1.0.0/16", "it is its network's own address" },
    { "10.0.0.4/30", "it is its network's own address" },
    { "192.168.1.255/24", "it is its network's broadcast address" },
    { "10.0.0.7/30", "it is its network's broadcast address" },
    { "255.255.255.255/32", "it is the broadcast address" },
    { "224.0.0.1/24", "it is a multicast address" },
    { "239.1.1.1/32", "it is a multicast address" },
    { "127.0.0.1/8", "it is a loopback address" },
    { "0.0.0.0/8", "it is an unspecified address" },
    { "0.1.2.3/8", "it is an unspecified address" },
    { "fd00::/64", "it is the anycast address of its network's routers" },
    { "ff02::1/128", "it is a multicast address" },
    { "::1/128", "it is the loopback address" },
    { "::/128", "it is the unspecified address" },
};

LOOP_TEST(accepts_addresses_that_a_link_can_have, 0, sizeof fitness / sizeof *fitness)
{
    struct ath_address parsed = address(fitness[_i].text);
    const char *why = ath_address_unfit(&parsed);
    ck_assert_pstr_eq(why, fitness[_i].why);
}

TEST(compares_addresses)
{
    struct ath_address a = address("10.0.0.1/24"), b = address("10.0.0.1/16"),
                       c = address("a00:1::/24");
    ck_assert(ath_address_is_same_host(&a, &b) && !ath_address_equals(&a, &b));
    ck_assert(!ath_address_is_same_host(&a, &c)); /* the first four bytes are equal */
    struct ath_address network = address("10.0.1.0/23"), other = address("10.0.2.0/23");
    ck_assert(ath_address_is_within(&a, &network) && !ath_address_is_within(&a, &other));
    ck_assert(ath_address_is_within(&a, &b) && !ath_address_is_within(&c, &b));
    struct ath_address host = address("10.0.0.1/32"), next = address("10.0.0.0/32");
    ck_assert(ath_address_is_within(&a, &host) && !ath_address_is_within(&a, &next));
}
