/* Maps of 64-bit keys: many entries in few buckets, equal keys, taking entries out of a loop. */
#include "config.h"

#include "base/map.h"

#include "unit.h"

enum { COUNT = 100 };

struct thing {
    struct ath_map_entry entry;
    int number;
};

static struct thing things[COUNT];

/* Two buckets, so that each has many entries. */
static struct ath_map map = ATH_MAP(1);

static void fill(void)
{
    for (int i = 0; i < COUNT; i++) {
        things[i].number = i;
        ath_map_add(&map, &things[i].entry, (uint64_t)i << 32);
    }
}

static void empty(void)
{
    map.buckets[0] = map.buckets[1] = NULL;
}

static size_t count(void)
{
    size_t found = 0;
    ATH_MAP_EACH(&map, at)
    found++;
    return found;
}

FIXTURE(fill, empty);

TEST(finds_each_key_and_no_other)
{
    for (int i = 0; i < COUNT; i++) {
        const struct thing *found = ath_map_find(&map, (uint64_t)i << 32);
        ck_assert_ptr_eq(found, &things[i]);
    }
    ck_assert_ptr_null(ath_map_find(&map, (uint64_t)COUNT << 32));
    ck_assert_ptr_null(ath_map_find(&map, 1));
    ck_assert_ptr_null(*ath_map_at(&map, UINT64_MAX));
}

TEST(both_buckets_are_used)
{
    ck_assert_ptr_nonnull(map.buckets[0]);
    ck_assert_ptr_nonnull(map.buckets[1]);
    ck_assert_uint_eq(count(), COUNT);
}

TEST(takes_out_one_entry)
{
    ck_assert_ptr_eq(ath_map_take(ath_map_at(&map, (uint64_t)7 << 32)), &things[7]);
    ck_assert_ptr_null(ath_map_find(&map, (uint64_t)7 << 32));
    ck_assert_ptr_null(ath_map_take(ath_map_at(&map, (uint64_t)7 << 32)));
    ck_assert_uint_eq(count(), COUNT - 1);
    ck_assert_ptr_eq(ath_map_find(&map, (uint64_t)8 << 32), &things[8]);
}

TEST(equal_keys_are_found_one_after_the_other)
{
    struct thing second = { .number = 1000 }, third = { .number = 1001 };
    const uint64_t key = (uint64_t)5 << 32;
    int sum = 0, found = 0;

    ath_map_add(&map, &second.entry, key);
    ath_map_add(&map, &third.entry, key);
    for (struct ath_map_entry **at = ath_map_at(&map, key); *at;
         at = ath_map_same(&(*at)->next, key)) {
        sum += ((const struct thing *)*at)->number;
        found++;
    }
    ck_assert_int_eq(found, 3);
    ck_assert_int_eq(sum, 2006);
}

TEST(a_loop_may_take_entries_out)
{
    int taken = 0;

    ATH_MAP_EACH(&map, at)
    if (((const struct thing *)*at)->number % 3) {
        ath_map_take(at);
        taken++;
    }
    ck_assert_int_eq(taken, 66);
    ck_assert_uint_eq(count(), COUNT - 66);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(ath_map_find(&map, (uint64_t)i << 32) == NULL, i % 3 != 0);
    ATH_MAP_EACH(&map, at)
    ath_map_take(at);
    ck_assert_uint_eq(count(), 0);
}
