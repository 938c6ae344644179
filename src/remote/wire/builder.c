/* Takes words at the end of the buffer and makes pointers to them. */
#include "config.h"

#include "remote/wire/builder.h"

#include <errno.h>
#include <stdlib.h>

enum { FRAME_WORDS = 1, FIRST_CAPACITY = 64 };

static const uint32_t size_bits[] = { 0, 1, 8, 16, 32, 64, 64 };

void ath_wire_builder_free(struct ath_wire_builder *builder)
{
    if (!builder)
        return;
    free(builder->bytes);
    *builder = (struct ath_wire_builder){ 0 };
}

static int grow(struct ath_wire_builder *builder, size_t needed)
{
    size_t capacity = builder->capacity ? builder->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    uint8_t *bytes = realloc(builder->bytes, capacity * ATH_WIRE_WORD);
    if (!bytes)
        return -ENOMEM;
    builder->bytes = bytes;
    builder->capacity = capacity;
    return 0;
}

/* Takes zeroed words at the end. Returns the number of the first; 0 if the builder has failed. */
static uint32_t take(struct ath_wire_builder *builder, size_t words)
{
    if (!builder->status && words > builder->max_bytes / ATH_WIRE_WORD - builder->word_count)
        builder->status = -EMSGSIZE;
    size_t needed = builder->word_count + words;
    if (!builder->status && needed > builder->capacity)
        builder->status = grow(builder, needed);
    if (builder->status)
        return 0;
    size_t first = builder->word_count;
    if (words)
        memset(builder->bytes + first * ATH_WIRE_WORD, 0, words * ATH_WIRE_WORD);
    builder->word_count = needed;
    return (uint32_t)first;
}

static void put_word(struct ath_wire_builder *builder, uint32_t at, uint32_t low, uint32_t high)
{
    uint64_t word = htole64((uint64_t)high << 32 | low);
    if (!builder->status)
        memcpy(builder->bytes + (size_t)at * ATH_WIRE_WORD, &word, sizeof word);
}

/* A struct without words points at its own pointer: an offset of 0 would make a null pointer. */
static struct ath_wire_place point_at_struct(struct ath_wire_builder *builder, uint32_t at,
                                             const struct ath_wire_shape *shape)
{
    uint32_t words = (uint32_t)shape->data_words + shape->pointer_count;
    uint32_t target = words ? take(builder, words) : at;
    put_word(builder, at, (target - at - 1) << 2,
             (uint32_t)shape->pointer_count << 16 | shape->data_words);
    return (struct ath_wire_place){ builder, target, target + shape->data_words };
}

static struct ath_wire_array point_at_structs(struct ath_wire_builder *builder, uint32_t at,
                                              const struct ath_wire_shape *shape, uint32_t count)
{
    uint64_t words = (uint64_t)count * ((uint32_t)shape->data_words + shape->pointer_count);
    if (words >= 1u << 29 && !builder->status)
        builder->status = -EMSGSIZE;
    uint32_t tag = take(builder, words + 1);
    put_word(builder, at, (tag - at - 1) << 2 | 1, (uint32_t)words << 3 | ATH_WIRE_COMPOSITE);
    put_word(builder, tag, count << 2, (uint32_t)shape->pointer_count << 16 | shape->data_words);
    return (struct ath_wire_array){ .builder = builder,
                                    .items = tag + 1,
                                    .count = count,
                                    .data_words = shape->data_words,
                                    .pointer_count = shape->pointer_count };
}

static struct ath_wire_array point_at_list(struct ath_wire_builder *builder, uint32_t at,
                                           const struct ath_wire_type *item, uint32_t count)
{
    if (count >= 1u << 29 && !builder->status)
        builder->status = -EMSGSIZE; /* the most that a pointer can express */
    if (item->size == ATH_WIRE_COMPOSITE)
        return point_at_structs(builder, at, item->shape, count);
    uint32_t bits = size_bits[item->size];
    uint32_t target = take(builder, ((uint64_t)count * bits + 63) / 64);
    put_word(builder, at, (target - at - 1) << 2 | 1, count << 3 | item->size);
    return (struct ath_wire_array){
        .builder = builder, .items = target, .count = count, .item_bits = bits
    };
}

static void point_at_bytes(struct ath_wire_builder *builder, uint32_t at, const void *bytes,
                           size_t length, bool is_text)
{
    static const struct ath_wire_type byte = { .size = ATH_WIRE_1_BYTE };
    if (length >= (1u << 29) - 1 && !builder->status)
        builder->status = -EMSGSIZE;
    struct ath_wire_array array = point_at_list(builder, at, &byte, (uint32_t)length + is_text);
    if (!builder->status && length)
        memcpy(builder->bytes + (size_t)array.items * ATH_WIRE_WORD, bytes, length);
}

struct ath_wire_place ath_wire_start(struct ath_wire_builder *builder,
                                     const struct ath_wire_shape *shape)
{
    builder->word_count = 0;
    builder->status = 0;
    builder->lend_least = 0;
    builder->lent = (struct ath_wire_bytes){ 0 };
    take(builder, FRAME_WORDS + 1);
    return point_at_struct(builder, FRAME_WORDS, shape);
}

void ath_wire_replace(struct ath_wire_builder *builder, const uint8_t *frame, size_t length)
{
    const size_t started = builder->word_count, root = (size_t)FRAME_WORDS * ATH_WIRE_WORD;
    const size_t words = length / ATH_WIRE_WORD;
    if (builder->status)
        return;
    if (length % ATH_WIRE_WORD || words < started ||
        memcmp(builder->bytes + root, frame + root, ATH_WIRE_WORD) != 0) {
        builder->status = -EMSGSIZE;
        return;
    }
    take(builder, words - started);
    if (!builder->status)
        memcpy(builder->bytes, frame, length);
}

void ath_wire_lend(struct ath_wire_builder *builder, size_t least)
{
    builder->lend_least = least;
}

/* Places the lent bytes behind the last word, and fills in the pointer to them. Only now is it
 * known how far away they are. Returns the number of words that they take. */
static size_t place_lent(struct ath_wire_builder *builder)
{
    size_t words = (builder->lent.length + ATH_WIRE_WORD - 1) / ATH_WIRE_WORD;
    if (words > builder->max_bytes / ATH_WIRE_WORD - builder->word_count)
        builder->status = -EMSGSIZE;
    if (words)
        put_word(builder, builder->lent_at,
                 ((uint32_t)builder->word_count - builder->lent_at - 1) << 2 | 1,
                 (uint32_t)builder->lent.length << 3 | ATH_WIRE_1_BYTE);
    return words;
}

/* The frame's head: the number of segments less one, and the words of the only segment. */
const uint8_t *ath_wire_finish(struct ath_wire_builder *builder, size_t *out_length,
                               int *out_status)
{
    size_t lent_words = builder->status ? 0 : place_lent(builder);
    *out_status = builder->status;
    if (builder->status)
        return NULL;
    put_word(builder, 0, 0, (uint32_t)(builder->word_count + lent_words - FRAME_WORDS));
    *out_length = builder->word_count * ATH_WIRE_WORD;
    return builder->bytes;
}

struct ath_wire_place ath_wire_init(struct ath_wire_place to, uint32_t index,
                                    const struct ath_wire_shape *shape)
{
    return point_at_struct(to.builder, to.pointers + index, shape);
}

struct ath_wire_array ath_wire_init_list(struct ath_wire_place to, uint32_t index,
                                         const struct ath_wire_type *item, uint32_t count)
{
    return point_at_list(to.builder, to.pointers + index, item, count);
}

void ath_wire_set_text(struct ath_wire_place to, uint32_t index, const char *value)
{
    if (value)
        point_at_bytes(to.builder, to.pointers + index, value, strlen(value), true);
}

void ath_wire_set_data(struct ath_wire_place to, uint32_t index, struct ath_wire_bytes value)
{
    struct ath_wire_builder *builder = to.builder;
    if (builder->lend_least && value.length >= builder->lend_least && !builder->lent.length &&
        value.length < 1u << 29) {
        builder->lent = value;
        builder->lent_at = to.pointers + index;
        return;
    }
    point_at_bytes(to.builder, to.pointers + index, value.data, value.length, false);
}

/* ---- lists ---- */

/* Returns whether an item can be written. */
static bool has_item(const struct ath_wire_array *array, uint32_t index)
{
    return index < array->count && !array->builder->status;
}

struct ath_wire_place ath_wire_array_struct(struct ath_wire_array array, uint32_t index)
{
    if (index >= array.count && !array.builder->status)
        array.builder->status =
            -EMSGSIZE; /* there is no such place, and later writes must do nothing */
    uint32_t data = array.items + index * (array.data_words + array.pointer_count);
    return (struct ath_wire_place){ array.builder, data, data + array.data_words };
}

struct ath_wire_array ath_wire_array_list(struct ath_wire_array array, uint32_t index,
                                          const struct ath_wire_type *item, uint32_t count)
{
    if (!has_item(&array, index))
        return (struct ath_wire_array){ .builder = array.builder };
    return point_at_list(array.builder, array.items + index, item, count);
}

void ath_wire_array_set_text(struct ath_wire_array array, uint32_t index, const char *value)
{
    if (has_item(&array, index))
        point_at_bytes(array.builder, array.items + index, value, strlen(value), true);
}

void ath_wire_array_set_data(struct ath_wire_array array, uint32_t index,
                             struct ath_wire_bytes value)
{
    if (has_item(&array, index))
        point_at_bytes(array.builder, array.items + index, value.data, value.length, false);
}

void ath_wire_array_set_bool(struct ath_wire_array array, uint32_t index, bool value)
{
    struct ath_wire_place place = { .builder = array.builder, .data = array.items };
    if (has_item(&array, index))
        ath_wire_set_bool(place, index, value, false);
}

void ath_wire_array_set_bits(struct ath_wire_array array, uint32_t index, uint64_t value)
{
    uint64_t bits = htole64(value);
    size_t size = array.item_bits / 8;
    if (has_item(&array, index) && size)
        memcpy(array.builder->bytes + (size_t)array.items * ATH_WIRE_WORD + index * size, &bits,
               size);
}
