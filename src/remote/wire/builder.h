/*
 * Builds Cap'n Proto messages of one segment in one growing buffer, with their frame.
 *
 *     ATH_AUTO(ath_wire_builder) builder = { .max_bytes = 4096 };
 *     struct ath_control_message_builder message = ath_control_message_start(&builder);
 *     ath_control_hello_set_protocol(ath_control_message_init_hello(message), 1);
 *     const uint8_t *frame = ath_wire_finish(&builder, &length, &status);
 *
 * When memory or max_bytes runs out, the builder remembers it: later calls do nothing, and
 * ath_wire_finish() returns the error. Starting another message makes the builder ready again. Set
 * each pointer field once: words of an earlier setting stay in the message, unreached.
 *
 * A place is valid until the next message is started. The typed functions that proto/generate.py
 * writes call these functions.
 */
#pragma once
#include "remote/wire/message.h"

struct ath_wire_builder {
    uint8_t *bytes;              /* the frame's head, the root pointer, and the rest */
    size_t word_count, capacity; /* in words, with the frame's head */
    size_t max_bytes;            /* of the message with its frame; the caller sets it */
    int status;                  /* 0, -ENOMEM or -EMSGSIZE */
    size_t lend_least;           /* see ath_wire_lend(); 0: never */
    struct ath_wire_bytes lent;  /* the end of the message, in the caller's memory */
    uint32_t lent_at;            /* the word of the pointer to the lent bytes */
};

/* A struct that is being filled. A place is the position of a struct in its message. */
struct ath_wire_place {
    struct ath_wire_builder *builder;
    uint32_t data;     /* the first word of its data */
    uint32_t pointers; /* the first word of its pointers */
};

/* A list that is being filled. */
struct ath_wire_array {
    struct ath_wire_builder *builder;
    uint32_t items; /* the first word of the first item */
    uint32_t count;
    uint32_t data_words, pointer_count; /* of an item that is a struct */
    uint32_t item_bits;                 /* of any other item */
};

void ath_wire_builder_free(struct ath_wire_builder *builder);

/* Begins a message. The old content of the builder is gone. */
struct ath_wire_place ath_wire_start(struct ath_wire_builder *builder,
                                     const struct ath_wire_shape *shape);

/* The finished message with its frame, in the builder's memory. Returns NULL with *out_status
 * (-ENOMEM, -EMSGSIZE). */
const uint8_t *ath_wire_finish(struct ath_wire_builder *builder, size_t *out_length,
                               int *out_status);

/* Puts a finished message with its frame in the place of the one that was started, whose root has
 * the same shape: places in the root stay valid. If it has another shape, the builder remembers
 * -EMSGSIZE. */
void ath_wire_replace(struct ath_wire_builder *builder, const uint8_t *frame, size_t length);

/*
 * Lends data to the message: until the next message, the first data field of at least this many
 * bytes is not copied. The result of ath_wire_finish() then lacks its end: builder->lent, and the
 * padding that makes it whole words (ath_wire_lent_padding()). The caller keeps the lent bytes
 * until both are sent.
 */
void ath_wire_lend(struct ath_wire_builder *builder, size_t least);

static inline size_t ath_wire_lent_padding(struct ath_wire_bytes lent)
{
    return (ATH_WIRE_WORD - lent.length % ATH_WIRE_WORD) % ATH_WIRE_WORD;
}

struct ath_wire_place ath_wire_init(struct ath_wire_place to, uint32_t index,
                                    const struct ath_wire_shape *shape);
struct ath_wire_array ath_wire_init_list(struct ath_wire_place to, uint32_t index,
                                         const struct ath_wire_type *item, uint32_t count);
/* NULL keeps the field's default. */
void ath_wire_set_text(struct ath_wire_place to, uint32_t index, const char *value);
void ath_wire_set_data(struct ath_wire_place to, uint32_t index, struct ath_wire_bytes value);

/* Items of lists. An index beyond the end does nothing. */
struct ath_wire_place ath_wire_array_struct(struct ath_wire_array array, uint32_t index);
struct ath_wire_array ath_wire_array_list(struct ath_wire_array array, uint32_t index,
                                          const struct ath_wire_type *item, uint32_t count);
void ath_wire_array_set_text(struct ath_wire_array array, uint32_t index, const char *value);
void ath_wire_array_set_data(struct ath_wire_array array, uint32_t index,
                             struct ath_wire_bytes value);
void ath_wire_array_set_bool(struct ath_wire_array array, uint32_t index, bool value);

/* value has the item's bits; for a negative number or a float those in memory. */
void ath_wire_array_set_bits(struct ath_wire_array array, uint32_t index, uint64_t value);

/* The bytes of a field; NULL if the builder has failed. */
static inline uint8_t *ath_wire_bytes_at(struct ath_wire_place to, uint32_t offset)
{
    return to.builder->status ? NULL : to.builder->bytes + (size_t)to.data * ATH_WIRE_WORD + offset;
}

static inline void ath_wire_set_u8(struct ath_wire_place to, uint32_t offset, uint8_t value,
                                   uint8_t initial)
{
    uint8_t *at = ath_wire_bytes_at(to, offset);
    if (at)
        *at = value ^ initial;
}

static inline void ath_wire_set_u16(struct ath_wire_place to, uint32_t offset, uint16_t value,
                                    uint16_t initial)
{
    uint8_t *at = ath_wire_bytes_at(to, offset);
    value = htole16(value ^ initial);
    if (at)
        memcpy(at, &value, sizeof value);
}

static inline void ath_wire_set_u32(struct ath_wire_place to, uint32_t offset, uint32_t value,
                                    uint32_t initial)
{
    uint8_t *at = ath_wire_bytes_at(to, offset);
    value = htole32(value ^ initial);
    if (at)
        memcpy(at, &value, sizeof value);
}

static inline void ath_wire_set_u64(struct ath_wire_place to, uint32_t offset, uint64_t value,
                                    uint64_t initial)
{
    uint8_t *at = ath_wire_bytes_at(to, offset);
    value = htole64(value ^ initial);
    if (at)
        memcpy(at, &value, sizeof value);
}

static inline void ath_wire_set_bool(struct ath_wire_place to, uint32_t bit, bool value,
                                     bool initial)
{
    uint8_t *at = ath_wire_bytes_at(to, bit / 8);
    if (at)
        *at = (uint8_t)((*at & ~(1u << bit % 8)) | ((unsigned int)(value != initial) << bit % 8));
}

static inline void ath_wire_set_i8(struct ath_wire_place to, uint32_t offset, int8_t value,
                                   uint8_t initial)
{
    ath_wire_set_u8(to, offset, (uint8_t)value, initial);
}

static inline void ath_wire_set_i16(struct ath_wire_place to, uint32_t offset, int16_t value,
                                    uint16_t initial)
{
    ath_wire_set_u16(to, offset, (uint16_t)value, initial);
}

static inline void ath_wire_set_i32(struct ath_wire_place to, uint32_t offset, int32_t value,
                                    uint32_t initial)
{
    ath_wire_set_u32(to, offset, (uint32_t)value, initial);
}

static inline void ath_wire_set_i64(struct ath_wire_place to, uint32_t offset, int64_t value,
                                    uint64_t initial)
{
    ath_wire_set_u64(to, offset, (uint64_t)value, initial);
}

static inline void ath_wire_set_f32(struct ath_wire_place to, uint32_t offset, float value,
                                    uint32_t initial)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ath_wire_set_u32(to, offset, bits, initial);
}

static inline void ath_wire_set_f64(struct ath_wire_place to, uint32_t offset, double value,
                                    uint64_t initial)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ath_wire_set_u64(to, offset, bits, initial);
}
