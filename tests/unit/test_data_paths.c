/* The paths to a server's addresses, between links of the test's own. */
#include "config.h"

#include "remote/session/data_paths.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/alloc.h"
#include "patience.h"
#include "roce/address.h"
#include "sandbox.h"
#include "unit.h"

PREPARE(sandbox_enter);
SECONDS(60);

static struct ath_err err;
static struct ath_netlink *netlink;

static void put_up(const char *name, const char *text)
{
    struct ath_address address;

    sandbox_ok(ath_address_parse(text, &address, &err), &err);
    sandbox_ok(ath_link_add_address(netlink, name, &address, &err), &err);
}

/* "10.7.0.9:5000 from 10.7.0.2 of b0; ...": the paths in words. */
static const char *paths_to(const char *addresses, bool is_near)
{
    static char words[1024];
    struct ath_data_path paths[ATH_DATA_PATHS_MAX];
    size_t count = ath_data_paths_find(addresses, is_near, paths), length = 0;

    *words = '\0';
    for (size_t i = 0; i < count; i++) {
        char to[ATH_ENDPOINT_TEXT], from[ATH_ENDPOINT_TEXT];
        length += (size_t)snprintf(words + length, sizeof words - length, "%s%s from %s of %s",
                                   length ? "; " : "", ath_data_path_text(&paths[i], to),
                                   ath_data_path_source(&paths[i], from),
                                   *paths[i].link ? paths[i].link : "any");
    }
    return words;
}

/* Two links of this host in one network, and one in another. */
static void make_links(void)
{
    static const char *const pairs[][2] = { { "a0", "a1" }, { "b0", "b1" }, { "c0", "c1" } };

    sandbox_fresh();
    netlink = sandbox_netlink();
    for (size_t i = 0; i < ATH_COUNT(pairs); i++) {
        sandbox_pair(netlink, pairs[i][0], pairs[i][1]);
        for (size_t end = 0; end < 2; end++)
            sandbox_ok(ath_link_set_up(netlink, pairs[i][end], true, &err), &err);
    }
    put_up("a0", "10.7.0.1/24");
    put_up("b0", "10.7.0.2/24");
    put_up("b0", "10.7.0.3/24");
    put_up("c0", "10.8.0.1/24");
    /* The kernel notices soon that the links have a carrier. */
    for (int i = 0; i < PATIENCE_MS && !strstr(paths_to("10.7.0.9:1", false), " of b0"); i++)
        usleep(1000);
}

static void drop_links(void)
{
    ath_netlink_close(netlink);
}

FIXTURE(make_links, drop_links);

TEST(each_link_to_the_network_is_a_path)
{
    ck_assert_str_eq(paths_to("10.7.0.9:5000", false),
                     "10.7.0.9:5000 from 10.7.0.1 of any; 10.7.0.9:5000 from 10.7.0.2 of b0");
    ck_assert_str_eq(paths_to("10.8.0.9:5000", false), "10.8.0.9:5000 from 10.8.0.1 of any");
    /* The first path of each address comes first. */
    ck_assert_str_eq(paths_to("10.7.0.9:1,10.8.0.9:2,10.7.0.8:3", false),
                     "10.7.0.9:1 from 10.7.0.1 of any; 10.8.0.9:2 from 10.8.0.1 of any; "
                     "10.7.0.8:3 from 10.7.0.1 of any; 10.7.0.9:1 from 10.7.0.2 of b0; "
                     "10.7.0.8:3 from 10.7.0.2 of b0");
    /* No route, so no path of another link. */
    ck_assert_str_eq(paths_to("10.9.0.9:5000", false), "10.9.0.9:5000 from  of any");
}

TEST(a_link_that_is_down_is_no_path)
{
    sandbox_ok(ath_link_set_up(netlink, "b0", false, &err), &err);
    ck_assert_str_eq(paths_to("10.7.0.9:5000", false), "10.7.0.9:5000 from 10.7.0.1 of any");
}

/* The kernel moves packets to an own address within the host. */
TEST(an_own_address_has_one_path)
{
    sandbox_ok(ath_link_set_up(netlink, "lo", true, &err), &err);
    ck_assert_str_eq(paths_to("10.7.0.2:5000", false), "10.7.0.2:5000 from 10.7.0.2 of any");
    ck_assert_ptr_null(strchr(paths_to("10.7.0.3:5000", true), ';'));
}

TEST(addresses_of_loopback_are_for_the_same_host)
{
    sandbox_ok(ath_link_set_up(netlink, "lo", true, &err), &err);
    ck_assert_str_eq(paths_to("127.0.0.1:1,[::1]:2,10.8.0.9:3", false),
                     "10.8.0.9:3 from 10.8.0.1 of any");
    ck_assert_str_eq(paths_to("127.0.0.1:1", true), "127.0.0.1:1 from 127.0.0.1 of any");
}

TEST(words_that_are_no_addresses_are_left_out)
{
    ck_assert_str_eq(paths_to("", false), "");
    ck_assert_str_eq(paths_to("host:1,unix:/run/x,,10.8.0.9:3,10.8.0.9:99999", false),
                     "10.8.0.9:3 from 10.8.0.1 of any");
}

TEST(there_are_eight_paths_at_most)
{
    struct ath_data_path paths[ATH_DATA_PATHS_MAX];

    ck_assert_uint_eq(
        ath_data_paths_find("10.7.0.9:1,10.7.0.9:2,10.7.0.9:3,10.7.0.9:4,10.7.0.9:5", false, paths),
        ATH_DATA_PATHS_MAX);
    ck_assert_str_eq(paths[4].link, "");
    ck_assert_str_eq(paths[5].link, "b0");
    ck_assert_uint_eq(ath_data_paths_find("10.7.0.9:1,10.7.0.9:2,10.7.0.9:3,10.7.0.9:4,10.7.0.9:5,"
                                          "10.7.0.9:6,10.7.0.9:7,10.7.0.9:8,10.7.0.9:9",
                                          false, paths),
                      ATH_DATA_PATHS_MAX);
    ck_assert_str_eq(paths[7].link, "");
}

TEST(loopback_is_known)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } rows[] = { { "127.0.0.1", true },   { "127.255.0.9", true }, { "128.0.0.1", false },
                 { "10.0.0.127", false }, { "::1", true },         { "::2", false },
                 { "fe80::1", false } };

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct sockaddr_storage address = { 0 };
        bool is_six = strchr(rows[i].text, ':');
        address.ss_family = is_six ? AF_INET6 : AF_INET;
        void *bytes = is_six ? (void *)&((struct sockaddr_in6 *)&address)->sin6_addr
                             : (void *)&((struct sockaddr_in *)&address)->sin_addr;
        ck_assert_int_eq(inet_pton(address.ss_family, rows[i].text, bytes), 1);
        ck_assert_msg(ath_data_path_is_loopback(&address) == rows[i].is_loopback, "%s",
                      rows[i].text);
    }
    ck_assert(!ath_data_path_is_loopback(&(struct sockaddr_storage){ .ss_family = AF_UNIX }));
}
