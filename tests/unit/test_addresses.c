/* Addresses with several servers: memory that overlaps another server's is rejected, and another
 * address is tried. The second server has a made driver, which takes the first hole that fits. */
#include "config.h"

#include "unit.h"

#include "cuda/client/client.h"
#include "cuda/several/addresses.h"
#include "remote/session/open.h"

/* ---- two servers ---- */

enum { CELL = 512, CELLS = 1 << 15 };

struct ath_several ath_several_all[ATH_SERVERS_MAX];
static bool is_used[CELLS]; /* of the second server; both have the same addresses */
static size_t used_cells, most_used_cells;
static CUdeviceptr kept[8]; /* in the tables of addresses */
static size_t kept_count;

size_t ath_several_count(void)
{
    return 2;
}

unsigned int ath_several_here(void)
{
    return 0;
}

CUcontext ath_cuda_current_context(void)
{
    return NULL;
}

bool ath_client_logs_calls(void)
{
    return false;
}

static const CUdeviceptr first_address = 0x300000000000;

static size_t cells_of(size_t bytes)
{
    return (bytes + CELL - 1) / CELL;
}

static void mark(CUdeviceptr address, size_t bytes, bool is_taken)
{
    size_t cell = (address - first_address) / CELL;
    for (size_t i = 0; i < cells_of(bytes); i++) {
        ck_assert_int_eq(is_used[cell + i], !is_taken);
        is_used[cell + i] = is_taken;
    }
    used_cells += is_taken ? cells_of(bytes) : -cells_of(bytes);
    if (used_cells > most_used_cells)
        most_used_cells = used_cells;
}

/* Takes the first hole. Returns 0 if there is none. */
static CUdeviceptr take(size_t bytes)
{
    size_t run = 0;
    for (size_t i = 0; i < CELLS; i++) {
        run = is_used[i] ? 0 : run + 1;
        if (run == cells_of(bytes)) {
            CUdeviceptr address = first_address + (i + 1 - run) * CELL;
            mark(address, bytes, true);
            return address;
        }
    }
    return 0;
}

static CUresult not_lost(size_t *free_bytes, size_t *total_bytes)
{
    (void)free_bytes;
    (void)total_bytes;
    return CUDA_ERROR_INVALID_VALUE;
}

static void setup(void)
{
    memset(is_used, 0, sizeof is_used);
    used_cells = most_used_cells = 0;
    for (unsigned int i = 0; i < 2; i++) {
        ath_several_all[i] = (struct ath_several){ .self = { .index = i, .server = "made" } };
        ath_several_all[i].calls.cuMemGetInfo_v2 = not_lost;
    }
}

/* Both servers' tables begin empty. */
static void leave_all(void)
{
    while (kept_count) {
        CUdeviceptr address = kept[--kept_count];
        for (unsigned int i = 0; i < 2; i++)
            (void)ath_several_leave(&ath_several_all[i], address);
    }
}

FIXTURE(setup, leave_all);

/* Allocates on the second server as the functions of proto/cuda_several.py do. Pieces that were
 * rejected have the size of what is allocated, or what was put behind. */
static CUresult allocate(CUdeviceptr *out, size_t bytes)
{
    const struct ath_several *second = &ath_several_all[1];
    struct ath_several_rejected rejected = { 0 };
    size_t sizes[ATH_SEVERAL_REJECTED_MAX + 2];
    CUdeviceptr address = take(bytes);
    while (address && ath_several_is_taken(second, address, bytes, &rejected)) {
        sizes[rejected.count - 1] = bytes;
        size_t behind_bytes = rejected.behind;
        CUdeviceptr behind = take(behind_bytes);
        ath_several_put_behind(second, &rejected, behind);
        if (behind)
            sizes[rejected.count - 1] = behind_bytes;
        address = take(bytes);
    }
    if (rejected.is_hopeless)
        sizes[rejected.count - 1] = bytes;
    for (size_t i = 0; i < rejected.count; i++)
        mark(rejected.addresses[i], sizes[i], false);
    kept[kept_count++] = *out = address;
    return address ? ath_several_took(second, &rejected) : CUDA_ERROR_OUT_OF_MEMORY;
}

static void take_at_first(size_t cell, size_t cells)
{
    kept[kept_count++] = first_address + cell * CELL;
    ath_several_keep(&ath_several_all[0], first_address + cell * CELL, cells * CELL);
}

/* Allocates one cell, and expects it at this cell. */
static void expect_cell(size_t cell)
{
    CUdeviceptr address;
    ck_assert_int_eq(allocate(&address, CELL), CUDA_SUCCESS);
    ck_assert_uint_eq((address - first_address) / CELL, cell);
}

/* ---- tests ---- */

TEST(free_addresses_are_taken)
{
    expect_cell(0);
    expect_cell(1);
    ck_assert_uint_eq(used_cells, 2);
}

TEST(a_piece_goes_behind_the_other_servers_memory)
{
    CUdeviceptr address;
    take_at_first(0, 1000);
    ck_assert_int_eq(allocate(&address, CELL), CUDA_SUCCESS);
    ck_assert_uint_ge(address, first_address + 1000 * CELL);
    ck_assert_uint_eq(used_cells, 1);         /* all others were given back, */
    ck_assert_uint_lt(most_used_cells, 4000); /* which were not much more than what is in the way */
}

/* A large piece does not fit into the hole, so it does not move the next small one. */
LOOP_TEST(a_hole_between_taken_memory_is_passed, 1, 40)
{
    enum { TAKEN = 7000 };
    size_t hole = 175 * (size_t)_i;
    CUdeviceptr address;
    take_at_first(0, TAKEN);
    mark(first_address + hole * CELL, CELL, true); /* behind the hole */
    ck_assert_int_eq(allocate(&address, CELL), CUDA_SUCCESS);
    ck_assert_uint_ge(address, first_address + TAKEN * CELL);
    ck_assert_uint_eq(used_cells, 2);
}

/* Holes of one cell cannot be filled by anything but the pieces themselves. */
TEST(many_small_holes_are_passed)
{
    enum { HOLES = 60 };
    CUdeviceptr address;
    take_at_first(0, 2 * HOLES);
    for (size_t i = 0; i < HOLES; i++)
        mark(first_address + (2 * i + 1) * CELL, CELL, true);
    ck_assert_int_eq(allocate(&address, CELL), CUDA_SUCCESS);
    ck_assert_uint_ge(address, first_address + 2 * HOLES * CELL);
}

TEST(all_addresses_of_the_other_server_are_hopeless)
{
    CUdeviceptr address;
    take_at_first(0, CELLS);
    ck_assert_int_eq(allocate(&address, CELL), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(used_cells, 0);
}

/* A server that is lost keeps no address from others. */
static CUresult lost(size_t *free_bytes, size_t *total_bytes)
{
    (void)free_bytes;
    (void)total_bytes;
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

TEST(memory_of_a_lost_server_does_not_count)
{
    take_at_first(0, 1000);
    ath_several_all[0].calls.cuMemGetInfo_v2 = lost;
    expect_cell(0);
}

TEST(ranges_end_with_their_last_byte)
{
    struct ath_several_range range;
    take_at_first(2, 3);
    ck_assert(!ath_several_find(first_address + 2 * CELL - 1, &range));
    ck_assert(ath_several_find(first_address + 2 * CELL, &range));
    ck_assert(ath_several_find(first_address + 5 * CELL - 1, &range));
    ck_assert(!ath_several_find(first_address + 5 * CELL, &range));
    ck_assert_uint_eq(range.index, 0);
    expect_cell(0);
    expect_cell(1);
    expect_cell(5);
    ck_assert(ath_several_find(first_address + 5 * CELL, &range));
    ck_assert_uint_eq(range.index, 1);
    ck_assert(ath_several_has_others(&ath_several_all[1]));
    range = ath_several_leave(&ath_several_all[0], first_address + 2 * CELL);
    ck_assert_uint_eq(range.bytes, 3 * CELL);
    ck_assert(!ath_several_has_others(&ath_several_all[1]));
    ath_several_stay(&range);
    ck_assert(ath_several_find(first_address + 4 * CELL, &range));
    ck_assert_uint_eq(ath_several_leave(&ath_several_all[0], first_address + 3 * CELL).bytes, 0);
}
