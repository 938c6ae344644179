/*
 * Checks messages, and follows their pointers.
 *
 * A pointer is a word: two bits of kind, 30 bits of offset from the next word, and 32 bits for the
 * size of its target. Words are counted from the start of the message. All sums have 64 bits, so
 * they cannot overflow.
 */
#include "config.h"

#include "remote/wire/message.h"

#include <errno.h>

enum { KIND_STRUCT, KIND_LIST };

struct pointer {
    unsigned int kind;
    int32_t offset;     /* in words, from the word behind the pointer */
    uint32_t low, high; /* struct: words of data, pointers; list: enum ath_wire_size, count */
};

static struct pointer decode(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word = le64toh(word);
    struct pointer pointer = { .kind = word & 3, .offset = (int32_t)(uint32_t)word >> 2 };
    uint32_t upper = (uint32_t)(word >> 32);
    pointer.low = pointer.kind == KIND_STRUCT ? upper & 0xffff : upper & 7;
    pointer.high = pointer.kind == KIND_STRUCT ? upper >> 16 : upper >> 3;
    return pointer;
}

static bool is_null(const uint8_t *at)
{
    static const uint8_t zero[ATH_WIRE_WORD];
    return !memcmp(at, zero, sizeof zero);
}

static const uint8_t *target_of(const uint8_t *at, const struct pointer *pointer)
{
    return at + ATH_WIRE_WORD + (ptrdiff_t)pointer->offset * ATH_WIRE_WORD;
}

static uint32_t item_bits(uint32_t size)
{
    static const uint32_t bits[] = { 0, 1, 8, 16, 32, 64, 64, 0 };
    return bits[size];
}

/* ---- the check ---- */

struct check {
    const uint8_t *words;
    int64_t count;      /* of words in the message */
    int64_t words_left; /* that pointers may still reach: in a tree each word is reached once */
    int64_t items_left; /* items without size */
    int depth_left;
};

static bool check_struct(struct check *check, struct ath_wire_struct at,
                         const struct ath_wire_shape *shape);
static bool check_pointer(struct check *check, const uint8_t *at, const struct ath_wire_type *type);

/* Returns whether this many words at the target lie in the message, and counts them. */
static bool take_words(struct check *check, const uint8_t *at, const struct pointer *pointer,
                       int64_t size)
{
    int64_t target = (at - check->words) / ATH_WIRE_WORD + 1 + pointer->offset;
    if (target < 0 || target > check->count || size > check->count - target ||
        size > check->words_left)
        return false;
    check->words_left -= size;
    return true;
}

static struct ath_wire_struct struct_of(const uint8_t *data, const struct pointer *size)
{
    return (struct ath_wire_struct){ .data = data,
                                     .data_bytes = size->low * ATH_WIRE_WORD,
                                     .pointers = data + (size_t)size->low * ATH_WIRE_WORD,
                                     .pointer_count = size->high };
}

static bool check_structs(struct check *check, const uint8_t *at, const struct pointer *pointer,
                          const struct ath_wire_shape *shape)
{
    if (!take_words(check, at, pointer, (int64_t)pointer->high + 1))
        return false;
    const uint8_t *item = target_of(at, pointer);
    struct pointer tag = decode(item);
    int64_t count = (uint32_t)tag.offset & 0x3fffffff, words = (int64_t)tag.low + tag.high;
    if (tag.kind != KIND_STRUCT || count * words > pointer->high)
        return false;
    if (!words && (check->items_left -= count) < 0)
        return false;
    item += ATH_WIRE_WORD;
    for (int64_t i = 0; words && i < count; i++, item += words * ATH_WIRE_WORD)
        if (!check_struct(check, struct_of(item, &tag), shape))
            return false;
    return true;
}

static bool check_pointers(struct check *check, const uint8_t *at, const struct pointer *pointer,
                           const struct ath_wire_type *item)
{
    const uint8_t *target = target_of(at, pointer);
    for (uint32_t i = 0; i < pointer->high; i++)
        if (!check_pointer(check, target + (size_t)i * ATH_WIRE_WORD, item))
            return false;
    return true;
}

static bool check_list(struct check *check, const uint8_t *at, const struct pointer *pointer,
                       const struct ath_wire_type *type)
{
    static const struct ath_wire_type byte = { .kind = ATH_WIRE_SCALAR, .size = ATH_WIRE_1_BYTE };
    const struct ath_wire_type *item = type->kind == ATH_WIRE_LIST ? type->item : &byte;

    if (pointer->kind != KIND_LIST || pointer->low != item->size)
        return false;
    if (item->size == ATH_WIRE_COMPOSITE)
        return check_structs(check, at, pointer, item->shape);
    int64_t words = ((int64_t)pointer->high * item_bits(item->size) + 63) / 64;
    if (!take_words(check, at, pointer, words))
        return false;
    if (item->size == ATH_WIRE_EMPTY)
        return (check->items_left -= pointer->high) >= 0;
    if (item->size == ATH_WIRE_POINTER)
        return check_pointers(check, at, pointer, item);
    if (type->kind == ATH_WIRE_TEXT)
        return pointer->high && !target_of(at, pointer)[pointer->high - 1];
    return true;
}

static bool check_target(struct check *check, const uint8_t *at, const struct ath_wire_type *type)
{
    struct pointer pointer = decode(at);

    if (type->kind != ATH_WIRE_STRUCT)
        return check_list(check, at, &pointer, type);
    return pointer.kind == KIND_STRUCT &&
           take_words(check, at, &pointer, (int64_t)pointer.low + pointer.high) &&
           check_struct(check, struct_of(target_of(at, &pointer), &pointer), type->shape);
}

static bool check_pointer(struct check *check, const uint8_t *at, const struct ath_wire_type *type)
{
    if (is_null(at))
        return true;
    if (!check->depth_left)
        return false;
    check->depth_left--;
    bool is_right = check_target(check, at, type);
    check->depth_left++;
    return is_right;
}

/* A group lies in the struct itself and is only as deep as the schema. */
static bool check_field(struct check *check, struct ath_wire_struct at,
                        const struct ath_wire_pointer *field)
{
    if (field->type->kind == ATH_WIRE_GROUP)
        return check_struct(check, at, field->type->shape);
    return field->index >= at.pointer_count ||
           check_pointer(check, at.pointers + (size_t)field->index * ATH_WIRE_WORD, field->type);
}

/* The active member of the union, if it is a pointer or may contain one; otherwise NULL. The
 * union of CUDA's calls has some four hundred members and is searched twice for each call. */
static const struct ath_wire_pointer *member_of(struct ath_wire_struct at,
                                                const struct ath_wire_shape *shape)
{
    size_t low = shape->fixed, high = shape->count;
    if (low == high)
        return NULL;
    int tag = ath_wire_u16(at, shape->tag_offset, 0);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shape->pointers[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low < shape->count && shape->pointers[low].tag == tag ? &shape->pointers[low] : NULL;
}

static bool check_struct(struct check *check, struct ath_wire_struct at,
                         const struct ath_wire_shape *shape)
{
    for (size_t i = 0; i < shape->fixed; i++)
        if (!check_field(check, at, &shape->pointers[i]))
            return false;
    const struct ath_wire_pointer *member = member_of(at, shape);
    return !member || check_field(check, at, member);
}

int ath_wire_open(const uint8_t *words, size_t length, const struct ath_wire_shape *shape,
                  struct ath_wire_struct *out)
{
    const struct ath_wire_type root = { .kind = ATH_WIRE_STRUCT, .shape = shape };
    int64_t count = (int64_t)(length / ATH_WIRE_WORD);
    struct check check = { .words = words,
                           .count = count,
                           .words_left = count - 1,
                           .items_left = ATH_WIRE_EMPTY_ITEMS_MAX,
                           .depth_left = ATH_WIRE_DEPTH_MAX };

    if (!length || length % ATH_WIRE_WORD || !check_pointer(&check, words, &root))
        return -EBADMSG;
    *out = ath_wire_inner((struct ath_wire_struct){ .pointers = words, .pointer_count = 1 }, 0);
    return 0;
}

/* ---- readers ---- */

/* The struct's pointer of an index; NULL if there is none. */
static const uint8_t *pointer_at(struct ath_wire_struct from, uint32_t index)
{
    const uint8_t *at =
        index < from.pointer_count ? from.pointers + (size_t)index * ATH_WIRE_WORD : NULL;
    return at && !is_null(at) ? at : NULL;
}

bool ath_wire_has(struct ath_wire_struct from, uint32_t index)
{
    return pointer_at(from, index);
}

static struct ath_wire_struct as_struct(struct ath_wire_list list)
{
    return (struct ath_wire_struct){ .pointers = list.items,
                                     .pointer_count = list.pointer_count ? list.count : 0 };
}

struct ath_wire_struct ath_wire_inner(struct ath_wire_struct from, uint32_t index)
{
    const uint8_t *at = pointer_at(from, index);
    if (!at)
        return (struct ath_wire_struct){ 0 };
    struct pointer pointer = decode(at);
    return struct_of(target_of(at, &pointer), &pointer);
}

struct ath_wire_list ath_wire_list(struct ath_wire_struct from, uint32_t index)
{
    const uint8_t *at = pointer_at(from, index);
    if (!at)
        return (struct ath_wire_list){ 0 };
    struct pointer pointer = decode(at);
    struct ath_wire_list list = { .items = target_of(at, &pointer), .count = pointer.high };
    if (pointer.low == ATH_WIRE_COMPOSITE) {
        struct pointer tag = decode(list.items);
        list.items += ATH_WIRE_WORD;
        list.count = (uint32_t)tag.offset & 0x3fffffff;
        list.data_bytes = tag.low * ATH_WIRE_WORD;
        list.pointer_count = tag.high;
    } else if (pointer.low == ATH_WIRE_POINTER) {
        list.pointer_count = 1;
    } else {
        list.data_bytes = item_bits(pointer.low) / 8;
    }
    return list;
}

struct ath_wire_bytes ath_wire_data(struct ath_wire_struct from, uint32_t index,
                                    struct ath_wire_bytes missing)
{
    if (!pointer_at(from, index))
        return missing;
    struct ath_wire_list list = ath_wire_list(from, index);
    return (struct ath_wire_bytes){ list.items, list.count };
}

const char *ath_wire_text(struct ath_wire_struct from, uint32_t index, const char *missing)
{
    struct ath_wire_bytes bytes = ath_wire_data(from, index, (struct ath_wire_bytes){ 0 });
    return bytes.data ? (const char *)bytes.data : missing;
}

struct ath_wire_struct ath_wire_list_struct(struct ath_wire_list list, uint32_t index)
{
    if (index >= list.count)
        return (struct ath_wire_struct){ 0 };
    size_t step = list.data_bytes + (size_t)list.pointer_count * ATH_WIRE_WORD;
    const uint8_t *item = list.items + index * step;
    return (struct ath_wire_struct){ .data = item,
                                     .data_bytes = list.data_bytes,
                                     .pointers = item + list.data_bytes,
                                     .pointer_count = list.pointer_count };
}

const char *ath_wire_list_text(struct ath_wire_list list, uint32_t index)
{
    return ath_wire_text(as_struct(list), index, "");
}

struct ath_wire_bytes ath_wire_list_data(struct ath_wire_list list, uint32_t index)
{
    return ath_wire_data(as_struct(list), index, (struct ath_wire_bytes){ 0 });
}

struct ath_wire_list ath_wire_list_list(struct ath_wire_list list, uint32_t index)
{
    return ath_wire_list(as_struct(list), index);
}
