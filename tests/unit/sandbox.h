/*
 * Network namespaces for tests: a test process leaves for a network and a mount namespace of its
 * own, with an empty /run, so that neither the machine's links nor its namespaces are touched.
 * Where that is not allowed (no root), the program is skipped.
 */
#pragma once
#include <check.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/err.h"
#include "roce/link.h"
#include "roce/netlink.h"

/* Call first in main(): every test is a child of it. Returns 0, or the exit code of a skip. */
static inline int sandbox_enter(void)
{
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) || mount("", "/", "none", MS_REC | MS_PRIVATE, "") ||
        mount("tmpfs", "/run", "tmpfs", 0, "")) {
        printf("skipped: no network namespace of its own here: %s\n", strerror(errno));
        return 77;
    }
    return 0;
}

/* In a test: a namespace that nobody has used yet. */
static inline void sandbox_fresh(void)
{
    ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
}

static inline void sandbox_ok(int status, const struct ath_err *err)
{
    ck_assert_msg(status == 0, "%d: %s", status, err->message);
}

static inline struct ath_netlink *sandbox_netlink(void)
{
    struct ath_netlink *netlink;
    struct ath_err err;
    sandbox_ok(ath_netlink_open(NETLINK_ROUTE, &netlink, &err), &err);
    return netlink;
}

/* A pair of links, both here. */
static inline int sandbox_veth(struct ath_netlink *netlink, const char *name, const char *peer,
                               struct ath_err *err)
{
    struct ath_message message;
    struct ifinfomsg header = { 0 };
    ath_message_begin(&message, netlink, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &header,
                      sizeof header);
    ath_message_put_text(&message, IFLA_IFNAME, name);
    struct nlattr *info = ath_message_nest(&message, IFLA_LINKINFO);
    ath_message_put_text(&message, IFLA_INFO_KIND, "veth");
    struct nlattr *data = ath_message_nest(&message, IFLA_INFO_DATA);
    /* The other end: a header of its own, and attributes behind it. */
    struct {
        struct ifinfomsg header;
        struct nlattr attribute;
        char name[ATH_LINK_NAME_SIZE];
    } other = { .attribute = { .nla_len = (uint16_t)(sizeof(struct nlattr) + strlen(peer) + 1),
                               .nla_type = IFLA_IFNAME } };
    memcpy(other.name, peer, strlen(peer) + 1);
    ath_message_put(&message, VETH_INFO_PEER, &other, sizeof other);
    ath_message_nest_end(&message, data);
    ath_message_nest_end(&message, info);
    return ath_netlink_talk(&message, NULL, err, "cannot create veth '%s'", name);
}

static inline void sandbox_pair(struct ath_netlink *netlink, const char *name, const char *peer)
{
    struct ath_err err;
    sandbox_ok(sandbox_veth(netlink, name, peer, &err), &err);
}
