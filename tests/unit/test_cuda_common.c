/* Code that the client and the server of CUDA's calls share: lists of captures, memory of a call,
 * boxes of a copy, and promised handles. */
#include "config.h"

#include <errno.h>
#include <stdint.h>

#include "cuda/common/call_side.h"
#include "cuda/common/capture_list.h"
#include "cuda/common/copy_box.h"
#include "cuda/common/open_result.h"
#include "cuda/common/promise.h"
#include "cuda/common/shadow_copy.h"

#include "unit.h"

/* ---- captures under way ---- */

static struct ath_cuda_capture_list captures;

static void begin_captures(void)
{
    captures = (struct ath_cuda_capture_list){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

static void end_captures(void)
{
    ath_cuda_capture_list_end_context(&captures, NULL);
    ck_assert_uint_eq(captures.count, 0);
    ck_assert_ptr_null(captures.first);
}

static CUstream stream_of(uintptr_t number)
{
    return (CUstream)(0x1000 * number);
}

static CUcontext context_of(uintptr_t number)
{
    return (CUcontext)(0x10000 * number);
}

/* The threads, from 1 on, that have captures under way, a digit each. */
static unsigned int threads(void)
{
    unsigned int digits = 0;
    for (uint32_t thread = 1; thread <= 9; thread++)
        if (ath_cuda_capture_list_has_thread(&captures, thread))
            digits = 10 * digits + thread;
    return digits;
}

FIXTURE(begin_captures, end_captures);

TEST(a_capture_is_under_way_until_its_stream_ends_it)
{
    ck_assert_uint_eq(threads(), 0);
    for (uint32_t thread = 1; thread <= 5; thread++)
        ath_cuda_capture_list_add(&captures, stream_of(thread), context_of(1), thread);
    ck_assert_uint_eq(threads(), 12345);
    ck_assert_uint_eq(captures.count, 5);
    ath_cuda_capture_list_remove(&captures, stream_of(6), 3); /* it captures nothing */
    ck_assert_uint_eq(threads(), 12345);
    ath_cuda_capture_list_remove(&captures, stream_of(3), 9); /* any thread may end it */
    ck_assert_uint_eq(threads(), 1245);
    ath_cuda_capture_list_remove(&captures, stream_of(5), 5); /* the first of the list */
    ath_cuda_capture_list_remove(&captures, stream_of(1), 1); /* the last */
    ck_assert_uint_eq(threads(), 24);
    ck_assert_uint_eq(captures.count, 2);
}

TEST(a_thread_may_have_several_captures)
{
    ath_cuda_capture_list_add(&captures, stream_of(1), context_of(1), 7);
    ath_cuda_capture_list_add(&captures, stream_of(2), context_of(1), 7);
    ath_cuda_capture_list_remove(&captures, stream_of(1), 7);
    ck_assert_uint_eq(threads(), 7);
    ath_cuda_capture_list_remove(&captures, stream_of(2), 7);
    ck_assert_uint_eq(threads(), 0);
}

TEST(a_default_stream_is_of_its_thread)
{
    for (uint32_t thread = 1; thread <= 3; thread++)
        ath_cuda_capture_list_add(&captures, CU_STREAM_PER_THREAD, context_of(1), thread);
    ath_cuda_capture_list_remove(&captures, CU_STREAM_PER_THREAD, 2);
    ck_assert_uint_eq(threads(), 13);
    ath_cuda_capture_list_remove(&captures, CU_STREAM_PER_THREAD, 4);
    ck_assert_uint_eq(threads(), 13);
}

TEST(captures_end_with_their_context)
{
    for (uint32_t thread = 1; thread <= 6; thread++)
        ath_cuda_capture_list_add(&captures, stream_of(thread), context_of(1 + thread / 3), thread);
    ath_cuda_capture_list_end_context(&captures, context_of(2));
    ck_assert_uint_eq(threads(), 126);
    ath_cuda_capture_list_end_context(&captures, context_of(9));
    ck_assert_uint_eq(threads(), 126);
    ath_cuda_capture_list_end_context(&captures, context_of(1));
    ck_assert_uint_eq(threads(), 6);
}

/* ---- memory of a call ---- */

static struct ath_cuda_side side;

static void begin_side(void)
{
    side = (struct ath_cuda_side){ .status = CUDA_SUCCESS };
}

static void end_side(void)
{
    ath_cuda_side_free(&side);
    ck_assert_ptr_null(side.blocks);
}

FIXTURE(begin_side, end_side);

TEST(rooms_are_zeroed_and_apart)
{
    enum { ROOMS = 100 };
    unsigned char *rooms[ROOMS];
    for (size_t i = 0; i < ROOMS; i++) {
        const size_t bytes = 3 * i;
        rooms[i] = ath_cuda_room(&side, i, 3);
        ck_assert_ptr_nonnull(rooms[i]);
        ck_assert_uint_eq((uintptr_t)rooms[i] % 64, 0);
        for (size_t at = 0; at < bytes; at++)
            ck_assert_uint_eq(rooms[i][at], 0);
        memset(rooms[i], (int)i, bytes);
    }
    for (size_t i = 1; i < ROOMS; i++) {
        ck_assert_uint_eq(rooms[i][0], i);
        ck_assert_uint_eq(rooms[i][3 * i - 1], i);
    }
    ck_assert_int_eq(side.status, CUDA_SUCCESS);
}

TEST(a_room_has_its_most)
{
    ck_assert_ptr_nonnull(ath_cuda_room(&side, ATH_CUDA_ROOM_MAX / 16, 16));
    ck_assert_int_eq(side.status, CUDA_SUCCESS);
    static const uint64_t too_many[] = { ATH_CUDA_ROOM_MAX / 16 + 1, UINT64_MAX / 16 + 1,
                                         UINT64_MAX };
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        side.status = CUDA_SUCCESS;
        ck_assert_ptr_null(ath_cuda_room(&side, too_many[i], 16));
        ck_assert_int_eq(side.status, CUDA_ERROR_INVALID_VALUE);
    }
}

TEST(bytes_are_cut_or_filled_with_zeros)
{
    for (size_t size = 0; size <= 6; size++) {
        char to[] = "xxxxxxx", untouched[] = "xxxxxxx";
        ath_cuda_copy_bytes(to, size, (struct ath_wire_bytes){ (const uint8_t *)"abcd", 4 });
        ck_assert_int_eq(memcmp(to, "abcd\0\0", size), 0);
        ck_assert_str_eq(to + size, untouched + size);
    }
    char to[] = "xx";
    ath_cuda_copy_bytes(to, 2, (struct ath_wire_bytes){ NULL, 0 });
    ck_assert_int_eq(to[0] | to[1], 0);
}

TEST(a_text_always_ends)
{
    for (size_t size = 0; size <= 6; size++) {
        char to[] = "xxxxxxx", untouched[] = "xxxxxxx";
        const size_t kept = size > 4 ? 4 : size - 1;
        ath_cuda_copy_text(to, size, "abcd");
        ck_assert(!size || !strncmp(to, "abcd", kept));
        ck_assert(!size || strlen(to) == kept);
        ck_assert_str_eq(to + size, untouched + size);
    }
}

TEST(counts_have_their_most)
{
    ck_assert_uint_eq(ath_cuda_items(0), 0);
    ck_assert_uint_eq(ath_cuda_items(ATH_CUDA_ITEMS_MAX - 1), ATH_CUDA_ITEMS_MAX - 1);
    ck_assert_uint_eq(ath_cuda_items(ATH_CUDA_ITEMS_MAX), ATH_CUDA_ITEMS_MAX);
    ck_assert_uint_eq(ath_cuda_items((UINT64_C(1) << 32) + 1), ATH_CUDA_ITEMS_MAX);
    ck_assert(ath_cuda_is_within(0, 5) && ath_cuda_is_within(5, 5));
    ck_assert(!ath_cuda_is_within(-1, 5) && !ath_cuda_is_within(6, 5));
}

/* Both kinds of copies: beside others, and in pages of their own. */
TEST(shadow_copies_are_zeroed)
{
    const size_t in_pages = 1 << 20, sizes[] = { 1, in_pages - 1, in_pages, in_pages + 1 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *same = ath_cuda_shadow_copy_make(sizes[i]);
        ck_assert_ptr_nonnull(same);
        ck_assert_int_eq(same[0] | same[sizes[i] / 2] | same[sizes[i] - 1], 0);
        memset(same, 1, sizes[i]);
        ath_cuda_shadow_copy_free(same, sizes[i]);
    }
    ath_cuda_shadow_copy_free(NULL, in_pages);
}

/* ---- boxes of a copy ---- */

enum { X = 7, Y = 5, Z = 4 }; /* the largest box */

/* A pattern and where copies of it go, with a margin. */
static uint8_t from[4 * X * Y * Z], to[4 * X * Y * Z], wanted[4 * X * Y * Z];

static void begin_box(void)
{
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(1 + i % 251);
    memset(to, 0, sizeof to);
    memset(wanted, 0, sizeof wanted);
}

static CUDA_MEMCPY3D_PEER box(size_t width, size_t height, size_t depth)
{
    return (CUDA_MEMCPY3D_PEER){ .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = from,
                                 .dstMemoryType = CU_MEMORYTYPE_HOST,
                                 .dstHost = to,
                                 .WidthInBytes = width,
                                 .Height = height,
                                 .Depth = depth };
}

/* One byte after the other, as CUDA describes it. */
static void expect(const CUDA_MEMCPY3D_PEER *copy)
{
    const size_t from_pitch =
        copy->srcPitch ? copy->srcPitch : copy->srcXInBytes + copy->WidthInBytes;
    const size_t to_pitch =
        copy->dstPitch ? copy->dstPitch : copy->dstXInBytes + copy->WidthInBytes;
    const size_t from_rows = copy->srcHeight ? copy->srcHeight : copy->srcY + copy->Height;
    const size_t to_rows = copy->dstHeight ? copy->dstHeight : copy->dstY + copy->Height;
    for (size_t z = 0; z < copy->Depth; z++)
        for (size_t y = 0; y < copy->Height; y++)
            for (size_t x = 0; x < copy->WidthInBytes; x++)
                wanted[((copy->dstZ + z) * to_rows + copy->dstY + y) * to_pitch +
                       copy->dstXInBytes + x] =
                    from[((copy->srcZ + z) * from_rows + copy->srcY + y) * from_pitch +
                         copy->srcXInBytes + x];
    ath_cuda_box_move(copy);
    ck_assert_int_eq(memcmp(to, wanted, sizeof to), 0);
}

FIXTURE(begin_box, NULL);

TEST(a_box_moves_with_offsets_and_gaps)
{
    CUDA_MEMCPY3D_PEER copy = box(3, 2, 2);
    expect(&copy);
    copy.srcXInBytes = 2;
    copy.dstXInBytes = 1;
    expect(&copy);
    copy.srcY = 1;
    copy.dstY = 2;
    expect(&copy);
    copy.srcZ = 1;
    copy.dstZ = 2;
    expect(&copy);
    copy.srcPitch = X;
    copy.dstPitch = X + 1;
    expect(&copy);
    copy.srcHeight = Y;
    copy.dstHeight = Y + 1;
    expect(&copy);
}

TEST(a_packed_end_has_no_gaps)
{
    CUDA_MEMCPY3D_PEER copy = box(3, 2, 2), in = copy, out = copy;
    uint8_t packed[3 * 2 * 2];
    copy.srcXInBytes = in.srcXInBytes = 2;
    copy.dstXInBytes = out.dstXInBytes = 1;
    copy.srcY = in.srcY = 1;
    copy.dstY = out.dstY = 2;
    copy.srcZ = in.srcZ = 1;
    copy.dstZ = out.dstZ = 2;
    copy.srcPitch = in.srcPitch = X;
    copy.dstPitch = out.dstPitch = X + 1;
    copy.srcHeight = in.srcHeight = Y;
    copy.dstHeight = out.dstHeight = Y + 1;
    expect(&copy);
    memset(to, 0, sizeof to);
    in.dstXInBytes = in.dstY = in.dstZ = in.dstLOD = 9; /* all replaced */
    out.srcXInBytes = out.srcY = out.srcZ = out.srcLOD = 9;
    in.dstPitch = in.dstHeight = out.srcPitch = out.srcHeight = 99;
    ath_cuda_box_pack_target(&in, packed);
    ath_cuda_box_pack_source(&out, packed);
    ck_assert_uint_eq(in.dstLOD | out.srcLOD, 0);
    ath_cuda_box_move(&in);
    ath_cuda_box_move(&out);
    ck_assert_int_eq(memcmp(to, wanted, sizeof to), 0);
}

TEST(a_row_of_host_memory_is_a_box)
{
    CUDA_MEMCPY3D_PEER copy = ath_cuda_box_from_host(from + 5, 20);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to;
    ath_cuda_box_move(&copy);
    memcpy(wanted, from + 5, 20);
    ck_assert_int_eq(memcmp(to, wanted, sizeof to), 0);
    copy = ath_cuda_box_to_host(to + 50, 30);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from;
    ath_cuda_box_move(&copy);
    memcpy(wanted + 50, from, 30);
    ck_assert_int_eq(memcmp(to, wanted, sizeof to), 0);
}

TEST(a_rectangle_is_a_box)
{
    const CUDA_MEMCPY2D flat = { .srcXInBytes = 1,
                                 .srcY = 2,
                                 .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcHost = from,
                                 .srcDevice = 3,
                                 .srcArray = (CUarray)(uintptr_t)4,
                                 .srcPitch = 5,
                                 .dstXInBytes = 6,
                                 .dstY = 7,
                                 .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                 .dstHost = to,
                                 .dstDevice = 8,
                                 .dstArray = (CUarray)(uintptr_t)9,
                                 .dstPitch = 10,
                                 .WidthInBytes = 11,
                                 .Height = 12 };
    const CUDA_MEMCPY3D_PEER made = ath_cuda_box_of_2d(&flat);
    const size_t got[] = {
        made.srcXInBytes,  made.srcY,  made.srcDevice, (uintptr_t)made.srcArray, made.srcPitch,
        made.dstXInBytes,  made.dstY,  made.dstDevice, (uintptr_t)made.dstArray, made.dstPitch,
        made.WidthInBytes, made.Height
    };
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        ck_assert_uint_eq(got[i], i + 1);
    ck_assert_int_eq(made.srcMemoryType, CU_MEMORYTYPE_DEVICE);
    ck_assert_int_eq(made.dstMemoryType, CU_MEMORYTYPE_ARRAY);
    ck_assert_ptr_eq(made.srcHost, from);
    ck_assert_ptr_eq(made.dstHost, to);
    ck_assert_uint_eq(made.Depth, 1);
    ck_assert_uint_eq(made.srcHeight | made.dstHeight | made.srcZ | made.dstZ, 0);
}

/* A program may leave anything in the reserved members. */
TEST(a_box_of_one_context_names_none)
{
    const CUDA_MEMCPY3D given = { .srcXInBytes = 1,
                                  .srcHost = from,
                                  .reserved0 = (void *)(uintptr_t)2,
                                  .srcHeight = 3,
                                  .dstHost = to,
                                  .reserved1 = (void *)(uintptr_t)4,
                                  .dstHeight = 5,
                                  .Depth = 6 };
    const CUDA_MEMCPY3D_PEER made = ath_cuda_box_of_3d(&given);
    ck_assert_ptr_null(made.srcContext);
    ck_assert_ptr_null(made.dstContext);
    ck_assert_ptr_eq(made.srcHost, from);
    ck_assert_ptr_eq(made.dstHost, to);
    ck_assert_uint_eq(made.srcXInBytes, 1);
    ck_assert_uint_eq(made.srcHeight, 3);
    ck_assert_uint_eq(made.dstHeight, 5);
    ck_assert_uint_eq(made.Depth, 6);
}

/* ---- attributes of a batch ---- */

TEST(attributes_are_about_copies_that_ascend)
{
    CUmemcpyAttributes attributes[3];
    const size_t first[] = { 0, 1, 4 }, late[] = { 1, 2, 3 }, same[] = { 0, 2, 2 },
                 back[] = { 0, 3, 2 };
    for (size_t i = 0; i < 3; i++)
        attributes[i] = (CUmemcpyAttributes){
            .srcAccessOrder = (CUmemcpySrcAccessOrder)(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM + i)
        };
    ck_assert(ath_cuda_are_batch_attributes(NULL, NULL, 0, 5));
    ck_assert(ath_cuda_are_batch_attributes(attributes, first, 3, 5));
    ck_assert(!ath_cuda_are_batch_attributes(attributes, first, 3, 4)); /* the last is about none */
    ck_assert(ath_cuda_are_batch_attributes(attributes, first, 1, 1));
    ck_assert(!ath_cuda_are_batch_attributes(attributes, first, 2, 1));
    ck_assert(!ath_cuda_are_batch_attributes(NULL, first, 1, 5));
    ck_assert(!ath_cuda_are_batch_attributes(attributes, NULL, 1, 5));
    ck_assert(!ath_cuda_are_batch_attributes(attributes, late, 3, 5));
    ck_assert(!ath_cuda_are_batch_attributes(attributes, same, 3, 5));
    ck_assert(!ath_cuda_are_batch_attributes(attributes, back, 3, 5));
    for (size_t i = 0; i < 3; i++) {
        const CUmemcpySrcAccessOrder right = attributes[i].srcAccessOrder;
        attributes[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
        ck_assert(!ath_cuda_are_batch_attributes(attributes, first, 3, 5));
        attributes[i].srcAccessOrder = (CUmemcpySrcAccessOrder)(CU_MEMCPY_SRC_ACCESS_ORDER_ANY + 1);
        ck_assert(!ath_cuda_are_batch_attributes(attributes, first, 3, 5));
        attributes[i].srcAccessOrder = right;
    }
}

/* ---- promised handles ---- */

TEST(promised_handles_are_like_no_address)
{
    for (unsigned int bit = 0; bit < 64; bit++) {
        const uint64_t made = ath_cuda_promise_from_hash(UINT64_C(1) << bit, 0);
        ck_assert(ath_cuda_is_promise(made));
        ck_assert_uint_eq(ath_cuda_promise_of(made), made);
        ck_assert_uint_eq(ath_cuda_promise_of(ath_cuda_promise_function(made)), made);
        ck_assert(ath_cuda_is_promise(ath_cuda_promise_function(made)));
        ck_assert_uint_ne(ath_cuda_promise_function(made), made);
        ck_assert_uint_eq(made != ATH_CUDA_PROMISE_MARK, bit >= 5 && bit < 48);
        ck_assert(!ath_cuda_is_promise(UINT64_C(1) << bit));
        ck_assert_uint_eq(ath_cuda_promise_of(UINT64_C(1) << bit), 0);
        bool is_of_hash = bit >= 4 && bit < 52; /* or the copy's number, or a function */
        ck_assert(ath_cuda_is_promise(ATH_CUDA_PROMISE_MARK ^ UINT64_C(1) << bit) == is_of_hash);
    }
    ck_assert_uint_eq(ath_cuda_promise_function(0), 0);
}

TEST(copies_of_code_have_handles_of_their_own)
{
    const uint64_t first = ath_cuda_promise_from_hash(UINT64_MAX, 0);
    for (uint32_t i = 0; i < ATH_CUDA_PROMISE_COPIES; i++) {
        const uint64_t copy = ath_cuda_promise_copy(first, i);
        const uint64_t kernel = ath_cuda_promise_from_hash(0, copy);
        ck_assert(ath_cuda_is_promise(copy));
        ck_assert_uint_eq(copy & ATH_CUDA_PROMISE_COPY, (uint64_t)i << 48);
        ck_assert_uint_eq(kernel, ATH_CUDA_PROMISE_MARK | (uint64_t)i << 48);
        ck_assert_uint_eq(ath_cuda_promise_copy(copy, 0), first);
        ck_assert_uint_eq(ath_cuda_promise_of(ath_cuda_promise_function(copy)), copy);
    }
}

TEST(an_open_that_failed_has_its_result)
{
    ck_assert_int_eq(ath_cuda_result_of_open(0), CUDA_SUCCESS);
    ck_assert_int_eq(ath_cuda_result_of_open(-ENODEV), CUDA_ERROR_NO_DEVICE);
    ck_assert_int_eq(ath_cuda_result_of_open(-EACCES), CUDA_ERROR_NOT_PERMITTED);
    ck_assert_int_eq(ath_cuda_result_of_open(-ENOKEY), CUDA_ERROR_NOT_PERMITTED);
    ck_assert_int_eq(ath_cuda_result_of_open(-ENOMEM), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(ath_cuda_result_of_open(-ECONNREFUSED), CUDA_ERROR_SYSTEM_NOT_READY);
}
