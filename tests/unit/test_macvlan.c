/*
 * Plans of macvlans from made-up kernel states, and undoing after a failed step. Needs no root: the
 * steps themselves run in tests/vm/macvlan.sh.
 */
#include "config.h"

#include "roce/macvlan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "roce/rdma_netlink.h"
#include "tree.h"
#include "unit.h"

#define OWN_PATH "/run/netns/aitherion-mv0"
#define CONTAINER_PATH "/made/up/123/ns/net"

static struct ath_netstate state;
static struct ath_macvlan_plan plan;
static struct ath_macvlan_wanted wanted;
static struct ath_err err;

static struct ath_netstate_place *add_place(const char *name, const char *path)
{
    struct ath_netstate_place *place = ath_push(&state.places, &state.count, sizeof *place);
    place->name = ath_xstrdup(name);
    place->path = ath_xstrdup(path);
    return place;
}

static struct ath_link *add_link(size_t place, const char *name, int index)
{
    struct ath_links *links = &state.places[place].links;
    struct ath_link *link = ath_push(&links->items, &links->count, sizeof *link);
    snprintf(link->name, sizeof link->name, "%s", name);
    link->index = index;
    link->type = ATH_LINK_ETHERNET;
    link->parent_index = link->parent_netns = link->master_index = link->macvlan_mode = ATH_UNKNOWN;
    link->mtu = 9000;
    link->is_up = true;
    link->state = ATH_LINK_UP;
    return link;
}

/* A macvlan child of the host's eth0. */
static struct ath_link *add_macvlan(size_t place, const char *name, const char *alias)
{
    struct ath_link *link = add_link(place, name, 40);
    link->kind = ath_xstrdup("macvlan");
    link->alias = ath_xstrdup(alias);
    link->parent_index = 2;
    link->parent_netns = place ? 0 : ATH_UNKNOWN;
    link->macvlan_mode = ATH_MACVLAN_BRIDGE;
    return link;
}

static void give_address(struct ath_link *link, const char *text, bool is_permanent)
{
    struct ath_address address;
    ck_assert_int_eq(ath_address_parse(text, &address, &err), 0);
    address.is_permanent = is_permanent;
    address.is_link_local = ath_starts_with(text, "fe80");
    *(struct ath_address *)ath_push(&link->addresses, &link->address_count, sizeof address) =
        address;
}

static void give_route(struct ath_link *link, const char *text)
{
    struct ath_address address;
    ck_assert_int_eq(ath_address_parse(text, &address, &err), 0);
    *(struct ath_address *)ath_push(&link->routes, &link->route_count, sizeof address) = address;
}

static struct ath_link *parent(void)
{
    return &state.places[0].links.items[1];
}

static void setup(void)
{
    add_place(NULL, NULL);
    add_link(0, "lo", 1)->type = ATH_LINK_LOOPBACK;
    give_address(add_link(0, "eth0", 2), "192.168.100.1/24", true);
    wanted = (struct ath_macvlan_wanted){ .name = "mv0",
                                          .parent = "eth0",
                                          .mode = ATH_MACVLAN_BRIDGE,
                                          .address = "192.168.100.10/24",
                                          .mtu = ATH_UNKNOWN };
}

static void teardown(void)
{
    ath_netstate_free(&state);
    ath_macvlan_plan_free(&plan);
}

/* Adds a namespace whose lo has the alias `label`, and returns its index in state.places. */
static size_t add_namespace(const char *name, const char *path, const char *label)
{
    add_place(name, path);
    struct ath_link *lo = add_link(state.count - 1, "lo", 1);
    lo->type = ATH_LINK_LOOPBACK;
    lo->alias = ath_xstrdup(label);
    return state.count - 1;
}

/* Adds the namespace of mv0 in its final state. */
static size_t add_own(void)
{
    return add_namespace("aitherion-mv0", OWN_PATH, "aitherion:mv0");
}

static struct ath_link *add_made(void)
{
    struct ath_link *link = add_macvlan(add_own(), "mv0", "aitherion:mv0");
    give_address(link, "192.168.100.10/24", true);
    give_address(link, "fe80::1/64", true);
    return link;
}

/* Checks the texts of the plan's steps, one line for each step. */
static void expect(const char *expected)
{
    ATH_AUTO(ath_text) text = { 0 };
    for (size_t i = 0; i < plan.count; i++)
        ath_text_add(&text, "%s\n", plan.steps[i].text);
    ck_assert_str_eq(text.data ? text.data : "", expected);
}

static void expect_plan(const char *expected)
{
    int status = ath_macvlan_plan(&wanted, &state, &plan, &err);
    ck_assert_msg(!status, "%s", err.message);
    expect(expected);
}

static void expect_delete(const char *expected)
{
    int status = ath_macvlan_plan_delete("mv0", &state, &plan, &err);
    ck_assert_msg(!status, "%s", err.message);
    expect(expected);
}

static void refuse(enum ath_error code, const char *message, const char *hint)
{
    ck_assert_int_lt(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
    ck_assert_str_eq(err.message, message);
    ck_assert_str_eq(ath_error_word(err.code), ath_error_word(code));
    ck_assert_str_eq(err.hint, hint);
    ck_assert_uint_eq(plan.count, 0);
}

FIXTURE(setup, teardown);

TEST(makes_everything_from_nothing)
{
    expect_plan(
        "make network namespace 'aitherion-mv0'\n"
        "bring link 'lo' up, in namespace 'aitherion-mv0'\n"
        "create macvlan 'mv0' on 'eth0', mode bridge, MTU 9000, in namespace 'aitherion-mv0'\n"
        "label link 'mv0' as 'aitherion:mv0', in namespace 'aitherion-mv0'\n"
        "give address '192.168.100.10/24' to link 'mv0', in namespace 'aitherion-mv0'\n"
        "bring link 'mv0' up, in namespace 'aitherion-mv0'\n");
}

TEST(plans_nothing_if_all_is_done)
{
    add_made();
    expect_plan("");
}

TEST(notes_the_document)
{
    struct ath_link *lo;
    wanted.document = "/etc/a.yaml";
    expect_plan(
        "make network namespace 'aitherion-mv0'\n"
        "bring link 'lo' up, in namespace 'aitherion-mv0'\n"
        "note the macvlan's document '/etc/a.yaml', in namespace 'aitherion-mv0'\n"
        "create macvlan 'mv0' on 'eth0', mode bridge, MTU 9000, in namespace 'aitherion-mv0'\n"
        "label link 'mv0' as 'aitherion:mv0', in namespace 'aitherion-mv0'\n"
        "give address '192.168.100.10/24' to link 'mv0', in namespace 'aitherion-mv0'\n"
        "bring link 'mv0' up, in namespace 'aitherion-mv0'\n");
    ck_assert_str_eq(plan.steps[2].alias, "aitherion:mv0 /etc/a.yaml");
    ck_assert_str_eq(plan.steps[2].old_alias, "aitherion:mv0");
    ath_macvlan_plan_free(&plan);

    add_made();
    lo = &state.places[1].links.items[0];
    ck_assert_ptr_null(ath_macvlan_document("mv0", &state));
    free(lo->alias);
    lo->alias = ath_xstrdup("aitherion:mv0 /etc/a.yaml");
    expect_plan("");
    ck_assert_str_eq(ath_macvlan_document("mv0", &state), "/etc/a.yaml");
    ck_assert_ptr_null(ath_macvlan_document("mv1", &state));

    wanted.document = "/etc/b.yaml"; /* another document takes it over */
    expect_plan("note the macvlan's document '/etc/b.yaml', in namespace 'aitherion-mv0'\n");
    ck_assert_str_eq(plan.steps[0].old_alias, "aitherion:mv0 /etc/a.yaml");
    ath_macvlan_plan_free(&plan);
    wanted.document = NULL; /* the note stays */
    expect_plan("");
    ck_assert_int_eq(ath_macvlan_plan_delete("mv0", &state, &plan, &err), 0);
    ck_assert_str_eq(plan.steps[plan.count - 1].old_alias, "aitherion:mv0 /etc/a.yaml");
}

/* An alias has at most IFALIASZ - 1 = 255 bytes. */
LOOP_TEST(leaves_out_a_note_that_is_too_long, 0, 2)
{
    char path[243] = "/";
    memset(path + 1, 'a', sizeof path - 1);
    path[241 + _i] = '\0';
    add_made();
    wanted.document = path;
    ck_assert_int_eq(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
    ck_assert_uint_eq(plan.count, _i ? 0 : 1);
    if (plan.count)
        ck_assert_uint_eq(strlen(plan.steps[0].alias), 255);
}

/* The state after another run was killed between two steps. */
TEST(finishes_a_run_that_was_killed)
{
    size_t own = add_own();
    state.places[own].links.items[0].is_up = false;
    struct ath_link *link = add_macvlan(own, "mv0", NULL);
    link->is_up = false;
    expect_plan("bring link 'lo' up, in namespace 'aitherion-mv0'\n"
                "label link 'mv0' as 'aitherion:mv0', in namespace 'aitherion-mv0'\n"
                "give address '192.168.100.10/24' to link 'mv0', in namespace 'aitherion-mv0'\n"
                "bring link 'mv0' up, in namespace 'aitherion-mv0'\n");
}

TEST(changes_only_what_differs)
{
    struct ath_link *link = add_made();
    wanted.mode = ATH_MACVLAN_VEPA;
    wanted.mtu = 1500;
    wanted.address = "192.168.100.10/16";
    give_address(link, "2001:db8::9/64", false); /* received from a router */
    expect_plan("set macvlan 'mv0' to mode vepa, in namespace 'aitherion-mv0'\n"
                "set the MTU of link 'mv0' to 1500, in namespace 'aitherion-mv0'\n"
                "take address '192.168.100.10/24' from link 'mv0', in namespace 'aitherion-mv0'\n"
                "give address '192.168.100.10/16' to link 'mv0', in namespace 'aitherion-mv0'\n");
    /* an undo goes back to these */
    ck_assert_int_eq(plan.steps[0].mode, ATH_MACVLAN_VEPA);
    ck_assert_int_eq(plan.steps[0].old_mode, ATH_MACVLAN_BRIDGE);
    ck_assert_int_eq(plan.steps[1].mtu, 1500);
    ck_assert_int_eq(plan.steps[1].old_mtu, 9000);
    ck_assert_int_eq(plan.steps[2].address.prefix, 24);
    ck_assert_int_eq(plan.steps[3].address.prefix, 16);
}

TEST(keeps_addresses_if_none_is_wanted)
{
    add_made();
    wanted.address = NULL;
    expect_plan("");
}

/* The kernel can change neither the parent nor the mode to passthru. */
LOOP_TEST(recreates_link_for_new_parent_or_passthru, 0, 2)
{
    struct ath_link *link = add_made();
    if (_i == 0)
        link->parent_index = 77;
    else
        wanted.mode = ATH_MACVLAN_PASSTHRU;
    ck_assert_int_eq(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
    ck_assert_uint_eq(plan.count, 5);
    ck_assert_int_eq(plan.steps[0].action, ATH_STEP_DELETE);
    ck_assert_str_eq(plan.steps[0].old.name, "mv0");
    ck_assert_uint_eq(plan.steps[0].old.address_count, 2);
    ck_assert_int_eq(plan.steps[0].old.mtu, 9000);
    ck_assert_int_eq(plan.steps[0].old.macvlan_mode, ATH_MACVLAN_BRIDGE);
    ck_assert_str_eq(plan.steps[0].parent, _i == 0 ? "if77" : "eth0");
    ck_assert_int_eq(plan.steps[1].action, ATH_STEP_CREATE);
    ck_assert_int_eq(plan.steps[1].mode, (int)wanted.mode);
    ck_assert_int_eq(plan.steps[4].action, ATH_STEP_UP);
}

TEST(moves_into_a_container)
{
    add_made();
    add_place(NULL, CONTAINER_PATH);
    wanted.netns_path = CONTAINER_PATH;
    expect_plan("move link 'mv0' to namespace '" CONTAINER_PATH "'\n"
                "give address '192.168.100.10/24' to link 'mv0', in namespace '" CONTAINER_PATH
                "'\n"
                "bring link 'mv0' up, in namespace '" CONTAINER_PATH "'\n");
}

/* A link may stay in a container; a plan without a container does not move the link back. */
TEST(leaves_a_moved_link_with_its_container)
{
    add_place(NULL, CONTAINER_PATH);
    struct ath_link *link = add_macvlan(1, "mv0", "aitherion:mv0");
    give_address(link, "192.168.100.10/24", true);
    expect_plan("");
    wanted.netns_path = CONTAINER_PATH;
    ath_macvlan_plan_free(&plan);
    expect_plan("");
    link->is_up = false;
    ath_macvlan_plan_free(&plan);
    expect_plan("bring link 'mv0' up, in namespace '" CONTAINER_PATH "'\n");
}

TEST(creates_link_in_own_namespace_before_moving)
{
    add_place(NULL, CONTAINER_PATH);
    wanted.netns_path = CONTAINER_PATH;
    ck_assert_int_eq(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
    ck_assert_uint_eq(plan.count, 7);
    ck_assert_int_eq(plan.steps[2].action, ATH_STEP_CREATE);
    ck_assert_str_eq(plan.steps[2].place, OWN_PATH);
    ck_assert_int_eq(plan.steps[3].action, ATH_STEP_ALIAS); /* before it moves */
    ck_assert_int_eq(plan.steps[4].action, ATH_STEP_MOVE);
    ck_assert_str_eq(plan.steps[6].place, CONTAINER_PATH);
}

TEST(makes_a_companion_on_the_host)
{
    add_made();
    wanted.wants_companion = true;
    expect_plan("create macvlan 'mv0-host' on 'eth0', mode bridge, MTU 9000, in namespace "
                "'aitherion-mv0'\n"
                "label link 'mv0-host' as 'aitherion:mv0:host', in namespace 'aitherion-mv0'\n"
                "move link 'mv0-host' to the host\n"
                "bring link 'mv0-host' up, on the host\n"
                "route '192.168.100.10/32' through link 'mv0-host', on the host\n");
}

TEST(keeps_and_drops_a_companion)
{
    add_made();
    struct ath_link *link = add_macvlan(0, "mv0-host", "aitherion:mv0:host");
    give_route(link, "192.168.100.10/32");
    wanted.wants_companion = true;
    expect_plan("");
    wanted.wants_companion = false;
    ath_macvlan_plan_free(&plan);
    expect_plan("delete link 'mv0-host', on the host\n");
}

TEST(changes_the_companions_route_with_the_address)
{
    add_made();
    give_route(add_macvlan(0, "mv0-host", "aitherion:mv0:host"), "192.168.100.9/32");
    wanted.wants_companion = true;
    wanted.companion_address = "192.168.100.20/24";
    expect_plan("give address '192.168.100.20/24' to link 'mv0-host', on the host\n"
                "remove the route to '192.168.100.9/32' through link 'mv0-host', on the host\n"
                "route '192.168.100.10/32' through link 'mv0-host', on the host\n");
}

TEST(names_companions_within_fifteen_letters)
{
    ath_auto_free char *fits = ath_macvlan_companion_name("0123456789");
    ath_auto_free char *one = ath_macvlan_companion_name("datalink-numa0a");
    ath_auto_free char *two = ath_macvlan_companion_name("datalink-numa0b");
    ck_assert_str_eq(fits, "0123456789-host");
    ck_assert_uint_eq(strlen(one), 15);
    ck_assert(ath_starts_with(one, "datali"));
    ck_assert_str_ne(one, two);
    ck_assert(ath_link_name_is_valid(one));
}

static const struct {
    const char *address, *companion;
    enum ath_macvlan_mode mode;
    const char *message;
} wrong_companions[] = {
    { "192.168.100.10/24", NULL, ATH_MACVLAN_PRIVATE,
      "the companion of 'mv0' works only in mode bridge, not in mode private" },
    { NULL, NULL, ATH_MACVLAN_BRIDGE, "'mv0' needs an address to have a companion on the host" },
    { "192.168.101.10/24", NULL, ATH_MACVLAN_BRIDGE,
      "the companion of 'mv0' needs an address of its own: the host has none in the network of "
      "'192.168.101.10/24'" },
    { "fd00::10/64", NULL, ATH_MACVLAN_BRIDGE,
      "for IPv6 the companion of 'mv0' needs an address of its own" },
    { "fd00::10/64", "fd00::10", ATH_MACVLAN_BRIDGE,
      "'fd00::10' is not an address with a prefix length" },
};

LOOP_TEST(refuses_useless_companions, 0, ATH_COUNT(wrong_companions))
{
    wanted.wants_companion = true;
    wanted.address = wrong_companions[_i].address;
    wanted.companion_address = wrong_companions[_i].companion;
    wanted.mode = wrong_companions[_i].mode;
    refuse(ATH_E_VALUE_INVALID, wrong_companions[_i].message,
           wrong_companions[_i].companion ? "write it like 192.168.100.10/24 or fd00::10/64" : "");
}

TEST(refuses_a_missing_parent)
{
    wanted.parent = "eth9";
    refuse(ATH_E_NOT_FOUND, "cannot create macvlan 'mv0': there is no link 'eth9'",
           "aitherion roce list");
}

TEST(refuses_infiniband)
{
    parent()->type = ATH_LINK_INFINIBAND;
    parent()->device = ath_xstrdup("0003:01:00.1");
    refuse(ATH_E_LINK_NOT_ETHERNET,
           "cannot create a macvlan on 'eth0': the port is in InfiniBand mode",
           "mlxconfig -d 0003:01:00.1 set LINK_TYPE_P2=2");
}

TEST(refuses_lo)
{
    wanted.parent = "lo";
    refuse(ATH_E_LINK_NOT_ETHERNET, "cannot create a macvlan on 'lo': it is not an Ethernet link",
           "aitherion roce list");
}

TEST(refuses_a_macvlan_as_parent)
{
    add_macvlan(0, "other", NULL);
    wanted.parent = "other";
    refuse(ATH_E_PARENT_UNSUITABLE, "cannot create a macvlan on 'other': it is a macvlan itself",
           "use its parent 'eth0'");
}

TEST(refuses_part_of_a_bridge)
{
    add_link(0, "br0", 9);
    parent()->master_index = 9;
    refuse(ATH_E_PARENT_UNSUITABLE, "cannot create a macvlan on 'eth0': it is part of 'br0'",
           "use 'br0' as the parent");
}

/* The other macvlan is in another namespace, but its parent is the host's eth0. */
TEST(refuses_a_parent_in_passthru)
{
    add_place("blue", "/run/netns/blue");
    add_macvlan(1, "alone", NULL)->macvlan_mode = ATH_MACVLAN_PASSTHRU;
    refuse(ATH_E_PARENT_UNSUITABLE,
           "cannot create a macvlan on 'eth0': its macvlan 'alone' is in passthru mode, which "
           "allows no other macvlan",
           "");
}

TEST(refuses_passthru_beside_others)
{
    add_macvlan(0, "other", NULL);
    wanted.mode = ATH_MACVLAN_PASSTHRU;
    refuse(ATH_E_PARENT_UNSUITABLE,
           "cannot create a macvlan on 'eth0': passthru mode allows no other macvlan, and the "
           "link has 'other'",
           "");
}

TEST(keeps_own_macvlan_in_passthru)
{
    add_made()->macvlan_mode = ATH_MACVLAN_PASSTHRU;
    wanted.mode = ATH_MACVLAN_PASSTHRU;
    expect_plan("");
}

TEST(refuses_wrong_mtus)
{
    wanted.mtu = 9001;
    refuse(ATH_E_VALUE_INVALID, "the MTU '9001' is above the MTU of the parent 'eth0', 9000",
           "ip link set eth0 mtu 9001");
    wanted.mtu = 67;
    refuse(ATH_E_VALUE_INVALID, "the MTU '67' is below the minimum, 68", "");
}

LOOP_TEST(refuses_an_address_in_use, 0, 2)
{
    if (_i == 0) {
        give_address(parent(), "192.168.100.10/16", true);
        refuse(ATH_E_ADDRESS_IN_USE,
               "the address '192.168.100.10/24' is in use: link 'eth0' has it (host)",
               "give 'mv0' another address");
    } else {
        add_namespace("aitherion-mv1", "/run/netns/aitherion-mv1", "aitherion:mv1");
        give_address(add_macvlan(1, "mv1", "aitherion:mv1"), "192.168.100.10/24", true);
        refuse(ATH_E_ADDRESS_IN_USE,
               "the address '192.168.100.10/24' is in use: link 'mv1' has it (aitherion-mv1)",
               "give 'mv0' another address");
    }
}

/* A foreign container may use the same private addresses. */
TEST(ignores_addresses_of_foreign_links)
{
    add_place(NULL, CONTAINER_PATH);
    give_address(add_link(1, "eth0", 5), "192.168.100.10/24", true);
    ck_assert_int_eq(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
}

TEST(refuses_a_name_that_is_taken)
{
    add_link(0, "mv0", 7);
    refuse(ATH_E_FOREIGN, "the link 'mv0' exists already (host), and aitherion did not make it",
           "choose another name");
    wanted.name = "mv1";
    wanted.wants_companion = true;
    add_macvlan(0, "mv1-host", NULL);
    refuse(ATH_E_FOREIGN,
           "the link 'mv1-host' exists already (host), and aitherion did not make it",
           "choose another name");
}

TEST(refuses_invalid_names)
{
    wanted.name = "a/b";
    refuse(ATH_E_VALUE_INVALID, "'a/b' is not a valid name for a network link",
           "use 1 to 15 characters, without spaces, '/' and ':'");
}

TEST(refuses_a_missing_namespace)
{
    wanted.netns_path = CONTAINER_PATH;
    refuse(ATH_E_NOT_FOUND,
           "the network namespace '" CONTAINER_PATH
           "' does not exist, or this user may not enter it",
           "");
}

TEST(deletes_link_companion_and_namespace)
{
    expect_delete("");
    add_made();
    add_macvlan(0, "mv0-host", "aitherion:mv0:host");
    add_macvlan(0, "mv1-host", "aitherion:mv1:host");
    add_link(1, "sit0", 9); /* the kernel adds it to every namespace */
    expect_delete("delete link 'mv0-host', on the host\n"
                  "delete link 'mv0', in namespace 'aitherion-mv0'\n"
                  "delete network namespace 'aitherion-mv0'\n");
}

/* Undoing a deletion creates the link again, and an error then names the parent. */
LOOP_TEST(deletion_names_the_parent, 0, 2)
{
    struct ath_link *link = add_made();
    if (_i == 1)
        link->parent_index = 77;
    ck_assert_int_eq(ath_macvlan_plan_delete("mv0", &state, &plan, &err), 0);
    ck_assert_int_eq(plan.steps[0].action, ATH_STEP_DELETE);
    ck_assert_str_eq(plan.steps[0].parent, _i == 1 ? "if77" : "eth0");
}

TEST(deletes_from_a_container)
{
    add_place(NULL, CONTAINER_PATH);
    add_macvlan(1, "mv0", "aitherion:mv0");
    expect_delete("delete link 'mv0', in namespace '" CONTAINER_PATH "'\n");
}

LOOP_TEST(deletes_nothing_foreign, 0, 3)
{
    if (_i == 0)
        add_macvlan(0, "mv0", NULL);
    else if (_i == 1)
        add_macvlan(0, "mv0", "aitherion:other"); /* the alias must have the same name */
    else
        add_link(add_own(), "eth7", 7);
    ck_assert_int_lt(ath_macvlan_plan_delete("mv0", &state, &plan, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_FOREIGN);
    ck_assert_uint_eq(plan.count, 0);
}

/* A namespace with our name but without our label is not used, not deleted and not listed. */
LOOP_TEST(ignores_a_foreign_namespace_with_our_name, 0, 3)
{
    static const char *const labels[] = { NULL, "aitherion:mv1", "somebody:else" };
    char **names;
    size_t count;
    size_t own = add_namespace("aitherion-mv0", OWN_PATH, labels[_i]);
    ath_macvlan_names(&state, &names, &count);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(ath_macvlan_state("mv0", &state, NULL, NULL), ATH_MACVLAN_RECORDED);
    expect_delete("");
    refuse(ATH_E_FOREIGN,
           "the network namespace 'aitherion-mv0' exists already, and aitherion did not make it",
           "choose another name");
    add_macvlan(own, "mv0", "aitherion:mv0"); /* another program moved it there */
    ck_assert_int_eq(ath_macvlan_state("mv0", &state, NULL, NULL), ATH_MACVLAN_MOVED);
    expect_delete("delete link 'mv0', in namespace 'aitherion-mv0'\n");
}

TEST(reports_the_state)
{
    const struct ath_netstate_place *place;
    const struct ath_link *link;
    ck_assert_int_eq(ath_macvlan_state("mv0", &state, &place, &link), ATH_MACVLAN_RECORDED);
    ck_assert(!place && !link);
    size_t own = add_own();
    ck_assert_int_eq(ath_macvlan_state("mv0", &state, NULL, NULL), ATH_MACVLAN_GONE);
    add_place(NULL, CONTAINER_PATH);
    add_macvlan(own + 1, "mv0", "aitherion:mv0");
    ck_assert_int_eq(ath_macvlan_state("mv0", &state, &place, &link), ATH_MACVLAN_MOVED);
    ck_assert_str_eq(place->path, CONTAINER_PATH);
    ath_links_free(&state.places[own + 1].links);
    add_macvlan(own, "mv0", "aitherion:mv0");
    ck_assert_int_eq(ath_macvlan_state("mv0", &state, NULL, &link), ATH_MACVLAN_MADE);
    ck_assert_str_eq(link->name, "mv0");
    ck_assert_str_eq(ath_macvlan_state_word(ATH_MACVLAN_MADE), "made");
}

TEST(lists_all_names)
{
    char **names;
    size_t count;
    add_own();
    add_macvlan(0, "zz-host", "aitherion:zz:host");
    add_macvlan(0, "aa", "aitherion:aa");
    add_macvlan(0, "foreign", "somebody:else");
    add_place("blue", "/run/netns/blue");
    ath_macvlan_names(&state, &names, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(names[0], "aa");
    ck_assert_str_eq(names[1], "mv0");
    ck_assert_str_eq(names[2], "zz");
    ath_names_free(names, count);
}

/* Ops that log each step, and fail at chosen steps. */
struct recorder {
    struct ath_text log;
    size_t runs, fail_run, fail_undo; /* counted from 1; 0: never */
};

static int record_run(void *context, const struct ath_macvlan_step *step, struct ath_err *out_err)
{
    struct recorder *recorder = context;
    if (++recorder->runs == recorder->fail_run)
        return ath_err_set(out_err, -EBUSY, ATH_E_BUSY, "step %zu broke", recorder->runs);
    ath_text_add(&recorder->log, "+%d", (int)step->action);
    return 0;
}

static int record_undo(void *context, const struct ath_macvlan_step *step, struct ath_err *out_err)
{
    struct recorder *recorder = context;
    ath_text_add(&recorder->log, "-%d", (int)step->action);
    if (step->action == ATH_STEP_CREATE && recorder->fail_undo)
        return ath_err_set(out_err, -EIO, ATH_E_IO, "the undoing broke");
    return 0;
}

LOOP_TEST(undoes_in_reverse, 0, 7)
{
    struct recorder recorder = { .fail_run = (size_t)_i };
    const struct ath_macvlan_ops ops = { record_run, record_undo, &recorder };
    static const char *const logs[] = {
        "+0+12+2+4+8+12",         "", "+0-0", "+0+12-12-0", "+0+12+2-2-12-0", "+0+12+2+4-4-2-12-0",
        "+0+12+2+4+8-8-4-2-12-0",
    };
    ck_assert_int_eq(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
    ck_assert_int_eq(ath_macvlan_apply(&plan, &ops, &err), _i ? -EBUSY : 0);
    ck_assert_str_eq(recorder.log.data ? recorder.log.data : "", logs[_i]);
    if (_i) {
        ath_auto_free char *message = ath_xasprintf("step %d broke", _i);
        ck_assert_str_eq(err.message, message);
    }
    ath_text_free(&recorder.log);
}

TEST(reports_both_errors)
{
    struct recorder recorder = { .fail_run = 5, .fail_undo = 1 };
    const struct ath_macvlan_ops ops = { record_run, record_undo, &recorder };
    ck_assert_int_eq(ath_macvlan_plan(&wanted, &state, &plan, &err), 0);
    ck_assert_int_eq(ath_macvlan_apply(&plan, &ops, &err), -EBUSY);
    ck_assert_str_eq(err.message,
                     "step 5 broke; undoing the earlier steps failed: the undoing broke");
    ck_assert_int_eq(err.code, ATH_E_BUSY);
    ck_assert_str_eq(recorder.log.data,
                     "+0+12+2+4-4-2-12-0"); /* the other steps were undone nevertheless */
    ath_text_free(&recorder.log);
}

TEST(knows_when_a_port_is_ready)
{
    struct ath_nldev_port port = { .number = 1, .state = ATH_RDMA_PORT_DOWN };
    ck_assert_int_eq(ath_rdma_readiness_of(NULL, parent(), true), ATH_RDMA_NOT_THERE);
    ck_assert_int_eq(ath_rdma_readiness_of(&port, parent(), true), ATH_RDMA_NOT_ACTIVE);
    port.state = ATH_RDMA_PORT_ACTIVE;
    ck_assert_int_eq(ath_rdma_readiness_of(&port, NULL, true), ATH_RDMA_NO_LINK);
    ck_assert_int_eq(ath_rdma_readiness_of(&port, NULL, false), ATH_RDMA_READY);
    give_address(parent(), "fe80::1/64", true);
    parent()->addresses[1].is_tentative = true;
    ck_assert_int_eq(ath_rdma_readiness_of(&port, parent(), true), ATH_RDMA_TENTATIVE);
    parent()->addresses[1].is_duplicate =
        true; /* it will never be usable, so nothing waits for it */
    ck_assert_int_eq(ath_rdma_readiness_of(&port, parent(), true), ATH_RDMA_READY);
    parent()->state = ATH_LINK_DOWN;
    ck_assert_int_eq(ath_rdma_readiness_of(&port, parent(), true), ATH_RDMA_LINK_DOWN);
}

TEST(reads_devices_from_a_capture)
{
    ATH_AUTO(ath_nldevs) devices = { 0 };
    struct tree tree;
    struct ath_root root;
    tree_make(&tree);
    tree_put(&tree, "4: ACTIVE\n", "sys/class/infiniband/mlx5_0/ports/1/state");
    tree_put(&tree, "ens1\n", "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0");
    tree_put(&tree, "1: DOWN\n", "sys/class/infiniband/mlx5_1/ports/1/state");
    tree_put(&tree, "Y\n", "sys/module/ib_core/parameters/netns_mode");
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    ck_assert_int_eq(ath_nldevs_read(&root, &devices, &err), 0);
    ck_assert_uint_eq(devices.count, 2);
    const struct ath_nldev_port *port = ath_nldevs_port(&devices, "mlx5_0", 1);
    ck_assert_ptr_nonnull(port);
    ck_assert_int_eq(port->state, ATH_RDMA_PORT_ACTIVE);
    ck_assert_str_eq(port->netdev, "ens1");
    ck_assert_int_eq(devices.items[1].ports[0].state, ATH_RDMA_PORT_DOWN);
    ck_assert_ptr_null(ath_nldevs_port(&devices, "mlx5_0", 2));
    ck_assert_int_eq(ath_rdma_netns_mode_read(&root), ATH_RDMA_NETNS_SHARED);
    ath_root_free(&root);
    tree_remove(&tree);
}
