/* The ledger of a session's GPU memory: what is given back to the books, and when. */
#include "config.h"

#include "runtime/quota/ledger.h"

#include <stdint.h>

#include "runtime/quota/session_quota.h"
#include "unit.h"

#define CONTEXT ((CUcontext)(uintptr_t)0x10)
#define OTHER ((CUcontext)(uintptr_t)0x20)

enum { DEVICE = 2, SHARE = 77 };

/* ---- books of the test's own ---- */

static int64_t taken; /* bytes of the device */
static int64_t shared;
static int holds; /* of the share, by this session */
static uint64_t share_named;
static bool is_full, is_gone;

static void give(size_t device, int64_t bytes)
{
    ck_assert_uint_eq(device, DEVICE);
    taken -= bytes;
}

static uint64_t share_make(size_t device, int64_t bytes)
{
    ck_assert_uint_eq(device, DEVICE);
    if (is_full)
        return 0;
    taken -= bytes;
    shared += bytes;
    holds++;
    return SHARE;
}

static void share_name(uint64_t share, uint64_t name)
{
    ck_assert_uint_eq(share, SHARE);
    share_named = name;
}

static bool share_hold(uint64_t share)
{
    ck_assert_uint_eq(share, SHARE);
    holds += !is_gone;
    return !is_gone;
}

static void share_drop(uint64_t share)
{
    ck_assert_uint_eq(share, SHARE);
    holds--;
}

static const struct ath_books books = { .give = give,
                                        .share_make = share_make,
                                        .share_name = share_name,
                                        .share_hold = share_hold,
                                        .share_drop = share_drop };

static void setup(void)
{
    taken = shared = 0;
    holds = 0;
    share_named = 0;
    is_full = is_gone = false;
    ath_quota.books = &books;
}

FIXTURE(setup, NULL);

static struct ath_holding *make(int64_t bytes, CUcontext context)
{
    struct ath_holding *made = ath_holding_make(DEVICE, bytes, context);
    ck_assert_ptr_nonnull(made);
    taken += bytes;
    return made;
}

static void add(enum ath_holding_kind kind, uint64_t value, int64_t bytes, CUcontext context)
{
    ck_assert_int_eq(ath_ledger_settle(make(bytes, context), kind, value, CUDA_SUCCESS),
                     CUDA_SUCCESS);
}

static void end(enum ath_holding_kind kind, uint64_t value)
{
    struct ath_holding *one = ath_ledger_withdraw(kind, value);
    ck_assert_ptr_nonnull(one);
    ck_assert_int_eq(ath_ledger_conclude(one, CUDA_SUCCESS), CUDA_SUCCESS);
}

/* A mapping of a handle, which has a reference. */
static void map(uint64_t address, uint64_t handle)
{
    struct ath_holding *one = make(0, NULL);
    one->handle = handle;
    ath_ledger_retain_handle(handle);
    ck_assert_int_eq(ath_ledger_settle(one, ATH_HOLDING_MAPPED, address, CUDA_SUCCESS),
                     CUDA_SUCCESS);
}

/* ---- allocations ---- */

TEST(memory_counts_until_it_is_freed)
{
    add(ATH_HOLDING_ADDRESS, 0x1000, 100, CONTEXT);
    add(ATH_HOLDING_ADDRESS, 0x2000, 20, CONTEXT);
    add(ATH_HOLDING_ARRAY, 0x1000, 3, CONTEXT); /* the same value of another kind */
    ck_assert_int_eq(taken, 123);
    end(ATH_HOLDING_ADDRESS, 0x1000);
    ck_assert_int_eq(taken, 23);
    ck_assert_ptr_null(ath_ledger_withdraw(ATH_HOLDING_ADDRESS, 0x1000));
    end(ATH_HOLDING_ARRAY, 0x1000);
    ck_assert_int_eq(taken, 20);
    end(ATH_HOLDING_ADDRESS, 0x2000);
    ck_assert_int_eq(taken, 0);
}

TEST(a_call_that_failed_changes_nothing)
{
    ck_assert_int_eq(
        ath_ledger_settle(make(50, CONTEXT), ATH_HOLDING_ADDRESS, 0x1000, CUDA_ERROR_OUT_OF_MEMORY),
        CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(taken, 0);
    ck_assert_ptr_null(ath_ledger_withdraw(ATH_HOLDING_ADDRESS, 0x1000));
    add(ATH_HOLDING_ADDRESS, 0x1000, 50, CONTEXT);
    struct ath_holding *one = ath_ledger_withdraw(ATH_HOLDING_ADDRESS, 0x1000);
    ck_assert_int_eq(ath_ledger_conclude(one, CUDA_ERROR_INVALID_VALUE), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(taken, 50); /* the driver did not free it */
    end(ATH_HOLDING_ADDRESS, 0x1000);
    ck_assert_int_eq(taken, 0);
    ck_assert_int_eq(ath_ledger_conclude(NULL, CUDA_ERROR_INVALID_VALUE), CUDA_ERROR_INVALID_VALUE);
    ath_holding_give(make(9, NULL));
    ath_holding_give(NULL);
    ck_assert_int_eq(taken, 0);
}

TEST(memory_ends_with_its_context)
{
    add(ATH_HOLDING_ADDRESS, 0x1000, 1, CONTEXT);
    add(ATH_HOLDING_MODULE, 0x2000, 10, CONTEXT);
    add(ATH_HOLDING_ADDRESS, 0x3000, 100, OTHER);
    add(ATH_HOLDING_HANDLE, 0x4000, 1000, NULL);
    ath_ledger_drop_context(NULL);
    ck_assert_int_eq(taken, 1111);
    ath_ledger_drop_context(CONTEXT);
    ck_assert_int_eq(taken, 1100);
    ath_ledger_drop_context(OTHER);
    ck_assert_int_eq(taken, 1000);
    ath_ledger_release_handle(0x4000);
    ck_assert_int_eq(taken, 0);
}

/* ---- handles and their mappings ---- */

TEST(a_handle_ends_with_its_last_mapping)
{
    add(ATH_HOLDING_HANDLE, 7, 1000, NULL);
    map(0x10000, 7);
    map(0x20000, 7);
    ath_ledger_release_handle(7); /* the program's own */
    ck_assert_int_eq(taken, 1000);
    ath_ledger_unmap(0x10000, 0x10000); /* the second begins behind it */
    ck_assert_int_eq(taken, 1000);
    ath_ledger_unmap(0x20001, 0x10000); /* it begins before */
    ck_assert_int_eq(taken, 1000);
    ath_ledger_unmap(0x1f000, 0x1000);
    ck_assert_int_eq(taken, 1000);
    ath_ledger_unmap(0x1f000, 0x1001);
    ck_assert_int_eq(taken, 0);
    ath_ledger_retain_handle(7); /* there is none */
    ath_ledger_release_handle(7);
    ck_assert_int_eq(taken, 0);
}

TEST(a_range_ends_all_its_mappings)
{
    for (uint64_t i = 0; i < 40; i++) {
        add(ATH_HOLDING_HANDLE, 100 + i, 10, NULL);
        map(UINT64_MAX - 0x100000 + i * 0x1000, 100 + i); /* up to the end of all addresses */
        ath_ledger_release_handle(100 + i);
        add(ATH_HOLDING_ADDRESS, UINT64_MAX - 0x100000 + i * 0x1000, 1, CONTEXT);
    }
    ck_assert_int_eq(taken, 440);
    ath_ledger_unmap(UINT64_MAX - 0x100000, 10 * 0x1000);
    ck_assert_int_eq(taken, 340);
    ath_ledger_unmap(UINT64_MAX - 0x100000, SIZE_MAX);
    ck_assert_int_eq(taken, 40);
    ath_ledger_drop_context(CONTEXT);
    ck_assert_int_eq(taken, 0);
}

/* ---- shared memory ---- */

TEST(shared_memory_is_held_until_its_last_user_ends)
{
    uint64_t share = 0;
    add(ATH_HOLDING_HANDLE, 7, 1000, NULL);
    ck_assert(ath_ledger_share_handle(7, &share)); /* its descriptor */
    ck_assert_uint_eq(share, SHARE);
    ck_assert(ath_ledger_share_handle(7, &share)); /* it is shared once */
    ck_assert_int_eq(taken, 0);
    ck_assert_int_eq(shared, 1000);
    ck_assert_int_eq(holds, 1);
    ath_ledger_release_handle(7);
    ath_ledger_drop_share(SHARE);
    ck_assert_int_eq(holds, 1);
    ath_ledger_drop_share(SHARE);
    ck_assert_int_eq(holds, 0);
    ck_assert_int_eq(taken, 0);
    ath_ledger_drop_share(SHARE); /* there is none */
    ck_assert_int_eq(holds, 0);
}

TEST(an_address_loses_its_name_when_it_is_freed)
{
    add(ATH_HOLDING_ADDRESS, 0x1000, 100, CONTEXT);
    is_full = true;
    ck_assert(!ath_ledger_share_address(0x1000, 5));
    ck_assert_int_eq(taken, 100);
    is_full = false;
    ck_assert(ath_ledger_share_address(0x1000, 5));
    ck_assert_uint_eq(share_named, 5);
    end(ATH_HOLDING_ADDRESS, 0x1000);
    ck_assert_uint_eq(share_named, 0);
    ck_assert_int_eq(holds, 0);
    ck_assert_int_eq(taken, 0);
    uint64_t share = 3;
    ck_assert(ath_ledger_share_address(0x1000, 5)); /* memory that is not counted */
    ck_assert(ath_ledger_share_handle(8, &share));
    ck_assert_uint_eq(share, 3);
    ck_assert_int_eq(holds, 0);
}

TEST(opened_memory_has_references)
{
    is_gone = true;
    ck_assert(!ath_ledger_hold_share(SHARE));
    ck_assert(!ath_ledger_add_shared(ATH_HOLDING_OPENED, 0x1000, CONTEXT, SHARE));
    is_gone = false;
    ck_assert(ath_ledger_add_shared(ATH_HOLDING_OPENED, 0x1000, CONTEXT, SHARE));
    ck_assert(ath_ledger_add_shared(ATH_HOLDING_OPENED, 0x1000, CONTEXT, SHARE));
    ck_assert_int_eq(holds, 1);
    ck_assert_ptr_null(ath_ledger_withdraw_opened(0x1000)); /* one is left */
    ath_ledger_restore_opened(0x1000, NULL);                /* the driver did not close it */
    ck_assert_ptr_null(ath_ledger_withdraw_opened(0x1000));
    struct ath_holding *last = ath_ledger_withdraw_opened(0x1000);
    ck_assert_ptr_nonnull(last);
    ck_assert_ptr_null(ath_ledger_withdraw_opened(0x1000));
    ath_ledger_restore_opened(0x1000, last);
    last = ath_ledger_withdraw_opened(0x1000);
    ck_assert_ptr_nonnull(last);
    ck_assert_int_eq(holds, 1);
    ath_ledger_conclude(last, CUDA_SUCCESS);
    ck_assert_int_eq(holds, 0);
}
