/* Parsing netlink answers, however they end, and errors of the live kernel with its own words. */
#include "config.h"

#include "roce/netlink.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "sandbox.h"
#include "tree.h"
#include "unit.h"

enum { SEQUENCE = 7, PORT = 4242 };

static char bytes[4096];
static size_t length;
static struct ath_replies replies;
static struct ath_exchange exchange;

static void setup(void)
{
    length = 0;
    replies = (struct ath_replies){ 0 };
    exchange = (struct ath_exchange){ .sequence = SEQUENCE, .port = PORT, .replies = &replies };
}

static void teardown(void)
{
    ath_replies_free(&replies);
}

/* Appends a message, and returns it. */
static struct nlmsghdr *put(int type, int flags, const void *data, size_t size)
{
    struct nlmsghdr *header = (struct nlmsghdr *)(void *)(bytes + length);
    *header = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
                                 .nlmsg_type = (uint16_t)type,
                                 .nlmsg_flags = (uint16_t)flags,
                                 .nlmsg_seq = SEQUENCE,
                                 .nlmsg_pid = PORT };
    memcpy(bytes + length + NLMSG_HDRLEN, data, size);
    length += (NLMSG_HDRLEN + size + 3) & ~(size_t)3;
    return header;
}

static void digest(void)
{
    ath_netlink_digest(&exchange, bytes, length);
}

/* Appends an error with the kernel's words, and with a copy of the request if has_request is
 * set. */
static void put_error(int error, bool has_request, const char *text)
{
    struct {
        struct nlmsgerr error;
        char rest[128];
    } whole = { .error = { .error = error, .msg = { .nlmsg_len = NLMSG_HDRLEN + 20 } } };
    size_t at = has_request ? 20 : 0;
    struct nlattr attribute = { .nla_len = (uint16_t)(sizeof(struct nlattr) + strlen(text) + 1),
                                .nla_type = NLMSGERR_ATTR_MSG };
    memcpy(whole.rest + at, &attribute, sizeof attribute);
    strcpy(whole.rest + at + sizeof attribute, text);
    put(NLMSG_ERROR, NLM_F_ACK_TLVS | (has_request ? 0 : NLM_F_CAPPED), &whole,
        sizeof whole.error + at + attribute.nla_len);
}

static bool has_sandbox;

static int enter(void)
{
    has_sandbox = sandbox_enter() == 0;
    return 0;
}

/* Returns whether the test `name` can ask a kernel, and counts it as skipped if it cannot. */
static bool can_ask(const char *name)
{
    if (!has_sandbox)
        printf("skipped test: %s: no network namespace can be made here\n", name);
    return has_sandbox;
}

PREPARE(enter);
FIXTURE(setup, teardown);

TEST(ends_at_the_acknowledgement)
{
    put(RTM_NEWLINK, 0, "abcd", 4);
    put(NLMSG_ERROR, NLM_F_CAPPED, &(struct nlmsgerr){ 0 }, sizeof(struct nlmsgerr));
    digest();
    ck_assert(exchange.is_done);
    ck_assert_int_eq(exchange.status, 0);
    ck_assert_uint_eq(replies.count, 1);
    ck_assert_mem_eq((char *)replies.items[0] + NLMSG_HDRLEN, "abcd", 4);
}

LOOP_TEST(reads_the_kernels_words, 0, 2)
{
    put_error(-EINVAL, _i, "Invalid MTU");
    digest();
    ck_assert(exchange.is_done);
    ck_assert_int_eq(exchange.status, -EINVAL);
    ck_assert_str_eq(exchange.text, "Invalid MTU");
}

/* A number that is no errno could not be negated, or would count as success later. */
LOOP_TEST(takes_no_other_number_for_an_error, 0, 3)
{
    static const int numbers[] = { INT32_MIN, -4096, 1 };
    put(NLMSG_ERROR, NLM_F_CAPPED, &(struct nlmsgerr){ .error = numbers[_i] },
        sizeof(struct nlmsgerr));
    digest();
    ck_assert(exchange.is_done);
    ck_assert_int_eq(exchange.status, -EBADMSG);
}

TEST(takes_no_other_number_for_the_end_of_a_list)
{
    put(NLMSG_DONE, NLM_F_MULTI, &(int){ INT32_MIN }, sizeof(int));
    digest();
    ck_assert_int_eq(exchange.status, -EBADMSG);
}

LOOP_TEST(a_message_has_its_familys_whole_header, 0, 2)
{
    put(RTM_NEWLINK, 0, &(struct ifinfomsg){ 0 }, sizeof(struct ifinfomsg) - (size_t)_i);
    digest();
    ck_assert_uint_eq(replies.count, 1);
    ck_assert_int_eq(ath_message_is(replies.items[0], RTM_NEWLINK, sizeof(struct ifinfomsg)), !_i);
    ck_assert(!ath_message_is(replies.items[0], RTM_NEWADDR, 0));
}

TEST(skips_messages_for_others)
{
    put(NLMSG_ERROR, 0, &(struct nlmsgerr){ .error = -EPERM }, sizeof(struct nlmsgerr))->nlmsg_seq =
        SEQUENCE - 1;
    put(RTM_NEWLINK, 0, "else", 4)->nlmsg_pid = 0; /* a notification */
    digest();
    ck_assert(!exchange.is_done);
    ck_assert_uint_eq(replies.count, 0);
}

TEST(notices_a_changing_list)
{
    put(RTM_NEWLINK, NLM_F_MULTI | NLM_F_DUMP_INTR, "abcd", 4);
    put(NLMSG_DONE, NLM_F_MULTI, &(int){ 0 }, sizeof(int));
    digest();
    ck_assert(exchange.is_done);
    ck_assert(exchange.is_interrupted);
}

TEST(notices_a_list_that_fails_halfway)
{
    put(RTM_NEWLINK, NLM_F_MULTI, "abcd", 4);
    put(NLMSG_DONE, NLM_F_MULTI, &(int){ -ENODEV }, sizeof(int));
    digest();
    ck_assert_int_eq(exchange.status, -ENODEV);
}

/* No byte behind the received ones is read, even if a message claims a greater length. */
LOOP_TEST(survives_wrong_lengths, 0, 5)
{
    static const uint32_t lengths[] = { 0, 1, 15, 4096, UINT32_MAX };
    put(RTM_NEWLINK, 0, "abcd", 4)->nlmsg_len = lengths[_i];
    digest();
    ck_assert(!exchange.is_done);
    ck_assert_uint_eq(replies.count, 0);
}

TEST(reads_attributes_within_their_bounds)
{
    struct {
        struct nlattr head;
        uint32_t value;
        struct nlattr cut; /* claims more bytes than there are */
    } two = { { 8, 1 }, 99, { 64, 2 } };
    const struct nlattr *table[4];
    ath_attributes(put(RTM_NEWLINK, 0, &two, sizeof two), 0, 3, table);
    ck_assert_uint_eq(ath_attribute_u32(table[1], 5), 99);
    ck_assert_ptr_null(table[2]);
    ck_assert_uint_eq(ath_attribute_u32(table[2], 5), 5);
    ck_assert_ptr_null(ath_attribute_text(table[3]));
}

TEST(refuses_a_request_that_is_too_long)
{
    struct ath_netlink *netlink = sandbox_netlink();
    static const char much[4096];
    struct ath_message message;
    struct ath_err err;
    ath_message_begin(&message, netlink, RTM_NEWLINK, 0, NULL, 0);
    ath_message_put(&message, IFLA_IFALIAS, much, sizeof much);
    ck_assert_int_eq(ath_netlink_talk(&message, NULL, &err, "cannot do it"), -EMSGSIZE);
    ath_netlink_close(netlink);
}

/* Live: an invalid MTU is one of the errors for which the kernel adds words. */
TEST(shows_the_kernels_words)
{
    if (!can_ask("shows_the_kernels_words"))
        return;
    sandbox_fresh();
    struct ath_netlink *netlink = sandbox_netlink();
    struct ath_err err;
    sandbox_pair(netlink, "a0", "b0");
    ck_assert_int_eq(ath_link_set_mtu(netlink, "a0", 1, &err), -EINVAL);
    ck_assert_str_eq(err.message, "cannot set the MTU of link 'a0' to 1: Invalid argument "
                                  "(kernel: mtu less than device minimum)");
    ath_netlink_close(netlink);
}

TEST(reports_existing_and_missing_links)
{
    if (!can_ask("reports_existing_and_missing_links"))
        return;
    sandbox_fresh();
    struct ath_netlink *netlink = sandbox_netlink();
    struct ath_err err;
    sandbox_pair(netlink, "a0", "b0");
    ck_assert_int_eq(sandbox_veth(netlink, "a0", "c0", &err), -EEXIST);
    ck_assert_int_eq(err.code, ATH_E_EXISTS);
    ck_assert_int_eq(ath_link_delete(netlink, "none0", &err), -ENODEV);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ath_netlink_close(netlink);
}

TEST(hints_at_sudo_without_root)
{
    if (!can_ask("hints_at_sudo_without_root"))
        return;
    sandbox_fresh();
    struct ath_err err;
    ck_assert_int_eq(seteuid(65534), 0);
    struct ath_netlink *netlink = sandbox_netlink();
    int status = sandbox_veth(netlink, "a0", "b0", &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(status, -EPERM);
    ck_assert_int_eq(err.code, ATH_E_NO_ACCESS);
    ck_assert_ptr_nonnull(strstr(err.hint, "sudo"));
    ath_netlink_close(netlink);
}
