/*
 * Requests to the kernel over netlink (libmnl, loaded when the first socket is opened).
 *
 * A socket belongs to the network namespace that its thread was in when the socket was opened, and
 * stays there. netns.h opens one in another namespace. A socket is used by one thread at a time.
 * Private to roce.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ath_netlink;

/* Opens a socket on a bus, NETLINK_ROUTE or NETLINK_RDMA. The caller closes *out with
 * ath_netlink_close(). Returns 0, or a negative errno with err: -EPROTONOSUPPORT if the kernel
 * lacks the bus. */
int ath_netlink_open(int bus, struct ath_netlink **out, struct ath_err *err);
void ath_netlink_close(struct ath_netlink *netlink); /* takes NULL */

static inline void ath_netlink_close_p(struct ath_netlink *const *netlink)
{
    ath_netlink_close(*netlink);
}
#define ath_auto_netlink __attribute__((cleanup(ath_netlink_close_p)))

/* A request while it is built. If it grows too long, ath_netlink_talk() fails with -EMSGSIZE. */
struct ath_message {
    struct ath_netlink *netlink;
    bool is_too_long;
    _Alignas(struct nlmsghdr) char bytes[1024];
};

/*
 * Begins a request. flags are added to NLM_F_REQUEST and NLM_F_ACK; NLM_F_DUMP asks for a list.
 * header is the family's own header (struct ifinfomsg...), which is copied; NULL with size 0 for
 * none.
 */
void ath_message_begin(struct ath_message *message, struct ath_netlink *netlink, int type,
                       int flags, const void *header, size_t size);
void ath_message_put(struct ath_message *message, int attribute, const void *data, size_t length);
void ath_message_put_u32(struct ath_message *message, int attribute, uint32_t value);
void ath_message_put_text(struct ath_message *message, int attribute, const char *text);
struct nlattr *ath_message_nest(struct ath_message *message, int attribute);
void ath_message_nest_end(struct ath_message *message, struct nlattr *nest);

/* Answers; each item is an owned copy of a whole netlink message. */
struct ath_replies {
    struct nlmsghdr **items;
    size_t count;
};
void ath_replies_free(struct ath_replies *replies);

/*
 * Sends the request and waits for the kernel's acknowledgement. A list that changed while it was
 * read (NLM_F_DUMP_INTR) is requested again. `what` says what the request does ("cannot delete link
 * 'x'") and begins the error message; the kernel's own words (extended ack) end it. *out takes the
 * answers; NULL drops them. Returns 0, or a negative errno with err.
 */
int ath_netlink_talk(struct ath_message *message, struct ath_replies *out, struct ath_err *err,
                     const char *what, ...) __attribute__((format(printf, 4, 5)));

/* Returns whether a message is of a type, and has the family's whole header. */
static inline bool ath_message_is(const struct nlmsghdr *header, int type, size_t family_size)
{
    return header->nlmsg_type == type && header->nlmsg_len >= NLMSG_HDRLEN + family_size;
}

/* Returns the family's own header (struct ifinfomsg...) behind the netlink header. The caller must
 * have checked the message's length. */
static inline const void *ath_message_payload(const struct nlmsghdr *header)
{
    return (const char *)header + NLMSG_HDRLEN;
}

/* Sorts attributes by type into table[0..max]. Missing types are NULL; types above max are
 * skipped. */
void ath_attributes(const struct nlmsghdr *header, size_t family_size, int max,
                    const struct nlattr **table);
void ath_attributes_nested(const struct nlattr *nest, int max, const struct nlattr **table);

/* Return the value of an attribute. Numbers: `missing` if the attribute is NULL or too short.
 * Text: a copy that the caller frees, or NULL. */
uint32_t ath_attribute_u32(const struct nlattr *attribute, uint32_t missing);
uint8_t ath_attribute_u8(const struct nlattr *attribute, uint8_t missing);
char *ath_attribute_text(const struct nlattr *attribute);
const void *ath_attribute_data(const struct nlattr *attribute);
size_t ath_attribute_length(const struct nlattr *attribute);

/*
 * The state of reading answers, for ath_netlink_talk() and its tests.
 *
 * ath_netlink_digest() takes the bytes of one receive. Messages of another request (sequence) or
 * socket (port) are skipped. is_done says that the acknowledgement has arrived, with its status and
 * the kernel's words.
 */
struct ath_exchange {
    uint32_t sequence, port;
    struct ath_replies *replies; /* NULL: drop the answers */
    bool is_done, is_interrupted;
    int status;
    char text[256];
};
void ath_netlink_digest(struct ath_exchange *exchange, const void *bytes, size_t length);
