/* Steps are done at real links. When a later step fails, they are undone and the links are as
 * before. */
#include "config.h"

#include "roce/macvlan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "roce/netns.h"
#include "sandbox.h"
#include "tree.h"
#include "unit.h"

static struct ath_netlink *netlink;
static struct ath_macvlan_plan plan;
static struct ath_err err;

static void setup(void)
{
    sandbox_fresh();
    netlink = sandbox_netlink();
    sandbox_pair(netlink, "a0", "b0");
}

static void teardown(void)
{
    ath_macvlan_plan_free(&plan);
    ath_netlink_close(netlink);
}

static struct ath_address address(const char *text)
{
    struct ath_address parsed;
    sandbox_ok(ath_address_parse(text, &parsed, &err), &err);
    return parsed;
}

static struct ath_macvlan_step *add_step(enum ath_macvlan_action action, const char *link)
{
    struct ath_macvlan_step *step = ath_push(&plan.steps, &plan.count, sizeof *step);
    step->action = action;
    snprintf(step->link, sizeof step->link, "%s", link);
    return step;
}

/* All that steps change at a link: "mtu 1400, alias x, up, mode 4, 10.0.0.1/24, to 10.9.0.0/16".
 * The caller frees the text. */
static char *state_of(const char *name)
{
    ATH_AUTO(ath_link) link = { 0 };
    struct ath_text text = { 0 };
    sandbox_ok(ath_link_read(netlink, name, &link, &err), &err);
    ath_text_add(&text, "mtu %d, alias %s, %s, mode %d", link.mtu, link.alias ? link.alias : "-",
                 link.is_up ? "up" : "down", link.macvlan_mode);
    for (size_t i = 0; i < link.address_count + link.route_count; i++) {
        bool is_route = i >= link.address_count;
        const struct ath_address *item =
            is_route ? &link.routes[i - link.address_count] : &link.addresses[i];
        ath_auto_free char *written = ath_address_format(item);
        if (!item->is_link_local)
            ath_text_add(&text, ", %s%s", is_route ? "to " : "", written);
    }
    return ath_text_take(&text);
}

/* Adds a step that fails: the earlier steps are undone, and the error is the one of that step. */
static void fail_last(void)
{
    add_step(ATH_STEP_MTU, "nosuch0")->mtu = 1500;
    ck_assert_int_lt(ath_macvlan_apply(&plan, &ath_macvlan_live, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "nosuch0"));
    ck_assert_msg(!strstr(err.message, "could not be undone"), "%s", err.message);
    plan.count--;
}

static void apply_all(void)
{
    sandbox_ok(ath_macvlan_apply(&plan, &ath_macvlan_live, &err), &err);
}

PREPARE(sandbox_enter);
FIXTURE(setup, teardown);

TEST(undoes_changes_of_a_link)
{
    const struct ath_address first = address("10.0.0.1/24"), second = address("10.0.1.1/24");
    sandbox_ok(ath_link_set_mtu(netlink, "a0", 1400, &err), &err);
    sandbox_ok(ath_link_set_alias(netlink, "a0", "before", &err), &err);
    sandbox_ok(ath_link_add_address(netlink, "a0", &first, &err), &err);
    ath_auto_free char *before = state_of("a0");
    ck_assert_ptr_nonnull(strstr(before, "mtu 1400, alias before, down"));

    struct ath_macvlan_step *step = add_step(ATH_STEP_MTU, "a0");
    step->mtu = 1300;
    step->old_mtu = 1400;
    step = add_step(ATH_STEP_ALIAS, "a0");
    step->alias = ath_xstrdup("after");
    step->old_alias = ath_xstrdup("before");
    add_step(ATH_STEP_REMOVE_ADDRESS, "a0")->address = first;
    add_step(ATH_STEP_ADD_ADDRESS, "a0")->address = second;
    add_step(ATH_STEP_UP, "a0");
    add_step(ATH_STEP_ADD_ROUTE, "a0")->address = address("10.9.0.0/16");

    fail_last();
    ath_auto_free char *undone = state_of("a0");
    ck_assert_str_eq(undone, before);

    apply_all();
    ath_auto_free char *after = state_of("a0");
    ck_assert_ptr_nonnull(strstr(after, "mtu 1300, alias after, up"));
    ck_assert_ptr_nonnull(strstr(after, "10.0.1.1/24"));
    ck_assert_ptr_nonnull(strstr(after, "to 10.9.0.0/16"));
    ck_assert_ptr_null(strstr(after, "10.0.0.1/24"));

    ath_macvlan_plan_free(&plan);
    add_step(ATH_STEP_REMOVE_ROUTE, "a0")->address = address("10.9.0.0/16");
    fail_last();
    ath_auto_free char *again = state_of("a0");
    ck_assert_str_eq(again, after);
    apply_all();
    ath_auto_free char *without = state_of("a0");
    ck_assert_ptr_null(strstr(without, "to 10.9"));
}

TEST(undoes_a_move_and_its_namespace)
{
    ath_auto_free char *path = ath_netns_path("aitherion-x");
    struct ath_err none;
    add_step(ATH_STEP_MAKE_NETNS, "")->netns = ath_xstrdup("aitherion-x");
    add_step(ATH_STEP_MOVE, "a0")->target = ath_xstrdup(path);
    struct ath_macvlan_step *step = add_step(ATH_STEP_MTU, "a0");
    step->place = ath_xstrdup(path);
    step->mtu = 1300;
    step->old_mtu = 1500;
    fail_last();
    ath_auto_free char *undone = state_of("a0");
    ck_assert_ptr_nonnull(strstr(undone, "mtu 1500"));
    ck_assert_int_lt(ath_netns_open(path, &none), 0);

    apply_all();
    ATH_AUTO(ath_link) link = { 0 };
    ath_auto_netlink struct ath_netlink *there = NULL;
    ck_assert_int_lt(ath_link_read(netlink, "a0", &link, &none), 0);
    sandbox_ok(ath_netns_netlink(path, NETLINK_ROUTE, &there, &err), &err);
    sandbox_ok(ath_link_read(there, "a0", &link, &err), &err);
    ck_assert_int_eq(link.mtu, 1300);
    sandbox_ok(ath_macvlan_take_back(&plan, &err), &err);
    ath_auto_free char *taken = state_of("a0");
    ck_assert_str_eq(taken, undone);
    ck_assert_int_lt(ath_netns_open(path, &none), 0);
}

TEST(restores_a_namespace_with_its_note)
{
    static const char note[] = "aitherion:x /etc/topology.yaml";
    ath_auto_free char *path = ath_netns_path("aitherion-x");
    ath_auto_netlink struct ath_netlink *there = NULL;
    ATH_AUTO(ath_link) lo = { 0 };
    sandbox_ok(ath_netns_create("aitherion-x", &err), &err);
    struct ath_macvlan_step *step = add_step(ATH_STEP_DELETE_NETNS, "");
    step->netns = ath_xstrdup("aitherion-x");
    step->old_alias = ath_xstrdup(note);
    apply_all();
    sandbox_ok(ath_macvlan_take_back(&plan, &err), &err);
    sandbox_ok(ath_netns_netlink(path, NETLINK_ROUTE, &there, &err), &err);
    sandbox_ok(ath_link_read(there, "lo", &lo, &err), &err);
    ck_assert_str_eq(lo.alias, note);
    ck_assert(lo.is_up);
}

/* The mode of a macvlan, and a macvlan that was deleted. Skipped if the kernel has no macvlan. */
TEST(undoes_changes_of_a_macvlan)
{
    ATH_AUTO(ath_link) parent = { 0 };
    sandbox_ok(ath_link_read(netlink, "a0", &parent, &err), &err);
    const struct ath_macvlan_new what = { .name = "m0",
                                          .parent_name = "a0",
                                          .parent_index = parent.index,
                                          .mode = ATH_MACVLAN_PRIVATE,
                                          .mtu = 1400,
                                          .netns = -1 };
    if (ath_link_create_macvlan(netlink, &what, &err)) {
        puts("skipped test: undoes_changes_of_a_macvlan: this kernel has no macvlan");
        return;
    }
    const struct ath_address own = address("10.0.0.1/24");
    sandbox_ok(ath_link_set_alias(netlink, "m0", "aitherion:m0", &err), &err);
    sandbox_ok(ath_link_add_address(netlink, "m0", &own, &err), &err);
    ath_auto_free char *before = state_of("m0");

    struct ath_macvlan_step *step = add_step(ATH_STEP_MODE, "m0");
    step->mode = ATH_MACVLAN_BRIDGE;
    step->old_mode = ATH_MACVLAN_PRIVATE;
    fail_last();
    ath_auto_free char *undone = state_of("m0");
    ck_assert_str_eq(undone, before);

    ath_macvlan_plan_free(&plan);
    step = add_step(ATH_STEP_DELETE, "m0");
    sandbox_ok(ath_link_read(netlink, "m0", &step->old, &err), &err);
    fail_last();
    ath_auto_free char *restored = state_of("m0");
    ck_assert_str_eq(restored, before);
    apply_all();
    ATH_AUTO(ath_link) gone = { 0 };
    ck_assert_int_lt(ath_link_read(netlink, "m0", &gone, &err), 0);
}
