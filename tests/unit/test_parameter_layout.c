/* The offsets of a kernel's parameters: the client reads them from answers, and keeps them. */
#include "config.h"

#include "cuda/client/parameter_layout.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "proto/cuda-wire.h"
#include "tree.h"
#include "unit.h"

/* ---- in place of the client: a server that answers with `said`, and counts the questions ---- */

static uint64_t forgotten;
static int questions;
static struct ath_wire_builder call_builder, builder;
static struct ath_cuda_wire_answer answer;

uint64_t ath_cuda_forgotten(void)
{
    return forgotten;
}

bool ath_cuda_is_kernel(const void *handle)
{
    (void)handle;
    return false;
}

static uint64_t as_it_is(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    (void)side, (void)kind;
    return own;
}

CUresult ath_cuda_begin(struct ath_cuda_exchange *exchange, enum ath_cuda_method method)
{
    (void)method;
    *exchange = (struct ath_cuda_exchange){ .call = ath_cuda_wire_call_start(&call_builder),
                                            .side = { .to_wire = as_it_is } };
    return CUDA_SUCCESS;
}

CUresult ath_cuda_ask(struct ath_cuda_exchange *exchange)
{
    questions++;
    exchange->answer = answer;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_end(struct ath_cuda_exchange *exchange, CUresult status)
{
    (void)exchange;
    return status;
}

static void setup(void)
{
    forgotten++; /* the layouts of the tests before, if they ran in this process */
    questions = 0;
    builder = call_builder = (struct ath_wire_builder){ .max_bytes = 1 << 20 };
}

static void teardown(void)
{
    ath_wire_builder_free(&builder);
    ath_wire_builder_free(&call_builder);
}

/* Lets the server say that parameters of these sizes lie at these offsets. */
static struct ath_cuda_wire_layout say(const uint32_t (*parameters)[2], uint32_t count,
                                       uint32_t sizes, bool is_known)
{
    int status;
    size_t length;
    struct ath_cuda_wire_layout_builder layout = ath_cuda_wire_function_layout_result_init_layout(
        ath_cuda_wire_answer_init_function_layout(ath_cuda_wire_answer_start(&builder)));
    struct ath_wire_array array = ath_cuda_wire_layout_init_offsets(layout, count);
    for (uint32_t i = 0; i < count; i++)
        ath_wire_array_set_bits(array, i, parameters[i][0]);
    array = ath_cuda_wire_layout_init_sizes(layout, sizes);
    for (uint32_t i = 0; i < sizes; i++)
        ath_wire_array_set_bits(array, i, parameters[i][1]);
    ath_cuda_wire_layout_set_is_known(layout, is_known);
    ath_cuda_wire_layout_set_max_threads(layout, 512 + count);
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(ath_cuda_wire_answer_open(bytes + 8, length - 8, &answer), 0);
    return ath_cuda_wire_function_layout_result_layout(
        ath_cuda_wire_answer_function_layout(answer));
}

static const uint32_t mixed[][2] = { { 0, 8 }, { 8, 1 }, { 12, 4 }, { 16, 2 }, { 24, 8 } };

static void expect_layout(uintptr_t function, size_t count, size_t bytes)
{
    ath_auto_free struct ath_cuda_parameter_layout *layout = NULL;
    ck_assert_int_eq(ath_cuda_parameter_layout_of((const void *)function, &layout), CUDA_SUCCESS);
    ck_assert_uint_eq(layout->count, count);
    ck_assert_uint_eq(layout->bytes, bytes);
    ck_assert_uint_eq(layout->max_threads, 512 + count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(layout->parameters[i].offset, mixed[i][0]);
        ck_assert_uint_eq(layout->parameters[i].size, mixed[i][1]);
    }
}

FIXTURE(setup, teardown);

/* Any number of parameters: their bytes end with the last of them. */
LOOP_TEST(reads_each_parameter, 0, 6)
{
    static const size_t bytes[] = { 0, 8, 9, 16, 18, 32 };
    say(mixed, (uint32_t)_i, (uint32_t)_i, true);
    expect_layout(0x1000, (size_t)_i, bytes[_i]);
}

/* The parameter that ends last need not be the last one. */
TEST(bytes_reach_to_the_end_of_all)
{
    static const uint32_t backwards[][2] = { { 24, 8 }, { 0, 8 }, { 28, 4 } };
    ath_auto_free struct ath_cuda_parameter_layout *layout = NULL;
    say(backwards, 3, 3, true);
    ck_assert_int_eq(ath_cuda_parameter_layout_of((const void *)8, &layout), CUDA_SUCCESS);
    ck_assert_uint_eq(layout->bytes, 32);
}

TEST(reads_no_parameter_without_its_size)
{
    ath_auto_free struct ath_cuda_parameter_layout *layout = NULL;
    say(mixed, 5, 3, true);
    ck_assert_int_eq(ath_cuda_parameter_layout_of((const void *)8, &layout), CUDA_SUCCESS);
    ck_assert_uint_eq(layout->count, 3);
    ck_assert_uint_eq(layout->bytes, 16);
}

TEST(asks_once_for_each_function)
{
    enum { FUNCTIONS = 5000 }; /* more than the table has buckets */
    for (uint32_t i = 1; i <= FUNCTIONS; i++) {
        say(mixed, i % 6, i % 6, true);
        ck_assert(!ath_cuda_parameter_layout_is_known((const void *)((uintptr_t)i * 16)));
        ath_auto_free struct ath_cuda_parameter_layout *layout = NULL;
        ck_assert_int_eq(ath_cuda_parameter_layout_of((const void *)((uintptr_t)i * 16), &layout),
                         CUDA_SUCCESS);
    }
    ck_assert_int_eq(questions, FUNCTIONS);
    for (uintptr_t i = 1; i <= FUNCTIONS; i++) {
        static const size_t bytes[] = { 0, 8, 9, 16, 18, 32 };
        ck_assert(ath_cuda_parameter_layout_is_known((const void *)((uintptr_t)i * 16)));
        expect_layout(i * 16, i % 6, bytes[i % 6]);
    }
    ck_assert_int_eq(questions, FUNCTIONS);
}

/* A handle may come again for another kernel once modules may have gone. */
TEST(forgets_with_the_modules)
{
    say(mixed, 2, 2, true);
    expect_layout(8, 2, 9);
    forgotten++;
    ck_assert(!ath_cuda_parameter_layout_is_known((const void *)8));
    say(mixed, 3, 3, true);
    expect_layout(8, 3, 16);
    ck_assert_int_eq(questions, 2);
}

TEST(learns_what_came_with_a_handle)
{
    ath_cuda_parameter_layout_learn((const void *)8,
                                    say(mixed, 2, 2, false)); /* not known to the server */
    ck_assert(!ath_cuda_parameter_layout_is_known((const void *)8));
    ath_cuda_parameter_layout_learn((const void *)8, say(mixed, 4, 4, true));
    ath_cuda_parameter_layout_learn((const void *)8,
                                    say(mixed, 5, 5, true)); /* the first one stays */
    expect_layout(8, 4, 18);
    ck_assert_int_eq(questions, 0);
}
