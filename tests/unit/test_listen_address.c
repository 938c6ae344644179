/* The address of a link on which the runtime listens. The links are the test's own. */
#include "config.h"

#include "runtime/listen_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unit.h"

/* The addresses of a link "a0", separated by blanks; "-" is one without an address. */
static const char *addresses;
static struct ifaddrs links[8];
static struct sockaddr_storage places[ATH_COUNT(links)];
static size_t link_count;

static void add_link(const char *name, const char *text)
{
    struct ifaddrs *one = &links[link_count];
    struct sockaddr_in *four = (struct sockaddr_in *)&places[link_count];
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&places[link_count];

    places[link_count] =
        (struct sockaddr_storage){ .ss_family = strchr(text, ':') ? AF_INET6 : AF_INET };
    *one = (struct ifaddrs){ .ifa_name = (char *)name };
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1 ||
        inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
        one->ifa_addr = (struct sockaddr *)&places[link_count];
    if (link_count)
        links[link_count - 1].ifa_next = one;
    link_count++;
}

/* This and the next function replace those of the C library. */
int getifaddrs(struct ifaddrs **out)
{
    char copy[256];

    link_count = 0;
    add_link("lo", "127.0.0.1");
    snprintf(copy, sizeof copy, "%s", addresses);
    for (char *rest = copy, *word; (word = strsep(&rest, " "));)
        add_link("a0", word);
    add_link("a00", "10.9.9.9");
    *out = links;
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    (void)list;
}

static const struct {
    const char *addresses, *chosen; /* NULL: none */
} rows[] = {
    { "10.0.0.1", "10.0.0.1" },
    { "10.0.0.1 10.0.0.2", "10.0.0.1" },
    { "fd00::1 fd00::2", "fd00::1" },
    { "fd00::1 10.0.0.1 10.0.0.2 fd00::2", "10.0.0.1" },
    { "10.0.0.1 fd00::1", "10.0.0.1" },
    { "- fe80::1 fd00::1", "fd00::1" },
    { "fe80::1", NULL },
    { "-", NULL },
};

/* IPv4 goes first, and of one kind the first address, which is the link's main one. */
LOOP_TEST(chooses_a_links_address, 0, ATH_COUNT(rows))
{
    struct ath_endpoint found;
    struct ath_err err = { 0 };

    addresses = rows[_i].addresses;
    int status = ath_listen_address_of_link("a0", "50051", "control", &found, &err);
    ck_assert_int_eq(status, rows[_i].chosen ? 0 : -ENODEV);
    if (!rows[_i].chosen) {
        ck_assert_ptr_nonnull(strstr(err.message, "'a0'"));
        return;
    }
    ck_assert_str_eq(found.host, rows[_i].chosen);
    ck_assert_str_eq(found.port, "50051");
}

TEST(finds_the_address_by_the_variables_of_a_container)
{
    struct ath_endpoint found;
    struct ath_err err = { 0 };

    addresses = "10.0.0.1";
    unsetenv("CONTROL_IFACE");
    unsetenv("CAPNP_PORT");
    ck_assert_int_eq(ath_listen_address_find(NULL, &found, &err), 0);
    ck_assert_str_eq(found.host, "127.0.0.1");
    ck_assert_str_eq(found.port, "50051");
    setenv("CONTROL_IFACE", "a0", 1);
    setenv("CAPNP_PORT", "65535", 1);
    ck_assert_int_eq(ath_listen_address_find(NULL, &found, &err), 0);
    ck_assert_str_eq(found.host, "10.0.0.1");
    ck_assert_str_eq(found.port, "65535");
    setenv("CAPNP_PORT", "65536", 1);
    ck_assert_int_eq(ath_listen_address_find(NULL, &found, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "CAPNP_PORT"));
    ck_assert_int_eq(ath_listen_address_find("[::1]:7", &found, &err), 0); /* an option wins */
    ck_assert_str_eq(found.host, "::1");
    ck_assert_str_eq(found.port, "7");
    unsetenv("CONTROL_IFACE");
    unsetenv("CAPNP_PORT");
}
