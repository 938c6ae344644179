/* Masks of changed bytes: found, and applied without touching other bytes. Lengths that are no
 * multiple of eight, masks of every kind. */
#include "config.h"

#include "cuda/common/byte_mask.h"

#include "unit.h"

enum { MOST = 100, ROUNDS = 2000 };

static uint8_t now[MOST], shadow[MOST], data[MOST], mask[MOST];

static unsigned int number(void)
{
    static unsigned int state = 1;
    state = state * 1103515245 + 12345;
    return state >> 16;
}

/* Few values, so that bytes are often equal. */
static void fill(uint8_t *bytes)
{
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (uint8_t)(number() % 3);
}

static bool is_in(size_t i)
{
    return mask[i / 8] >> i % 8 & 1;
}

TEST(names_the_bytes_that_differ)
{
    for (int round = 0; round < ROUNDS; round++) {
        const size_t length = number() % (MOST + 1);
        bool is_all = true;
        fill(now);
        fill(shadow);
        if (round % 4 == 0)
            for (size_t i = 0; i < length; i++)
                now[i] = (uint8_t)(shadow[i] + 1);
        bool found = ath_byte_mask_fill(now, shadow, length, mask);
        for (size_t i = 0; i < length; i++) {
            ck_assert_int_eq(is_in(i), now[i] != shadow[i]);
            is_all &= now[i] != shadow[i];
        }
        ck_assert_int_eq(found, is_all);
    }
}

TEST(changes_only_the_bytes_that_it_names)
{
    for (int round = 0; round < ROUNDS; round++) {
        const size_t length = number() % (MOST + 1);
        uint8_t now_before[MOST], shadow_before[MOST];
        fill(now);
        fill(shadow);
        fill(data);
        if (round % 2)
            memcpy(now, shadow, MOST);
        for (size_t i = 0; i < MOST; i++)
            mask[i] = round % 3 ? (uint8_t)number() : UINT8_MAX;
        memcpy(now_before, now, MOST);
        memcpy(shadow_before, shadow, MOST);
        ath_byte_mask_apply(now, shadow, data, length, round % 5 ? mask : NULL);
        for (size_t i = 0; i < MOST; i++) {
            bool is_taken = i < length && (round % 5 == 0 || is_in(i));
            bool is_same = now_before[i] == shadow_before[i];
            ck_assert_uint_eq(now[i], is_taken && is_same ? data[i] : now_before[i]);
            ck_assert_uint_eq(shadow[i], is_taken ? data[i] : shadow_before[i]);
        }
    }
}
