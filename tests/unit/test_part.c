/* Parts of a device's multiprocessors: how many groups a percentage is, and who has which. */
#include "config.h"

#include "runtime/part/part.h"

#include "runtime/part_table.h"
#include "unit.h"

TEST(a_percentage_is_rounded_down_to_groups)
{
    static const struct {
        int percent;
        unsigned int groups, wanted;
    } cases[] = {
        { 25, 16, 4 }, { 50, 16, 8 }, { 1, 16, 1 },    { 97, 16, 15 },  { 99, 16, 15 },
        { 6, 16, 1 },  { 12, 16, 1 }, { 13, 16, 2 },   { 100, 16, 16 }, { 25, 8, 2 },
        { 12, 8, 1 },  { 13, 8, 1 },  { 50, 27, 13 },  { 100, 27, 27 }, { 3, 27, 1 },
        { 33, 23, 7 }, { 50, 0, 0 },  { 100, 64, 64 }, { 10, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(ath_part_groups(cases[i].percent, cases[i].groups) == cases[i].wanted,
                      "case %zu", i);
}

TEST(percentages_that_add_up_to_100_fit)
{
    for (unsigned int groups = 4; groups <= 64; groups++) {
        ck_assert_uint_le(4 * ath_part_groups(25, groups), groups);
        ck_assert_uint_le(3 * ath_part_groups(33, groups), groups);
        ck_assert_uint_le(2 * ath_part_groups(50, groups), groups);
        ck_assert_uint_le(ath_part_groups(30, groups) + ath_part_groups(70, groups), groups);
    }
}

static CUresult create(CUgreenCtx *context, CUdevResourceDesc descriptor, CUdevice device,
                       unsigned int flags)
{
    (void)context;
    (void)descriptor;
    (void)device;
    (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

TEST(a_driver_without_green_contexts_is_named_by_what_it_lacks)
{
    struct ath_cuda_driver driver = { 0 };
    ck_assert_str_eq(ath_part_lacks(&driver), "cuGreenCtxCreate");
    driver.cuGreenCtxCreate = create;
    ck_assert_str_eq(ath_part_lacks(&driver), "cuGreenCtxDestroy");
}

static struct ath_session_board *make_board(void)
{
    struct ath_session_board *board = ath_session_board_make();
    ck_assert_ptr_nonnull(board);
    for (size_t i = 0; i < 3; i++)
        ath_session_board_add(board, i, 10 + i, "test");
    return board;
}

TEST(sessions_have_different_groups)
{
    struct ath_session_board *board = make_board();
    ck_assert_uint_eq(ath_part_table_take(board, 0, 1, 15, 4), 0xf);
    ck_assert_uint_eq(ath_part_table_take(board, 1, 1, 15, 8), 0xff0);
    ck_assert_uint_eq(ath_part_table_take(board, 2, 1, 15, 4), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 2, 1, 15, 3), 0x7000);
    ck_assert_uint_eq(ath_part_table_take(board, 2, 0, 15, 15), 0x7fff); /* another device */
    ck_assert_uint_eq(ath_part_table_take(board, 0, 1, 15, 0), 0);       /* gives its part back */
    ck_assert_uint_eq(ath_part_table_take(board, 2, 1, 15, 7), 0x700f);  /* in place of its own */
    ath_session_board_remove(board, 1);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 1, 15, 8), 0xff0);
    ath_session_board_add(board, 1, 20, "another");
    ck_assert_uint_eq(ath_part_table_take(board, 1, 1, 15, 1), 0);
    ath_session_board_free(board);
}

TEST(numbers_that_make_no_sense_get_nothing)
{
    struct ath_session_board *board = make_board();
    ck_assert_uint_eq(ath_part_table_take(board, 0, ATH_DEVICES_MAX, 15, 4), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 65, 4), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 15, 16), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 15, -1), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 0, 0), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 64, 64), UINT64_MAX);
    ath_session_board_free(board);
}

/* A session's process that was taken over asks for what it likes. */
TEST(the_row_of_an_identity_bounds_a_session)
{
    struct ath_session_board *board = make_board();
    atomic_store(&board->known[0].identity_part, 25);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 5), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 4), 0xf);
    atomic_store(&board->known[0].identity_part, 1);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 2), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 1), 1);
    for (int percent = 1; percent <= 100; percent++) { /* what a session asks for by its row */
        atomic_store(&board->known[0].identity_part, percent);
        unsigned int wanted = ath_part_groups(percent, 16);
        ck_assert_msg(ath_part_table_take(board, 0, 0, 16, wanted), "%d percent", percent);
        ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, wanted + 1), 0);
    }
    ath_session_board_free(board);
}
