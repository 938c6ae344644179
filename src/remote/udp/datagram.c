/* Encodes and decodes datagrams, and keeps the numbers that have come. */
#include "config.h"

#include "remote/udp/datagram.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "remote/udp/crc32c.h"

enum {
    MARK = 0xa701, /* the last byte is the version */
    AT_KIND = 2,
    AT_LENGTH = 4,
    AT_CHANNEL = 8,
    AT_NUMBER = 16,
    AT_OFFSET = 24,
    AT_LIMIT = 32,
    AT_BACK = 40,
    AT_SUM = 44,
    ACK_HEAD_BYTES = 16,
    RANGE_BYTES = 8,
    WORD_BITS = 64
};

static void put_16(uint8_t *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

static void put_32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static void put_64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

static uint16_t get_16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static uint32_t get_32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static uint64_t get_64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

/* ---- datagrams ---- */

static uint32_t sum_of(const uint8_t *head, const uint8_t *payload, size_t length)
{
    return ath_crc32c(ath_crc32c(0, head, AT_SUM), payload, length);
}

void ath_datagram_encode(const struct ath_datagram *datagram,
                         uint8_t out_head[ATH_DATAGRAM_HEAD_BYTES])
{
    memset(out_head, 0, AT_CHANNEL);
    put_16(out_head, MARK);
    out_head[AT_KIND] = (uint8_t)datagram->kind;
    put_16(out_head + AT_LENGTH, (uint16_t)datagram->length);
    put_64(out_head + AT_CHANNEL, datagram->channel);
    put_64(out_head + AT_NUMBER, datagram->number);
    put_64(out_head + AT_OFFSET, datagram->offset);
    put_64(out_head + AT_LIMIT, datagram->limit);
    put_32(out_head + AT_BACK, datagram->back);
    put_32(out_head + AT_SUM, sum_of(out_head, datagram->payload, datagram->length));
}

/* Whether the payload's length fits the kind, and the fields have values that a sender writes. */
static bool is_sound(const struct ath_datagram *datagram)
{
    static const struct {
        size_t least, most;
    } lengths[ATH_DATAGRAM_KINDS] = {
        [ATH_DATAGRAM_OPEN] = { ATH_DATAGRAM_BYTES_MIN - ATH_DATAGRAM_HEAD_BYTES,
                                ATH_DATAGRAM_BYTES_MIN - ATH_DATAGRAM_HEAD_BYTES },
        [ATH_DATAGRAM_COOKIE] = { ATH_COOKIE_BYTES, ATH_COOKIE_BYTES },
        [ATH_DATAGRAM_DATA] = { 1, ATH_DATAGRAM_BYTES_MAX },
        [ATH_DATAGRAM_ACK] = { ACK_HEAD_BYTES + RANGE_BYTES, ATH_ACK_BYTES_MAX },
        [ATH_DATAGRAM_PROBE] = { 0, ATH_DATAGRAM_BYTES_MAX },
    };
    return datagram->length >= lengths[datagram->kind].least &&
           datagram->length <= lengths[datagram->kind].most && datagram->back <= datagram->number &&
           datagram->number < UINT64_MAX && datagram->offset <= UINT64_MAX - datagram->length;
}

int ath_datagram_decode(const uint8_t *bytes, size_t length, struct ath_datagram *out)
{
    if (length < ATH_DATAGRAM_HEAD_BYTES || length > ATH_DATAGRAM_BYTES_MAX ||
        get_16(bytes) != MARK || get_16(bytes + AT_LENGTH) != length - ATH_DATAGRAM_HEAD_BYTES)
        return -EBADMSG;
    const struct ath_datagram read = {
        .kind = (enum ath_datagram_kind)bytes[AT_KIND],
        .channel = get_64(bytes + AT_CHANNEL),
        .number = get_64(bytes + AT_NUMBER),
        .offset = get_64(bytes + AT_OFFSET),
        .limit = get_64(bytes + AT_LIMIT),
        .back = get_32(bytes + AT_BACK),
        .payload = bytes + ATH_DATAGRAM_HEAD_BYTES,
        .length = length - ATH_DATAGRAM_HEAD_BYTES,
    };
    if (get_32(bytes + AT_SUM) != sum_of(bytes, read.payload, read.length))
        return -EILSEQ;
    if (bytes[AT_KIND] < ATH_DATAGRAM_OPEN || bytes[AT_KIND] >= ATH_DATAGRAM_KINDS ||
        bytes[AT_KIND + 1] || get_16(bytes + AT_LENGTH + 2) || !is_sound(&read))
        return -EBADMSG;
    *out = read;
    return 0;
}

uint64_t ath_datagram_channel(const uint8_t *bytes)
{
    return get_64(bytes + AT_CHANNEL);
}

/* ---- acknowledgements ---- */

size_t ath_ack_encode(const struct ath_ack *ack, uint8_t out[ATH_ACK_BYTES_MAX])
{
    put_64(out, ack->largest);
    put_32(out + 8, ack->delay_us);
    put_32(out + 12, (uint32_t)ack->count);
    uint8_t *at = out + ACK_HEAD_BYTES;
    for (size_t i = 0; i < ack->count; i++, at += RANGE_BYTES) {
        put_32(at, ack->ranges[i].gap);
        put_32(at + 4, ack->ranges[i].length);
    }
    return (size_t)(at - out);
}

int ath_ack_decode(const uint8_t *bytes, size_t length, struct ath_ack *out)
{
    if (length < ACK_HEAD_BYTES)
        return -EBADMSG;
    size_t count = get_32(bytes + 12);
    if (!count || count > ATH_ACK_RANGES_MAX || length != ACK_HEAD_BYTES + count * RANGE_BYTES)
        return -EBADMSG;
    *out =
        (struct ath_ack){ .largest = get_64(bytes), .delay_us = get_32(bytes + 8), .count = count };
    if (out->largest == UINT64_MAX)
        return -EBADMSG;
    uint64_t below = out->largest + 1; /* numbers that are left */
    bytes += ACK_HEAD_BYTES;
    for (size_t i = 0; i < count; i++, bytes += RANGE_BYTES) {
        uint64_t gap = get_32(bytes), some = get_32(bytes + 4);
        if (!some || !gap != !i || gap + some > below)
            return -EBADMSG;
        out->ranges[i].gap = (uint32_t)gap;
        out->ranges[i].length = (uint32_t)some;
        below -= gap + some;
    }
    return 0;
}

/* ---- numbers ---- */

static uint64_t *word_of(struct ath_numbers *numbers, uint64_t number)
{
    return &numbers->bits[number / WORD_BITS % (ATH_NUMBERS_KEPT / WORD_BITS)];
}

static bool has(const struct ath_numbers *numbers, uint64_t number)
{
    return numbers->bits[number / WORD_BITS % (ATH_NUMBERS_KEPT / WORD_BITS)] >>
               number % WORD_BITS &
           1;
}

/* The least number whose bit is kept. The word of the next number is cleared as a whole. */
static uint64_t least_kept(const struct ath_numbers *numbers)
{
    const uint64_t span = ATH_NUMBERS_KEPT - WORD_BITS;
    return numbers->end > span ? numbers->end - span : 0;
}

bool ath_numbers_is_new(const struct ath_numbers *numbers, uint64_t number)
{
    return number >= numbers->end || (number >= least_kept(numbers) && !has(numbers, number));
}

void ath_numbers_add(struct ath_numbers *numbers, uint64_t number)
{
    if (number >= numbers->end) {
        uint64_t first = (numbers->end + WORD_BITS - 1) / WORD_BITS, last = number / WORD_BITS;
        if (last - first >= ATH_NUMBERS_KEPT / WORD_BITS && last >= first)
            memset(numbers->bits, 0, sizeof numbers->bits);
        else
            for (uint64_t word = first; word <= last; word++)
                *word_of(numbers, word * WORD_BITS) = 0;
        numbers->end = number + 1;
    }
    *word_of(numbers, number) |= UINT64_C(1) << number % WORD_BITS;
}

/* How many numbers from number downwards to least have the same bit. */
static uint64_t run_length(const struct ath_numbers *numbers, uint64_t number, uint64_t least)
{
    const bool came = has(numbers, number);
    uint64_t begin = number + 1;
    while (begin > least) {
        const uint64_t place = (begin - 1) % WORD_BITS;
        uint64_t word = numbers->bits[(begin - 1) / WORD_BITS % (ATH_NUMBERS_KEPT / WORD_BITS)];
        uint64_t others = (came ? ~word : word) << (WORD_BITS - 1 - place);
        uint64_t same = others ? (uint64_t)__builtin_clzll(others) : place + 1;
        if (!same)
            break;
        begin -= same;
    }
    return number + 1 - (begin > least ? begin : least);
}

void ath_numbers_ack(const struct ath_numbers *numbers, struct ath_ack *out)
{
    uint64_t least = least_kept(numbers), at = numbers->end;
    least = numbers->floor > least ? numbers->floor : least;
    least = least < numbers->end ? least : numbers->end - 1;
    out->largest = numbers->end - 1;
    out->count = 0;
    while (out->count < ATH_ACK_RANGES_MAX) {
        uint64_t gap = has(numbers, at - 1) ? 0 : run_length(numbers, at - 1, least);
        if (at - gap == least)
            return;
        at -= gap;
        uint64_t some = run_length(numbers, at - 1, least);
        at -= some;
        out->ranges[out->count].gap = (uint32_t)gap;
        out->ranges[out->count++].length = (uint32_t)some;
        if (at == least)
            return;
    }
}
