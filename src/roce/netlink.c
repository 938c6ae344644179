/*
 * Netlink sockets and messages (Documentation/userspace-api/netlink/intro.rst).
 *
 * Every request asks for an acknowledgement, so that each exchange has exactly one end: NLMSG_ERROR
 * with 0 or a negative errno, or NLMSG_DONE after a list. With NETLINK_EXT_ACK the kernel adds its
 * reason in words (NLMSGERR_ATTR_MSG) behind the copy of the request, which NETLINK_CAP_ACK leaves
 * out.
 */
#include "config.h"

#include "roce/netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/late.h"

#define MNL_FUNCTIONS(F)                                                                           \
    F(mnl_socket_open2)                                                                            \
    F(mnl_socket_bind)                                                                             \
    F(mnl_socket_close)                                                                            \
    F(mnl_socket_setsockopt)                                                                       \
    F(mnl_socket_get_portid)                                                                       \
    F(mnl_socket_sendto)                                                                           \
    F(mnl_socket_recvfrom)                                                                         \
    F(mnl_nlmsg_put_header)                                                                        \
    F(mnl_nlmsg_put_extra_header)                                                                  \
    F(mnl_attr_put_check) F(mnl_attr_nest_start_check) F(mnl_attr_nest_end)

struct mnl {
    MNL_FUNCTIONS(ATH_LATE_MEMBER)
};
static const char *const mnl_names[] = { MNL_FUNCTIONS(ATH_LATE_NAME) NULL };

/* The kernel sends lists in pieces of at most 32 KiB (net/netlink/af_netlink.c). */
enum { RECEIVE_SIZE = 64 * 1024, LIST_TRIES = 10 };

struct ath_netlink {
    struct mnl mnl;
    struct mnl_socket *socket;
    uint32_t sequence;
    _Alignas(struct nlmsghdr) char received[RECEIVE_SIZE];
};

int ath_netlink_open(int bus, struct ath_netlink **out, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = ath_xalloc(sizeof *netlink);
    int status = ath_late_load("libmnl.so.0", "libmnl0", mnl_names, &netlink->mnl, err);
    if (status)
        return status;

    netlink->socket = netlink->mnl.mnl_socket_open2(bus, SOCK_CLOEXEC);
    if (!netlink->socket || netlink->mnl.mnl_socket_bind(netlink->socket, 0, MNL_SOCKET_AUTOPID))
        return ath_err_system(err, -errno, _("cannot open a netlink socket"));
    /* Before Linux 4.12 these options fail, and errors come without the kernel's words. */
    netlink->mnl.mnl_socket_setsockopt(netlink->socket, NETLINK_EXT_ACK, &(int){ 1 }, sizeof(int));
    netlink->mnl.mnl_socket_setsockopt(netlink->socket, NETLINK_CAP_ACK, &(int){ 1 }, sizeof(int));
    netlink->sequence = (uint32_t)time(NULL);
    *out = ath_steal(&netlink);
    return 0;
}

void ath_netlink_close(struct ath_netlink *netlink)
{
    if (netlink && netlink->socket)
        netlink->mnl.mnl_socket_close(netlink->socket);
    free(netlink);
}

static struct nlmsghdr *header_of(struct ath_message *message)
{
    return (struct nlmsghdr *)(void *)message->bytes;
}

void ath_message_begin(struct ath_message *message, struct ath_netlink *netlink, int type,
                       int flags, const void *header, size_t size)
{
    message->netlink = netlink;
    message->is_too_long = false;
    memset(message->bytes, 0, sizeof message->bytes); /* also zeroes the padding of attributes */
    struct nlmsghdr *head = netlink->mnl.mnl_nlmsg_put_header(message->bytes);
    head->nlmsg_type = (uint16_t)type;
    /* A list ends with NLMSG_DONE; an acknowledgement would be a second end. */
    bool is_list = (flags & NLM_F_DUMP) == NLM_F_DUMP;
    head->nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | (is_list ? 0 : NLM_F_ACK));
    if (size)
        memcpy(netlink->mnl.mnl_nlmsg_put_extra_header(head, size), header, size);
}

void ath_message_put(struct ath_message *message, int attribute, const void *data, size_t length)
{
    if (!message->netlink->mnl.mnl_attr_put_check(header_of(message), sizeof message->bytes,
                                                  (uint16_t)attribute, length, data))
        message->is_too_long = true;
}

void ath_message_put_u32(struct ath_message *message, int attribute, uint32_t value)
{
    ath_message_put(message, attribute, &value, sizeof value);
}

void ath_message_put_text(struct ath_message *message, int attribute, const char *text)
{
    ath_message_put(message, attribute, text, strlen(text) + 1);
}

struct nlattr *ath_message_nest(struct ath_message *message, int attribute)
{
    struct nlattr *nest = message->netlink->mnl.mnl_attr_nest_start_check(
        header_of(message), sizeof message->bytes, (uint16_t)attribute);
    message->is_too_long |= !nest;
    return nest;
}

void ath_message_nest_end(struct ath_message *message, struct nlattr *nest)
{
    if (nest)
        message->netlink->mnl.mnl_attr_nest_end(header_of(message), nest);
}

void ath_replies_free(struct ath_replies *replies)
{
    if (!replies)
        return;
    for (size_t i = 0; i < replies->count; i++)
        free(replies->items[i]);
    free(replies->items);
    *replies = (struct ath_replies){ 0 };
}

/* Attributes and messages begin at multiples of four bytes. */
static size_t aligned(size_t length)
{
    return (length + NLMSG_ALIGNTO - 1) & ~(size_t)(NLMSG_ALIGNTO - 1);
}

static void sort_attributes(const char *bytes, size_t length, int max, const struct nlattr **table)
{
    memset(table, 0, ((size_t)max + 1) * sizeof *table);
    while (length >= sizeof(struct nlattr)) {
        const struct nlattr *attribute = (const struct nlattr *)(const void *)bytes;
        if (attribute->nla_len < sizeof *attribute || attribute->nla_len > length)
            return;
        if ((attribute->nla_type & NLA_TYPE_MASK) <= max)
            table[attribute->nla_type & NLA_TYPE_MASK] = attribute;
        size_t step = aligned(attribute->nla_len);
        if (step >= length)
            return;
        bytes += step;
        length -= step;
    }
}

void ath_attributes(const struct nlmsghdr *header, size_t family_size, int max,
                    const struct nlattr **table)
{
    size_t start = NLMSG_HDRLEN + aligned(family_size);
    size_t length = header->nlmsg_len > start ? header->nlmsg_len - start : 0;
    sort_attributes((const char *)header + start, length, max, table);
}

void ath_attributes_nested(const struct nlattr *nest, int max, const struct nlattr **table)
{
    sort_attributes(ath_attribute_data(nest), ath_attribute_length(nest), max, table);
}

size_t ath_attribute_length(const struct nlattr *attribute)
{
    return attribute ? attribute->nla_len - sizeof *attribute : 0;
}

const void *ath_attribute_data(const struct nlattr *attribute)
{
    return attribute ? (const char *)(attribute + 1) : NULL;
}

uint32_t ath_attribute_u32(const struct nlattr *attribute, uint32_t missing)
{
    if (ath_attribute_length(attribute) >= sizeof missing)
        memcpy(&missing, ath_attribute_data(attribute), sizeof missing);
    return missing;
}

uint8_t ath_attribute_u8(const struct nlattr *attribute, uint8_t missing)
{
    if (ath_attribute_length(attribute) >= sizeof missing)
        memcpy(&missing, ath_attribute_data(attribute), sizeof missing);
    return missing;
}

char *ath_attribute_text(const struct nlattr *attribute)
{
    return attribute ? strndup(ath_attribute_data(attribute), ath_attribute_length(attribute))
                     : NULL;
}

/* Reads the kernel's words from the attributes that follow `before` bytes of the error's own
 * data. */
static void read_words(struct ath_exchange *exchange, const struct nlmsghdr *header, size_t before)
{
    const struct nlattr *table[NLMSGERR_ATTR_MSG + 1];
    if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
        return;
    ath_attributes(header, before, NLMSGERR_ATTR_MSG, table);
    const char *text = ath_attribute_data(table[NLMSGERR_ATTR_MSG]);
    size_t length = ath_attribute_length(table[NLMSGERR_ATTR_MSG]);
    if (text)
        snprintf(exchange->text, sizeof exchange->text, "%.*s", (int)length, text);
}

/* The status of an answer: 0 or a negative errno (MAX_ERRNO of the kernel's err.h). */
static int read_status(int status)
{
    enum { ERRNO_MAX = 4095 };
    return status <= 0 && status >= -ERRNO_MAX ? status : -EBADMSG;
}

static void end_by_error(struct ath_exchange *exchange, const struct nlmsghdr *header)
{
    exchange->is_done = true;
    if (header->nlmsg_len < NLMSG_HDRLEN + sizeof(struct nlmsgerr)) {
        exchange->status = -EBADMSG;
        return;
    }
    const struct nlmsgerr *error = ath_message_payload(header);
    size_t before = sizeof *error;
    exchange->status = read_status(error->error);
    if (!(header->nlmsg_flags & NLM_F_CAPPED) && error->msg.nlmsg_len > NLMSG_HDRLEN)
        before += error->msg.nlmsg_len - NLMSG_HDRLEN;
    read_words(exchange, header, before);
}

/* A list may fail halfway. Older kernels send no status with NLMSG_DONE. */
static void end_by_done(struct ath_exchange *exchange, const struct nlmsghdr *header)
{
    int status = 0;
    exchange->is_done = true;
    if (header->nlmsg_len >= NLMSG_HDRLEN + sizeof status) {
        memcpy(&status, (const char *)header + NLMSG_HDRLEN, sizeof status);
        read_words(exchange, header, sizeof status);
    }
    exchange->status = status < 0 ? read_status(status) : 0;
}

static void digest_one(struct ath_exchange *exchange, const struct nlmsghdr *header)
{
    if (header->nlmsg_flags & NLM_F_DUMP_INTR)
        exchange->is_interrupted = true;
    if (header->nlmsg_type == NLMSG_ERROR) {
        end_by_error(exchange, header);
    } else if (header->nlmsg_type == NLMSG_DONE) {
        end_by_done(exchange, header);
    } else if (header->nlmsg_type >= NLMSG_MIN_TYPE && exchange->replies) {
        struct nlmsghdr *copy = ath_xalloc(header->nlmsg_len);
        memcpy(copy, header, header->nlmsg_len);
        *(struct nlmsghdr **)ath_push(&exchange->replies->items, &exchange->replies->count,
                                      sizeof copy) = copy;
    }
}

void ath_netlink_digest(struct ath_exchange *exchange, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length >= sizeof(struct nlmsghdr) && !exchange->is_done) {
        const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)at;
        if (header->nlmsg_len < sizeof *header || header->nlmsg_len > length)
            return;
        if (header->nlmsg_seq == exchange->sequence && header->nlmsg_pid == exchange->port)
            digest_one(exchange, header);
        size_t step = aligned(header->nlmsg_len);
        if (step >= length)
            return;
        at += step;
        length -= step;
    }
}

/* Sends one request and reads its answers. Returns 0 if the acknowledgement arrived, whatever its
 * status. */
static int exchange_once(struct ath_message *message, struct ath_exchange *exchange)
{
    struct ath_netlink *netlink = message->netlink;
    struct nlmsghdr *header = header_of(message);

    exchange->sequence = header->nlmsg_seq = ++netlink->sequence;
    exchange->port = netlink->mnl.mnl_socket_get_portid(netlink->socket);
    if (netlink->mnl.mnl_socket_sendto(netlink->socket, header, header->nlmsg_len) < 0)
        return -errno;
    while (!exchange->is_done) {
        ssize_t length = netlink->mnl.mnl_socket_recvfrom(netlink->socket, netlink->received,
                                                          sizeof netlink->received);
        if (length < 0 && errno != EINTR)
            return -errno;
        if (length > 0)
            ath_netlink_digest(exchange, netlink->received, (size_t)length);
    }
    return 0;
}

static int fail(int status, const char *what, const char *text, struct ath_err *err)
{
    ath_err_system(err, status, "%s", what);
    if (*text)
        ath_err_append(err, status, _(" (kernel: %s)"), text);
    if (status == -EPERM || status == -EACCES)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    return status;
}

int ath_netlink_talk(struct ath_message *message, struct ath_replies *out, struct ath_err *err,
                     const char *what, ...)
{
    char context[512];
    va_list args;
    va_start(args, what);
    vsnprintf(context, sizeof context, what, args);
    va_end(args);
    if (message->is_too_long)
        return fail(-EMSGSIZE, context, "", err);

    struct ath_exchange exchange = { .is_interrupted = true };
    for (int tries = 0; exchange.is_interrupted && tries < LIST_TRIES; tries++) {
        if (out)
            ath_replies_free(out);
        exchange = (struct ath_exchange){ .replies = out };
        int status = exchange_once(message, &exchange);
        if (status)
            return fail(status, context, "", err);
        if (exchange.status)
            return fail(exchange.status, context, exchange.text, err);
    }
    return exchange.is_interrupted ? fail(-EAGAIN, context, "", err) : 0;
}
