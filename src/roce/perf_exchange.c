/* The messages of an RDMA test. One table of fields for each message drives both encoding and
 * decoding. */
#include "config.h"

#include "roce/perf_exchange.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "roce/nic.h"
#include "roce/perf_plan.h"

static const uint8_t magic[4] = { 'A', 'T', 'R', 'T' };

enum kind { NUMBER, BYTES, TEXT };

struct field {
    size_t offset, width;
    enum kind kind;
};

#define FIELD(noun, member, kind)                                                                  \
    {                                                                                              \
        offsetof(struct ath_perf_##noun, member), sizeof(((struct ath_perf_##noun *)0)->member),   \
            kind                                                                                   \
    }

static const struct field hello_fields[] = {
    FIELD(hello, op, NUMBER),
    FIELD(hello, has_bandwidth, NUMBER),
    FIELD(hello, has_latency, NUMBER),
    FIELD(hello, duration_ms, NUMBER),
    FIELD(hello, depth, NUMBER),
    FIELD(hello, bandwidth_size_bytes, NUMBER),
    FIELD(hello, latency_size_bytes, NUMBER),
    FIELD(hello, host.boot_id, TEXT),
    FIELD(hello, host.netns, NUMBER),
};

static const struct field endpoint_fields[] = {
    FIELD(endpoint, link_layer, NUMBER), FIELD(endpoint, mtu, NUMBER),
    FIELD(endpoint, read_depth, NUMBER), FIELD(endpoint, port, NUMBER),
    FIELD(endpoint, lid, NUMBER),        FIELD(endpoint, gid_index, NUMBER),
    FIELD(endpoint, qp_number, NUMBER),  FIELD(endpoint, psn, NUMBER),
    FIELD(endpoint, rkey, NUMBER),       FIELD(endpoint, address, NUMBER),
    FIELD(endpoint, area_bytes, NUMBER), FIELD(endpoint, gid, BYTES),
    FIELD(endpoint, device, TEXT),       FIELD(endpoint, netdev, TEXT),
    FIELD(endpoint, host.boot_id, TEXT), FIELD(endpoint, host.netns, NUMBER),
};

static const struct field figures_fields[] = {
    FIELD(figures, messages, NUMBER),     FIELD(figures, elapsed_ns, NUMBER),
    FIELD(figures, samples, NUMBER),      FIELD(figures, min_ns, NUMBER),
    FIELD(figures, p50_ns, NUMBER),       FIELD(figures, p99_ns, NUMBER),
    FIELD(figures, max_ns, NUMBER),       FIELD(figures, mean_ns, NUMBER),
    FIELD(figures, deviation_ns, NUMBER),
};

static const struct field failure_fields[] = { FIELD(failure, text, TEXT) };

static bool is_hello_right(const union ath_perf_body *body)
{
    const struct ath_perf_hello *hello = &body->hello;
    return hello->op < ATH_PERF_OP_COUNT && hello->has_bandwidth <= 1 && hello->has_latency <= 1;
}

/* Queue pair and packet numbers have 24 bits (InfiniBand Architecture, volume 1, section 9.2). */
static bool is_endpoint_right(const union ath_perf_body *body)
{
    const struct ath_perf_endpoint *endpoint = &body->endpoint;
    return (endpoint->link_layer == ATH_LAYER_ETHERNET ||
            endpoint->link_layer == ATH_LAYER_INFINIBAND) &&
           endpoint->mtu >= 1 && endpoint->mtu <= 5 && endpoint->port >= 1 &&
           endpoint->gid_index >= -1 && endpoint->qp_number < 1u << 24 &&
           endpoint->psn < 1u << 24 && endpoint->area_bytes > 0;
}

static const struct {
    const struct field *fields;
    size_t count;
    bool (*is_right)(const union ath_perf_body *body);
} messages[ATH_PERF_MESSAGE_END] = {
    [ATH_PERF_HELLO] = { hello_fields, ATH_COUNT(hello_fields), is_hello_right },
    [ATH_PERF_ENDPOINT] = { endpoint_fields, ATH_COUNT(endpoint_fields), is_endpoint_right },
    [ATH_PERF_FIGURES] = { figures_fields, ATH_COUNT(figures_fields), NULL },
    [ATH_PERF_FAILURE] = { failure_fields, ATH_COUNT(failure_fields), NULL },
};

static size_t length_of(enum ath_perf_message type)
{
    size_t length = 0;
    for (size_t i = 0; i < messages[type].count; i++)
        length += messages[type].fields[i].width;
    return length;
}

/* Copies a number between the machine's byte order and network byte order. */
static void put_number(const void *value, size_t width, uint8_t *out)
{
    for (size_t i = 0; i < width; i++)
        out[i] = ((const uint8_t *)value)[BYTE_ORDER == LITTLE_ENDIAN ? width - 1 - i : i];
}

static void put_field(const struct field *field, const void *body, uint8_t *out)
{
    const char *value = (const char *)body + field->offset;

    if (field->kind == NUMBER)
        put_number(value, field->width, out);
    else if (field->kind == BYTES)
        memcpy(out, value, field->width);
    else {
        memset(out, 0, field->width); /* sends no bytes after the text's end */
        memcpy(out, value, strnlen(value, field->width - 1));
    }
}

/* Returns false for a text without a NUL. */
static bool get_field(const struct field *field, const uint8_t *in, void *body)
{
    char *value = (char *)body + field->offset;

    if (field->kind == NUMBER)
        put_number(in, field->width, (uint8_t *)value); /* converts in both directions */
    else
        memcpy(value, in, field->width);
    return field->kind != TEXT || memchr(value, '\0', field->width);
}

size_t ath_perf_encode(enum ath_perf_message type, const union ath_perf_body *body,
                       uint8_t out[ATH_PERF_FRAME_MAX])
{
    const uint16_t version = ATH_PERF_VERSION, number = (uint16_t)type;
    const uint32_t length = (uint32_t)length_of(type);
    uint8_t *at = out + ATH_PERF_HEADER;

    memcpy(out, magic, sizeof magic);
    put_number(&version, sizeof version, out + 4);
    put_number(&number, sizeof number, out + 6);
    put_number(&length, sizeof length, out + 8);
    for (size_t i = 0; i < messages[type].count; i++) {
        put_field(&messages[type].fields[i], body, at);
        at += messages[type].fields[i].width;
    }
    return (size_t)(at - out);
}

int ath_perf_decode_header(const uint8_t bytes[ATH_PERF_HEADER], struct ath_perf_header *out,
                           struct ath_err *err)
{
    uint16_t version, type;
    uint32_t length;

    put_number(bytes + 4, sizeof version, (uint8_t *)&version);
    put_number(bytes + 6, sizeof type, (uint8_t *)&type);
    put_number(bytes + 8, sizeof length, (uint8_t *)&length);
    if (memcmp(bytes, magic, sizeof magic)) {
        ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                    _("the other side is not `aitherion roce test`"));
        return ath_err_hint(err, -EPROTO, _("run on the other side: aitherion roce test --server"));
    }
    if (version != ATH_PERF_VERSION) {
        ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                    _("the other side speaks version %d of the test, this one version %d"), version,
                    ATH_PERF_VERSION);
        return ath_err_hint(err, -EPROTO, _("install the same version of aitherion on both sides"));
    }
    if (type < ATH_PERF_HELLO || type >= ATH_PERF_MESSAGE_END ||
        length != length_of((enum ath_perf_message)type))
        return ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                           _("the other side sent an unknown message: type %d, %u bytes"), type,
                           length);
    *out = (struct ath_perf_header){ .type = (enum ath_perf_message)type, .length = length };
    return 0;
}

int ath_perf_decode_body(const struct ath_perf_header *header, const uint8_t *bytes,
                         union ath_perf_body *out, struct ath_err *err)
{
    union ath_perf_body body = { 0 };
    bool is_right = true;

    for (size_t i = 0; i < messages[header->type].count; i++) {
        const struct field *field = &messages[header->type].fields[i];
        is_right = get_field(field, bytes, &body) && is_right;
        bytes += field->width;
    }
    if (is_right && messages[header->type].is_right)
        is_right = messages[header->type].is_right(&body);
    if (!is_right)
        return ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                           _("the other side sent a message of type %d with invalid values"),
                           (int)header->type);
    *out = body;
    return 0;
}
