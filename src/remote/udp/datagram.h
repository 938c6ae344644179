/*
 * The datagrams of the UDP carrier: a head of 48 bytes, little-endian, and a payload.
 *
 *     0 u16 mark        8 u64 channel    32 u64 limit
 *     2 u8  kind       16 u64 number     40 u32 back
 *     3 u8  zero       24 u64 offset     44 u32 CRC-32C of bytes 0 to 43 and of the payload
 *     4 u16 length of the payload
 *     6 u16 zero
 *
 * Each datagram of a channel has a number of its own, and a range of bytes that is sent again gets
 * a new number. So an acknowledgement tells which of the two came, and a number that comes twice is
 * a copy.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ath_datagram_kind {
    ATH_DATAGRAM_OPEN = 1, /* client: begins a channel; payload: a cookie or zeros, padded */
    ATH_DATAGRAM_COOKIE,   /* server: answers OPEN without a right cookie; payload: the cookie */
    ATH_DATAGRAM_DATA,     /* bytes of the stream from offset */
    ATH_DATAGRAM_END,      /* the stream has offset bytes; no payload */
    ATH_DATAGRAM_ACK,      /* offset: all bytes before have come; payload: struct ath_ack */
    ATH_DATAGRAM_PROBE,    /* asks for an acknowledgement; payload: padding */
    ATH_DATAGRAM_CLOSE,    /* the sender has dropped the channel; no payload */
    ATH_DATAGRAM_KINDS
};

enum {
    ATH_DATAGRAM_HEAD_BYTES = 48,
    ATH_DATAGRAM_BYTES_MIN = 1200, /* a path must carry datagrams of this size */
    ATH_DATAGRAM_BYTES_MAX = 65507,
    ATH_COOKIE_BYTES = 32,
    ATH_ACK_RANGES_MAX = 128,
    ATH_ACK_BYTES_MAX = 16 + 8 * ATH_ACK_RANGES_MAX
};

struct ath_datagram {
    enum ath_datagram_kind kind;
    uint64_t channel, number, offset;
    uint64_t limit; /* the sender of the datagram takes bytes of the stream before this offset */
    uint32_t back;  /* the sender still waits for news about number - back and later ones */
    const uint8_t *payload;
    size_t length; /* of the payload */
};

/* Writes the head of a datagram with the sum over its payload. */
void ath_datagram_encode(const struct ath_datagram *datagram,
                         uint8_t out_head[ATH_DATAGRAM_HEAD_BYTES]);

/* Reads a datagram; its payload lies in bytes. Returns 0, -EBADMSG if the bytes are no datagram of
 * this protocol, or -EILSEQ if the sum is wrong. */
int ath_datagram_decode(const uint8_t *bytes, size_t length, struct ath_datagram *out);

/* Returns the channel that a datagram with a wrong sum names, which may be wrong, too. */
uint64_t ath_datagram_channel(const uint8_t *bytes);

/*
 * Numbers of datagrams that came: from largest downwards, in turn `length` numbers that came and
 * `gap` numbers that did not. The first gap is 0.
 */
struct ath_ack {
    uint64_t largest;
    uint32_t delay_us; /* from the arrival of largest to the acknowledgement */
    size_t count;
    struct {
        uint32_t gap, length;
    } ranges[ATH_ACK_RANGES_MAX];
};

/* Returns the number of bytes. */
size_t ath_ack_encode(const struct ath_ack *ack, uint8_t out[ATH_ACK_BYTES_MAX]);

/* Returns 0, or -EBADMSG if the bytes are no acknowledgement, or it has numbers below 0. */
int ath_ack_decode(const uint8_t *bytes, size_t length, struct ath_ack *out);

/*
 * The numbers that have come, which tells copies of a datagram from new ones.
 */
enum { ATH_NUMBERS_KEPT = 16384 };

struct ath_numbers {
    uint64_t end;   /* above the largest that came */
    uint64_t floor; /* the peer does not wait for news about numbers below */
    uint64_t bits[ATH_NUMBERS_KEPT / 64];
};

/* Whether the number has not come yet and is not so old that this is no longer known. */
bool ath_numbers_is_new(const struct ath_numbers *numbers, uint64_t number);

/* Notes a new number. */
void ath_numbers_add(struct ath_numbers *numbers, uint64_t number);

/* Fills largest, count and ranges with the newest numbers from floor on. At least one number has
 * come. */
void ath_numbers_ack(const struct ath_numbers *numbers, struct ath_ack *out);
