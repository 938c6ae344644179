/*
 * Network namespaces for tests: the test program enters its own network and mount namespace with an
 * empty /run, so that the machine's links and namespaces stay untouched. If that is not allowed (no
 * root), the program is skipped.
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

/* Must be called first in main(), since every test runs in a child process. Returns 0, or the exit
 * code of a skip. */
static inline int sandbox_enter(void)
{
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) || mount("", "/", "none", MS_REC | MS_PRIVATE, "") ||
        mount("tmpfs", "/run", "tmpfs", 0, "")) {
        printf("skipped: cannot make a network namespace: %s\n", strerror(errno));
        return 77;
    }
    return 0;
}

/* Enters a new, empty network namespace; called within a test. */
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

/* Makes a pair of veth links, both in this namespace. */
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
    /* The peer has its own header, followed by attributes. */
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
