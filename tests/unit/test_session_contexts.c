/* Contexts that a thread of a session has current, while another thread ends and makes some. */
#include "config.h"

#include "session.h"

#define CONTEXT ((CUcontext)(uintptr_t)0x50)

/* ---- a driver with one handle for all contexts ---- */

static CUcontext current;
static int made_current;

static CUresult create(CUcontext *context, unsigned int flags, CUdevice device)
{
    (void)flags, (void)device;
    *context = CONTEXT;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
    *context = CONTEXT;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUcontext context)
{
    return context == CONTEXT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult set_current(CUcontext context)
{
    current = context;
    made_current += context == CONTEXT;
    return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static const struct ath_cuda_driver driver = { .cuCtxCreate_v2 = create,
                                               .cuCtxPopCurrent_v2 = pop,
                                               .cuCtxDestroy_v2 = destroy,
                                               .cuCtxSetCurrent = set_current,
                                               .cuCtxSynchronize = synchronize };

static struct ath_cuda_worker other;

static void setup(void)
{
    current = NULL;
    made_current = 0;
    begin_session(&driver);
    other = worker;
}

/* Serves the next calls in the other thread. */
static void change_thread(void)
{
    struct ath_cuda_worker now = other;
    other = worker;
    worker = now;
}

static void make_context(void)
{
    ath_cuda_wire_call_init_ctx_create_v2(begin(NULL));
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
}

static CUresult wait_in(CUcontext context)
{
    ath_cuda_wire_call_set_ctx_synchronize(begin(context));
    return serve_status();
}

FIXTURE(setup, end_session);

TEST(a_context_is_made_current_once)
{
    make_context();
    ck_assert_int_eq(wait_in(CONTEXT), CUDA_SUCCESS);
    ck_assert_int_eq(wait_in(CONTEXT), CUDA_SUCCESS);
    ck_assert_int_eq(made_current, 1);
}

/* The driver is not called in a context that another thread has ended, and a new context of the
 * same handle is another one. */
TEST(a_context_ends_for_all_threads)
{
    make_context();
    ck_assert_int_eq(wait_in(CONTEXT), CUDA_SUCCESS);
    change_thread();
    ath_cuda_wire_ctx_destroy_v2_set_context(ath_cuda_wire_call_init_ctx_destroy_v2(begin(NULL)),
                                             (uintptr_t)CONTEXT);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    change_thread();
    ck_assert_int_eq(wait_in(CONTEXT), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    change_thread();
    make_context();
    change_thread();
    ck_assert_int_eq(made_current, 1);
    ck_assert_int_eq(wait_in(CONTEXT), CUDA_SUCCESS);
    ck_assert_int_eq(made_current, 2);
}

TEST(an_unknown_context_is_not_given_to_the_driver)
{
    ck_assert_int_eq(wait_in(CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(made_current, 0);
}
