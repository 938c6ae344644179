/* The library of a session on the program's own machine: which calls go on, which captures are
 * under way, and whose functions a program gets. */
#include "config.h"

#include <limits.h>

#include "cuda/api/symbols.h"
#include "cuda/local/local.h"
#include "remote/session/open.h"

#include "unit.h"

/* ---- in place of the library's other files ---- */

const char *const ath_local_names[ATH_CUDA_DRIVER_COUNT];

CUresult cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_ERROR_UNKNOWN;
}

static CUresult opened;

CUresult ath_local_open(void)
{
    return opened;
}

static void of_library(void)
{
}

const struct ath_cuda_symbol *ath_cuda_symbol_find(const char *name, int version, bool per_thread,
                                                   CUdriverProcAddressQueryResult *out_status)
{
    static const struct ath_cuda_symbol only = { .base = "cuKnown",
                                                 .since = 11000,
                                                 .function = of_library };
    (void)per_thread;
    *out_status = CU_GET_PROC_ADDRESS_SUCCESS;
    return strcmp(name, only.base) != 0 || version < only.since ? NULL : &only;
}

static void setup(void)
{
    atomic_store(&ath_local_captures, 0);
}

static void teardown(void)
{
    atomic_store(&ath_local.state, ATH_LOCAL_NEW);
    ath_local.driver = (struct ath_cuda_driver){ 0 };
}

FIXTURE(setup, teardown);

TEST(captures_are_counted_until_they_are_over)
{
    static const CUresult over[] = { CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                                     CUDA_ERROR_STREAM_CAPTURE_UNJOINED };
    static const CUresult goes_on[] = { CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                                        CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_HANDLE };
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        ck_assert_int_eq(ath_local_began_capture(CUDA_SUCCESS), CUDA_SUCCESS);
        ck_assert_int_eq(ath_local_began_capture(CUDA_ERROR_INVALID_HANDLE),
                         CUDA_ERROR_INVALID_HANDLE);
        ck_assert_uint_eq(atomic_load(&ath_local_captures), 1);
        for (size_t k = 0; k < sizeof goes_on / sizeof *goes_on; k++) {
            ck_assert_int_eq(ath_local_ended_capture(goes_on[k]), goes_on[k]);
            ck_assert_uint_eq(atomic_load(&ath_local_captures), 1);
        }
        ck_assert_int_eq(ath_local_ended_capture(over[i]), over[i]);
        ck_assert_uint_eq(atomic_load(&ath_local_captures), 0);
    }
    ath_local_ended_capture(CUDA_SUCCESS); /* of a capture that began before the library */
    ck_assert_uint_eq(atomic_load(&ath_local_captures), 0);
}

static const struct {
    enum ath_local_state state;
    bool stops_uses, stops_ends, stops_tells;
    CUresult why;
} rows[] = {
    { ATH_LOCAL_READY, false, false, false, CUDA_ERROR_SYSTEM_NOT_READY },
    { ATH_LOCAL_ENDED, true, false, false, CUDA_ERROR_DEVICE_UNAVAILABLE },
    { ATH_LOCAL_FORKED, true, true, false, CUDA_ERROR_NOT_INITIALIZED },
    { ATH_LOCAL_FAILED, true, true, true, CUDA_ERROR_SYSTEM_NOT_READY },
};

/* Calls that end something go on after the end of the session, and calls that tell words in a
 * child.
 */
LOOP_TEST(a_state_stops_some_calls, 0, sizeof rows / sizeof *rows)
{
    unsetenv("AITHERION_DRIVER");
    (void)ath_local_must_stop(ATH_LOCAL_USES); /* the first call finds no driver, and says so */
    atomic_store(&ath_local.state, rows[_i].state);
    ck_assert_int_eq(ath_local_must_stop(ATH_LOCAL_USES), rows[_i].stops_uses);
    ck_assert_int_eq(ath_local_must_stop(ATH_LOCAL_ENDS), rows[_i].stops_ends);
    ck_assert_int_eq(ath_local_must_stop(ATH_LOCAL_TELLS), rows[_i].stops_tells);
    ck_assert_int_eq(ath_local_why(), rows[_i].why);
}

TEST(only_a_session_that_runs_can_end)
{
    atomic_store(&ath_local.state, ATH_LOCAL_READY);
    ath_local_end();
    ck_assert_int_eq(atomic_load(&ath_local.state), ATH_LOCAL_ENDED);
    atomic_store(&ath_local.state, ATH_LOCAL_FORKED);
    ath_local_end();
    ck_assert_int_eq(atomic_load(&ath_local.state), ATH_LOCAL_FORKED);
}

/* ---- whose functions a program gets ---- */

enum { KNOWN = 13000 }; /* the newest version of CUDA whose functions the library knows */

/* The driver of this test has a function from one version on, and another one from a later one. */
static int first_version, other_version;

static void of_driver(void)
{
}

static void newer_of_driver(void)
{
}

static CUresult give(const char *symbol, void **out, int version, uint64_t flags)
{
    void (*function)(void) = version < other_version ? of_driver : newer_of_driver;
    (void)symbol;
    (void)flags;
    if (version < first_version)
        return CUDA_ERROR_NOT_FOUND;
    memcpy(out, &function, sizeof *out);
    return CUDA_SUCCESS;
}

static CUresult give_v2(const char *symbol, void **out, int version, uint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return give(symbol, out, version, flags);
}

static const struct {
    const char *symbol;
    int first_version, other_version, version;
    void (*wanted)(void);
} functions[] = {
    { "cuKnown", 11000, INT_MAX, KNOWN, of_library },
    { "cuKnown", 11000, INT_MAX, KNOWN + 10, of_library },
    { "cuKnown", 11000, KNOWN, 12000, of_library },
    { "cuKnown", 11000, KNOWN + 10, KNOWN, of_library },
    { "cuKnown", 11000, KNOWN + 10, KNOWN + 10, newer_of_driver },
    { "cuKnown", KNOWN + 10, INT_MAX, KNOWN + 10, of_driver },
    { "cuOther", 11000, INT_MAX, KNOWN, of_driver },
};

/* A program of a newer CUDA gets the driver's function where it is not the one that the library
 * knows. */
LOOP_TEST(a_newer_function_is_the_drivers, 0, sizeof functions / sizeof *functions)
{
    first_version = functions[_i].first_version;
    other_version = functions[_i].other_version;
    ath_local.driver.cuGetProcAddress = give;
    for (int i = 0; i < 2; i++) { /* drivers before CUDA 12 have cuGetProcAddress() only */
        CUdriverProcAddressQueryResult status;
        void *entry = NULL;
        ck_assert_int_eq(
            ath_local_cuGetProcAddress(functions[_i].symbol, &entry, functions[_i].version, 0),
            CUDA_SUCCESS);
        ck_assert_mem_eq(&entry, &functions[_i].wanted, sizeof entry);
        entry = NULL;
        if (i)
            ath_local.driver.cuGetProcAddress_v2 = give_v2;
        ck_assert_int_eq(ath_local_cuGetProcAddress_v2(functions[_i].symbol, &entry,
                                                       functions[_i].version, 0, &status),
                         CUDA_SUCCESS);
        ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SUCCESS);
        ck_assert_mem_eq(&entry, &functions[_i].wanted, sizeof entry);
    }
}

TEST(a_function_that_the_driver_lacks_is_not_given)
{
    CUdriverProcAddressQueryResult status;
    void *entry = NULL;

    ck_assert_int_eq(ath_local_cuGetProcAddress("cuKnown", &entry, KNOWN, 0),
                     CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(ath_local_cuGetProcAddress_v2("cuKnown", &entry, KNOWN, 0, &status),
                     CUDA_ERROR_NOT_SUPPORTED);
    first_version = KNOWN;
    other_version = INT_MAX;
    ath_local.driver.cuGetProcAddress = give;
    ath_local.driver.cuGetProcAddress_v2 = give_v2;
    ck_assert_int_eq(ath_local_cuGetProcAddress("cuKnown", &entry, KNOWN - 10, 0),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(ath_local_cuGetProcAddress_v2("cuKnown", &entry, KNOWN - 10, 0, &status),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_ptr_null(entry);
    ck_assert_int_eq(ath_local_cuGetProcAddress_v2("cuKnown", &entry, KNOWN, 0, NULL),
                     CUDA_SUCCESS);
    ck_assert_ptr_nonnull(entry);
}

TEST(a_question_for_a_function_needs_a_name_and_a_place)
{
    CUdriverProcAddressQueryResult status;
    void *entry;

    first_version = 0;
    ath_local.driver.cuGetProcAddress = give;
    ath_local.driver.cuGetProcAddress_v2 = give_v2;
    ck_assert_int_eq(ath_local_cuGetProcAddress(NULL, &entry, KNOWN, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(ath_local_cuGetProcAddress("cuKnown", NULL, KNOWN, 0),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(ath_local_cuGetProcAddress_v2(NULL, &entry, KNOWN, 0, &status),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(ath_local_cuGetProcAddress_v2("cuKnown", NULL, KNOWN, 0, &status),
                     CUDA_ERROR_INVALID_VALUE);
}

static CUresult init_of_driver(unsigned int flags)
{
    return flags == 7 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The driver is not asked without a session. */
TEST(cuinit_opens_the_session_first)
{
    opened = CUDA_SUCCESS;
    ck_assert_int_eq(ath_local_cuInit(7), CUDA_ERROR_NOT_SUPPORTED);
    ath_local.driver.cuInit = init_of_driver;
    ck_assert_int_eq(ath_local_cuInit(7), CUDA_SUCCESS);
    ck_assert_int_eq(ath_local_cuInit(8), CUDA_ERROR_INVALID_VALUE);
    opened = CUDA_ERROR_SYSTEM_NOT_READY;
    ck_assert_int_eq(ath_local_cuInit(7), CUDA_ERROR_SYSTEM_NOT_READY);
}
