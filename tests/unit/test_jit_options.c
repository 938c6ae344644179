/* Options of the driver's compiler at the server: logs get buffers of the client's sizes, and what
 * the driver writes is answered. */
#include "config.h"

#include "base/host_budget.h"
#include "session.h"

enum { MOST = 4 };

/* ---- a driver that keeps the options, and writes into them ---- */

static unsigned int option_count, calls;
static CUjit_option options_seen[MOST];
static void *values_seen[MOST];
static const char *log_words; /* what it writes into each log */

static CUresult load(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                     void **values)
{
    ck_assert_str_eq(image, "// code");
    ck_assert_uint_le(count, MOST);
    calls++;
    option_count = count;
    for (unsigned int i = 0; i < count; i++) {
        options_seen[i] = options[i];
        values_seen[i] = values[i];
        if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
            memcpy(values[i], log_words, strlen(log_words));
        else if (options[i] == CU_JIT_WALL_TIME)
            values[i] = (void *)(uintptr_t)0x1234;
    }
    *module = (CUmodule)(uintptr_t)0x150;
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver driver = { .cuModuleLoadDataEx = load };

static void setup(void)
{
    calls = option_count = 0;
    log_words = "";
    begin_session(&driver);
}

FIXTURE(setup, end_session);

/* ---- calls ---- */

struct option {
    CUjit_option option;
    uint64_t value;
};

static void begin_load(const struct option *options, uint32_t count)
{
    struct ath_cuda_wire_module_load_data_ex_builder call =
        ath_cuda_wire_call_init_module_load_data_ex(begin(NULL));
    struct ath_wire_array images = ath_cuda_wire_module_load_data_ex_init_images(call, 1);
    struct ath_cuda_wire_image_builder image = { ath_wire_array_struct(images, 0) };
    ath_cuda_wire_image_set_data(image, (struct ath_wire_bytes){ (const uint8_t *)"// code", 8 });
    struct ath_wire_array list = ath_cuda_wire_module_load_data_ex_init_options(call, count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_cuda_wire_jit_option_builder to = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_jit_option_set_option(to, (uint32_t)options[i].option);
        ath_cuda_wire_jit_option_set_value(to, options[i].value);
    }
}

static struct ath_wire_list results(void)
{
    struct ath_cuda_wire_answer answer = serve();
    ck_assert_int_eq((CUresult)ath_cuda_wire_answer_status(answer), CUDA_SUCCESS);
    return ath_cuda_wire_module_load_data_ex_result_results(
        ath_cuda_wire_answer_module_load_data_ex(answer));
}

static struct ath_cuda_wire_jit_option result(struct ath_wire_list list, uint32_t i)
{
    return (struct ath_cuda_wire_jit_option){ ath_wire_list_struct(list, i) };
}

static void expect_log(struct ath_wire_list list, uint32_t i, const char *text, size_t length)
{
    struct ath_wire_bytes contents = ath_cuda_wire_jit_option_contents(result(list, i));
    ck_assert_uint_eq(contents.length, length);
    ck_assert_int_eq(length ? memcmp(contents.data, text, length) : 0, 0);
}

TEST(numbers_travel_both_ways)
{
    const struct option options[] = { { CU_JIT_MAX_REGISTERS, 32 },
                                      { CU_JIT_WALL_TIME, 0 },
                                      { CU_JIT_OPTIMIZATION_LEVEL, 3 } };
    begin_load(options, 3);
    struct ath_wire_list list = results();
    ck_assert_uint_eq(option_count, 3);
    ck_assert_uint_eq(list.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(options_seen[i], options[i].option);
        ck_assert_uint_eq((uintptr_t)values_seen[i], options[i].value);
        ck_assert_uint_eq(ath_cuda_wire_jit_option_option(result(list, i)),
                          (uint32_t)options[i].option);
        ck_assert_uint_eq(ath_cuda_wire_jit_option_value(result(list, i)),
                          i == 1 ? 0x1234 : options[i].value);
    }
}

/* A log ends with a NUL byte if it has room for one. */
TEST(logs_come_back_with_their_end)
{
    const struct option options[] = { { CU_JIT_INFO_LOG_BUFFER, 6 },
                                      { CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 6 },
                                      { CU_JIT_ERROR_LOG_BUFFER, 64 },
                                      { CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 60 } };
    static const char *const words[] = { "", "abc", "abcde", "abcdef" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        log_words = words[i];
        begin_load(options, 4);
        struct ath_wire_list list = results();
        expect_log(list, 0, words[i], length < 6 ? length + 1 : 6);
        expect_log(list, 2, words[i], length + 1);
        expect_log(list, 1, NULL, 0);
        ck_assert_uint_eq(ath_cuda_wire_jit_option_value(result(list, 0)), 6);
        ck_assert_uint_eq(ath_cuda_wire_jit_option_value(result(list, 2)), 64);
        ck_assert_ptr_ne(values_seen[0], values_seen[2]);
        ck_assert_uint_eq((uintptr_t)values_seen[1], 6);
        ck_assert_uint_eq((uintptr_t)values_seen[3], 60);
    }
}

TEST(a_log_may_be_empty)
{
    const struct option options[] = { { CU_JIT_INFO_LOG_BUFFER, 0 },
                                      { CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 0 } };
    begin_load(options, 2);
    expect_log(results(), 0, NULL, 0);
}

/* The driver would write behind the buffer, or read through an address of the program's. */
TEST(what_the_driver_must_not_get_is_refused)
{
    static const struct {
        struct option options[3];
        uint32_t count;
    } wrong[] = {
        { { { CU_JIT_INFO_LOG_BUFFER, 16 }, { CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 17 } }, 2 },
        { { { CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 17 }, { CU_JIT_INFO_LOG_BUFFER, 16 } }, 2 },
        { { { CU_JIT_ERROR_LOG_BUFFER, 16 }, { CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 17 } }, 2 },
        { { { CU_JIT_ERROR_LOG_BUFFER, 16 },
            { CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 12 },
            { CU_JIT_ERROR_LOG_BUFFER, 8 } },
          3 },
        { { { CU_JIT_INFO_LOG_BUFFER, UINT64_C(1) << 40 } }, 1 },
        { { { CU_JIT_GLOBAL_SYMBOL_NAMES, 1 } }, 1 },
        { { { CU_JIT_GLOBAL_SYMBOL_ADDRESSES, 1 } }, 1 },
        { { { CU_JIT_REFERENCED_KERNEL_NAMES, 1 } }, 1 },
        { { { CU_JIT_REFERENCED_VARIABLE_NAMES, 1 } }, 1 },
        { { { CU_JIT_MAX_REGISTERS, 32 }, { CU_JIT_GLOBAL_SYMBOL_NAMES, 1 } }, 2 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin_load(wrong[i].options, wrong[i].count);
        ck_assert_msg(serve_status() == CUDA_ERROR_INVALID_VALUE, "case %zu", i);
    }
    ck_assert_uint_eq(calls, 0);
}

/* ---- the session's share of the host's memory ---- */

enum { BUDGET_BYTES = 1 << 20 };

static int64_t taken_bytes, most_taken_bytes;
static int takes;

static bool take_from_budget(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    ck_assert_int_eq(kind, ATH_HOST_BYTES);
    if (taken_bytes + amount > BUDGET_BYTES)
        return false;
    takes++;
    taken_bytes += amount;
    most_taken_bytes = taken_bytes > most_taken_bytes ? taken_bytes : most_taken_bytes;
    return true;
}

static void give_to_budget(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    ck_assert_int_eq(kind, ATH_HOST_BYTES);
    taken_bytes -= amount;
}

static const struct ath_host_budget budget = { .take = take_from_budget, .give = give_to_budget };

static void set_budget(void)
{
    setup();
    taken_bytes = most_taken_bytes = takes = 0;
    ath_host_budget_set(&budget);
}

static void end_budget(void)
{
    ath_host_budget_set(NULL);
    end_session();
}

FIXTURE(set_budget, end_budget);

/* A message of some bytes may ask for many large logs. */
TEST(large_logs_count_until_the_call_is_over)
{
    const struct option large[] = { { CU_JIT_INFO_LOG_BUFFER, 600 << 10 },
                                    { CU_JIT_ERROR_LOG_BUFFER, 600 << 10 } };
    const struct option small[] = { { CU_JIT_INFO_LOG_BUFFER, 1 << 10 } };
    begin_load(small, 1);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    ck_assert_int_eq(most_taken_bytes, 0);
    for (int i = 0; i < 3; i++) {
        begin_load(large, 1);
        ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
        ck_assert_int_ge(most_taken_bytes, 600 << 10);
        begin_load(large, 2);
        ck_assert_int_eq(serve_status(), CUDA_ERROR_OUT_OF_MEMORY);
        ck_assert_int_eq(taken_bytes, 0);
    }
    ck_assert_uint_eq(calls, 4);
}

/* Each is too small to count alone. */
TEST(many_small_logs_count_together)
{
    struct option many[64];
    for (size_t i = 0; i < 64; i++)
        many[i] = (struct option){ CU_JIT_ERROR_LOG_BUFFER, 32 << 10 };
    begin_load(many, 64);
    ck_assert_int_eq(serve_status(), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_gt(most_taken_bytes, BUDGET_BYTES / 2);
    ck_assert_int_eq(taken_bytes, 0);
}

/* An answer that brings what a GPU wrote has thousands of blocks, and a look at the budget is
 * dear. */
TEST(small_blocks_look_at_the_budget_seldom)
{
    struct ath_cuda_side side = { 0 };
    for (int i = 0; i < 200; i++)
        ck_assert_ptr_nonnull(ath_cuda_room(&side, 4096, 1));
    ck_assert_int_eq(takes, 1);
    ath_cuda_side_free(&side);
    ck_assert_int_eq(taken_bytes, 0);
}
