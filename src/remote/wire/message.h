/*
 * Reads Cap'n Proto messages of one segment (capnproto.org/encoding.html) in place.
 *
 * ath_wire_open() follows every pointer that the schema knows, once, and checks it: the target lies
 * in the message, text ends in NUL, items have the size of the schema, the message is at most
 * ATH_WIRE_DEPTH_MAX deep, and it does not grow by pointing at the same words again. After that no
 * reader can fail: a missing field has its default. So only ath_wire_open() decides whether a
 * message is valid. Pointers in fields that the schema does not know (of a newer peer) are not
 * checked.
 *
 * The typed readers that proto/generate.py writes call the readers here; other code needs only
 * those for lists. A reader is a small value that points into the message's bytes, which must
 * outlive it. Offsets are in bytes, those of bools in bits. A default is the number that the value
 * on the wire was XORed with.
 */
#pragma once
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    ATH_WIRE_WORD = 8,
    ATH_WIRE_DEPTH_MAX = 64,         /* the official library's own limit */
    ATH_WIRE_EMPTY_ITEMS_MAX = 4096, /* items of size 0, in all lists of a message */
};

/* ---- the schema, as tables that the generator writes ---- */

enum ath_wire_kind {
    ATH_WIRE_SCALAR,
    ATH_WIRE_TEXT,
    ATH_WIRE_DATA,
    ATH_WIRE_LIST,
    ATH_WIRE_STRUCT,
    ATH_WIRE_GROUP, /* fields of the struct itself, under a name */
};

/* The size of a list's items in the encoding. */
enum ath_wire_size {
    ATH_WIRE_EMPTY,
    ATH_WIRE_BIT,
    ATH_WIRE_1_BYTE,
    ATH_WIRE_2_BYTES,
    ATH_WIRE_4_BYTES,
    ATH_WIRE_8_BYTES,
    ATH_WIRE_POINTER,
    ATH_WIRE_COMPOSITE,
};

struct ath_wire_shape;

struct ath_wire_type {
    enum ath_wire_kind kind;
    uint8_t size;                       /* enum ath_wire_size, when it is an item of a list */
    const struct ath_wire_shape *shape; /* of a struct or a group */
    const struct ath_wire_type *item;   /* of a list */
};

/* A field that is a pointer or may contain pointers. */
struct ath_wire_pointer {
    int tag;        /* of the union's member that the field is; -1: always present */
    uint16_t index; /* among the pointers of the struct */
    const struct ath_wire_type *type;
};

struct ath_wire_shape {
    uint16_t data_words, pointer_count;
    const struct ath_wire_pointer *pointers; /* without a tag first, then by rising tag */
    size_t count, fixed;                     /* fixed: the number without a tag */
    uint32_t tag_offset;                     /* of the tag of the unnamed union */
};

/* ---- readers ---- */

struct ath_wire_struct {
    const uint8_t *data;
    const uint8_t *pointers;
    uint32_t data_bytes;
    uint32_t pointer_count;
};

struct ath_wire_list {
    const uint8_t *items;
    uint32_t count;
    uint32_t data_bytes; /* of an item; 0 for bools */
    uint32_t pointer_count;
};

struct ath_wire_bytes {
    const uint8_t *data;
    size_t length;
};

/*
 * Checks a message (without its frame) and returns its root in *out. length must be whole words.
 * Returns 0 or -EBADMSG.
 */
int ath_wire_open(const uint8_t *words, size_t length, const struct ath_wire_shape *shape,
                  struct ath_wire_struct *out);

/* Pointer fields: whether a pointer is set, and its target. */
bool ath_wire_has(struct ath_wire_struct from, uint32_t index);
const char *ath_wire_text(struct ath_wire_struct from, uint32_t index, const char *missing);
struct ath_wire_bytes ath_wire_data(struct ath_wire_struct from, uint32_t index,
                                    struct ath_wire_bytes missing);
struct ath_wire_struct ath_wire_inner(struct ath_wire_struct from, uint32_t index);
struct ath_wire_list ath_wire_list(struct ath_wire_struct from, uint32_t index);

/* Items of lists. Beyond the end they are empty, zero or NULL. */
struct ath_wire_struct ath_wire_list_struct(struct ath_wire_list list, uint32_t index);
const char *ath_wire_list_text(struct ath_wire_list list, uint32_t index);
struct ath_wire_bytes ath_wire_list_data(struct ath_wire_list list, uint32_t index);
struct ath_wire_list ath_wire_list_list(struct ath_wire_list list, uint32_t index);

/* The bytes at an offset. They are zero if the struct (of an older peer) ends before. */
static inline uint8_t ath_wire_u8(struct ath_wire_struct from, uint32_t offset, uint8_t initial)
{
    return (uint8_t)((offset < from.data_bytes ? from.data[offset] : 0) ^ initial);
}

static inline uint16_t ath_wire_u16(struct ath_wire_struct from, uint32_t offset, uint16_t initial)
{
    uint16_t value = 0;
    if (offset + sizeof value <= from.data_bytes)
        memcpy(&value, from.data + offset, sizeof value);
    return le16toh(value) ^ initial;
}

static inline uint32_t ath_wire_u32(struct ath_wire_struct from, uint32_t offset, uint32_t initial)
{
    uint32_t value = 0;
    if (offset + sizeof value <= from.data_bytes)
        memcpy(&value, from.data + offset, sizeof value);
    return le32toh(value) ^ initial;
}

static inline uint64_t ath_wire_u64(struct ath_wire_struct from, uint32_t offset, uint64_t initial)
{
    uint64_t value = 0;
    if (offset + sizeof value <= from.data_bytes)
        memcpy(&value, from.data + offset, sizeof value);
    return le64toh(value) ^ initial;
}

static inline bool ath_wire_bool(struct ath_wire_struct from, uint32_t bit, bool initial)
{
    return ((ath_wire_u8(from, bit / 8, 0) >> bit % 8) & 1) != initial;
}

static inline int8_t ath_wire_i8(struct ath_wire_struct from, uint32_t offset, uint8_t initial)
{
    return (int8_t)ath_wire_u8(from, offset, initial);
}

static inline int16_t ath_wire_i16(struct ath_wire_struct from, uint32_t offset, uint16_t initial)
{
    return (int16_t)ath_wire_u16(from, offset, initial);
}

static inline int32_t ath_wire_i32(struct ath_wire_struct from, uint32_t offset, uint32_t initial)
{
    return (int32_t)ath_wire_u32(from, offset, initial);
}

static inline int64_t ath_wire_i64(struct ath_wire_struct from, uint32_t offset, uint64_t initial)
{
    return (int64_t)ath_wire_u64(from, offset, initial);
}

static inline float ath_wire_f32(struct ath_wire_struct from, uint32_t offset, uint32_t initial)
{
    uint32_t bits = ath_wire_u32(from, offset, initial);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double ath_wire_f64(struct ath_wire_struct from, uint32_t offset, uint64_t initial)
{
    uint64_t bits = ath_wire_u64(from, offset, initial);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* An item of a list of numbers, as a struct with this field only:
 * ath_wire_u32(ath_wire_item(list, i), 0, 0). */
static inline struct ath_wire_struct ath_wire_item(struct ath_wire_list list, uint32_t index)
{
    if (index >= list.count)
        return (struct ath_wire_struct){ 0 };
    return (struct ath_wire_struct){ .data = list.items + (size_t)index * list.data_bytes,
                                     .data_bytes = list.data_bytes };
}

/* An item of a list of bools. */
static inline bool ath_wire_list_bool(struct ath_wire_list list, uint32_t index)
{
    return index < list.count && (list.items[index / 8] >> index % 8 & 1);
}
