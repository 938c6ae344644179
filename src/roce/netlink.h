/*
 * Talking to the kernel over netlink (libmnl, loaded late): one request, its answers, its verdict.
 *
 * A socket belongs to the network namespace that its thread was in when it was opened, and stays
 * there: see netns.h for opening one elsewhere. A socket is used by one thread at a time. Private
 * to roce.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ath_netlink;

/* bus is NETLINK_ROUTE or NETLINK_RDMA. Returns 0, or a negative errno with err; -EPROTONOSUPPORT
 * where the kernel lacks the bus. *out is released with ath_netlink_close(). */
int ath_netlink_open(int bus, struct ath_netlink **out, struct ath_err *err);
void ath_netlink_close(struct ath_netlink *netlink); /* takes NULL */

static inline void ath_netlink_close_p(struct ath_netlink *const *netlink)
{
    ath_netlink_close(*netlink);
}
#define ath_auto_netlink __attribute__((cleanup(ath_netlink_close_p)))

/* A request while it is put together. What does not fit makes ath_netlink_talk() fail. */
struct ath_message {
    struct ath_netlink *netlink;
    bool is_too_long;
    _Alignas(struct nlmsghdr) char bytes[1024];
};

/*
 * flags beside NLM_F_REQUEST and NLM_F_ACK, which it sets itself; NLM_F_DUMP asks for a list.
 * header is the family's own (struct ifinfomsg...), copied; NULL with size 0 for none.
 */
void ath_message_begin(struct ath_message *message, struct ath_netlink *netlink, int type,
                       int flags, const void *header, size_t size);
void ath_message_put(struct ath_message *message, int attribute, const void *data, size_t length);
void ath_message_put_u32(struct ath_message *message, int attribute, uint32_t value);
void ath_message_put_text(struct ath_message *message, int attribute, const char *text);
struct nlattr *ath_message_nest(struct ath_message *message, int attribute);
void ath_message_nest_end(struct ath_message *message, struct nlattr *nest);

/* Answers, each a copy of a whole netlink message. */
struct ath_replies {
    struct nlmsghdr **items;
    size_t count;
};
void ath_replies_free(struct ath_replies *replies);

/*
 * Sends the request and waits for the kernel's verdict. A list that changed while it was read
 * (NLM_F_DUMP_INTR) is asked for again. what: what is being done ("cannot delete link 'x'"), the
 * first half of the error's message; the kernel's own words (extended ack) end it. out takes the
 * answers; NULL where none are expected. Returns 0, or a negative errno with err.
 */
int ath_netlink_talk(struct ath_message *message, struct ath_replies *out, struct ath_err *err,
                     const char *what, ...) __attribute__((format(printf, 4, 5)));

/* The family's own header behind a message's (struct ifinfomsg...), which must be known to be
 * there. */
static inline const void *ath_message_payload(const struct nlmsghdr *header)
{
    return (const char *)header + NLMSG_HDRLEN;
}

/* Sorts attributes by type into table[0..max]; a type that is not there (or above max) is NULL. */
void ath_attributes(const struct nlmsghdr *header, size_t family_size, int max,
                    const struct nlattr **table);
void ath_attributes_nested(const struct nlattr *nest, int max, const struct nlattr **table);

/* What an attribute holds: `missing` where there is none, or one too short; texts are NULL then,
 * and the caller frees them. */
uint32_t ath_attribute_u32(const struct nlattr *attribute, uint32_t missing);
uint8_t ath_attribute_u8(const struct nlattr *attribute, uint8_t missing);
char *ath_attribute_text(const struct nlattr *attribute);
const void *ath_attribute_data(const struct nlattr *attribute);
size_t ath_attribute_length(const struct nlattr *attribute);

/*
 * Where the reading of answers stands; for ath_netlink_talk() and its tests.
 *
 * ath_netlink_digest() takes what one receive gave. Messages of another request (sequence) or
 * socket (port) are passed over. Afterwards is_done says whether the verdict is there: status and
 * the kernel's words.
 */
struct ath_exchange {
    uint32_t sequence, port;
    struct ath_replies *replies; /* NULL: answers are dropped */
    bool is_done, is_interrupted;
    int status;
    char text[256];
};
void ath_netlink_digest(struct ath_exchange *exchange, const void *bytes, size_t length);
