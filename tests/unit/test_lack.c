/* The reasons why a port has no usable GID. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "documents.h"
#include "roce/lack.h"
#include "unit.h"

#define IPV4 "0000:0000:0000:0000:0000:ffff:c0a8:6401"
#define LINK_LOCAL "fe80:0000:0000:0000:0000:00ff:fe03:0100"

static const struct {
    const char *word; /* NULL: nothing is missing */
    enum ath_link_layer layer;
    enum ath_link_state link;
    const char *netdev, *master, *gid; /* gid NULL: no usable GID */
    bool has_roce;
    const char *mend;
} cases[] = {
    { NULL, ATH_LAYER_ETHERNET, ATH_LINK_UP, "eth0", NULL, IPV4, true, NULL },
    { NULL, ATH_LAYER_ETHERNET, ATH_LINK_UNKNOWN, "eth0", NULL, IPV4, true, NULL },
    { "link-down", ATH_LAYER_ETHERNET, ATH_LINK_DOWN, "eth0", NULL, IPV4, true,
      "ip link set eth0 up, and look at its cable: ethtool eth0" },
    { "link-local", ATH_LAYER_ETHERNET, ATH_LINK_UP, "eth0", NULL, LINK_LOCAL, true,
      "ip address add ADDRESS/PREFIX dev eth0" },
    { "no-address", ATH_LAYER_ETHERNET, ATH_LINK_UP, "eth0", NULL, NULL, true,
      "ip address add ADDRESS/PREFIX dev eth0" },
    { "no-address", ATH_LAYER_ETHERNET, ATH_LINK_UP, "eth0", "bond0", NULL, true,
      "ip address add ADDRESS/PREFIX dev bond0" },
    { "link-away", ATH_LAYER_ETHERNET, ATH_LINK_UP, NULL, NULL, NULL, true, NULL },
    { "not-known", ATH_LAYER_ETHERNET, ATH_LINK_UP, "eth0", NULL, NULL, false, NULL },
    { NULL, ATH_LAYER_INFINIBAND, ATH_LINK_UP, "ib0", NULL, LINK_LOCAL, false, NULL },
    { "inactive", ATH_LAYER_INFINIBAND, ATH_LINK_DOWN, "ib0", NULL, LINK_LOCAL, false,
      "ibstat mlx5_0" },
    { "not-known", ATH_LAYER_INFINIBAND, ATH_LINK_UP, NULL, NULL, NULL, false, NULL },
};

LOOP_TEST(reports_the_first_obstacle, 0, ATH_COUNT(cases))
{
    struct ath_gid gid = { .index = 3, .is_usable = true };
    struct ath_nic nic;
    ath_nic_init(&nic);
    nic.link_layer = cases[_i].layer;
    nic.link = cases[_i].link;
    nic.rdma_device = (char *)"mlx5_0";
    nic.netdev = (char *)cases[_i].netdev;
    nic.master = (char *)cases[_i].master;
    nic.has_roce = cases[_i].has_roce;
    if (cases[_i].gid) {
        strcpy(gid.address, cases[_i].gid);
        nic.gids = &gid;
        nic.gid_count = 1;
        nic.best_gid_index = 3;
    }
    enum ath_lack lack = ath_nic_lack(&nic);
    ath_auto_free char *mend = ath_lack_mend(lack, &nic);
    ck_assert_pstr_eq(ath_lack_word(lack), cases[_i].word);
    ck_assert_int_eq(!ath_lack_text(lack), !cases[_i].word);
    ck_assert_pstr_eq(mend, cases[_i].mend);
}

TEST(names_a_port_whose_link_is_up_but_that_is_not_active)
{
    struct ath_gid gid = { .index = 3, .is_usable = true, .address = IPV4 };
    struct ath_nic nic;

    ath_nic_init(&nic);
    nic.rdma_device = (char *)"mlx5_0";
    nic.netdev = (char *)"eth0";
    nic.link_layer = ATH_LAYER_ETHERNET;
    nic.link = ATH_LINK_UP;
    nic.rdma_state = ATH_LINK_DOWN;
    nic.has_roce = true;
    nic.gids = &gid;
    nic.gid_count = 1;
    ath_nic_take_gid(&nic, &gid);
    ck_assert_ptr_null(ath_nic_gid(&nic));
    ck_assert_int_eq(ath_nic_lack(&nic), ATH_LACK_INACTIVE);
    ath_auto_free char *mend = ath_lack_mend(ATH_LACK_INACTIVE, &nic);
    ck_assert_str_eq(mend, "rdma link show mlx5_0");

    nic.rdma_state = ATH_LINK_UP;
    ath_nic_take_gid(&nic, &gid);
    ck_assert_ptr_eq(ath_nic_gid(&nic), &gid);
    ck_assert_int_eq(ath_nic_lack(&nic), ATH_LACK_NOTHING);
}
