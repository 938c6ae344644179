/*
 * Building Cap'n Proto messages of one segment in one growing buffer, with their frame.
 *
 *     ATH_AUTO(ath_wire_builder) builder = { .max_bytes = 4096 };
 *     struct ath_control_message_builder message = ath_control_message_start(&builder);
 *     ath_control_hello_set_protocol(ath_control_message_init_hello(message), 1);
 *     const uint8_t *frame = ath_wire_finish(&builder, &length, &status);
 *
 * Running out of memory or of max_bytes is remembered: everything after it does nothing, and
 * ath_wire_finish() says so. A builder is used again by starting another message. Each pointer
 * field is set once: what an earlier setting took stays in the message, unreached.
 *
 * A place is valid until the next message is started. The typed functions that proto/generate.py
 * writes stand on these.
 */
#pragma once
#include "runtime/wire/message.h"

struct ath_wire_builder {
    uint8_t *bytes;              /* the frame's word, the root pointer, what it leads to */
    size_t word_count, capacity; /* in words, the frame's one too */
    size_t max_bytes;            /* of the message with its frame; set by whoever makes a builder */
    int status;                  /* 0, -ENOMEM or -EMSGSIZE */
    size_t lend_least;           /* see ath_wire_lend(); 0: never */
    struct ath_wire_bytes lent;  /* the message's end, which lies elsewhere */
    uint32_t lent_at;            /* the word of the pointer to it */
};

/* A struct that is being filled. */
struct ath_wire_place {
    struct ath_wire_builder *builder;
    uint32_t data;     /* the word where it begins */
    uint32_t pointers; /* and where its pointers do */
};

/* A list that is being filled. */
struct ath_wire_array {
    struct ath_wire_builder *builder;
    uint32_t items; /* the word where the first one begins */
    uint32_t count;
    uint32_t data_words, pointer_count; /* of a struct */
    uint32_t item_bits;                 /* of anything else */
};

void ath_wire_builder_free(struct ath_wire_builder *builder);

/* Begins a message; what the builder held is gone. */
struct ath_wire_place ath_wire_start(struct ath_wire_builder *builder,
                                     const struct ath_wire_shape *shape);

/* The message with its frame in front, in the builder's memory; NULL with *out_status (-ENOMEM,
 * -EMSGSIZE). */
const uint8_t *ath_wire_finish(struct ath_wire_builder *builder, size_t *out_length,
                               int *out_status);

/*
 * From here on until the next message the first data field of so many bytes is not copied: the
 * message, as ath_wire_finish() gives it, then lacks its end, which is builder->lent and as many
 * bytes as make it whole words (ath_wire_lent_padding()). It must stay until both are sent.
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
/* NULL leaves the field as it is: its default. */
void ath_wire_set_text(struct ath_wire_place to, uint32_t index, const char *value);
void ath_wire_set_data(struct ath_wire_place to, uint32_t index, struct ath_wire_bytes value);

/* Items of lists; beyond the end nothing happens. */
struct ath_wire_place ath_wire_array_struct(struct ath_wire_array array, uint32_t index);
struct ath_wire_array ath_wire_array_list(struct ath_wire_array array, uint32_t index,
                                          const struct ath_wire_type *item, uint32_t count);
void ath_wire_array_set_text(struct ath_wire_array array, uint32_t index, const char *value);
void ath_wire_array_set_data(struct ath_wire_array array, uint32_t index,
                             struct ath_wire_bytes value);
void ath_wire_array_set_bool(struct ath_wire_array array, uint32_t index, bool value);

/* value is the item's bits: of a negative number or a fraction, those that memory has. */
void ath_wire_array_set_bits(struct ath_wire_array array, uint32_t index, uint64_t value);

/* The bytes of a field, or NULL when the builder has failed. */
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
