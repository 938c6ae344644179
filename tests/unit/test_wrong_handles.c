/* Handles that must not reach the driver, which reads through whatever it gets. */
#include "config.h"

#include "session.h"

#define OF_THREAD ((CUstream)(uintptr_t)0x40)

/* ---- a driver that counts ---- */

static int questions, destroyed;

static CUresult tell_parameter(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    (void)function;
    (void)index;
    (void)offset;
    (void)bytes;
    questions++;
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult tell_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)attribute;
    (void)function;
    *value = 1;
    questions++;
    return CUDA_SUCCESS;
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                         size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    (void)node;
    (void)graph;
    (void)dependencies;
    (void)count;
    (void)params;
    questions++;
    return CUDA_SUCCESS;
}

static CUresult create_stream(CUstream *stream, unsigned int flags)
{
    (void)flags;
    *stream = OF_THREAD;
    return CUDA_SUCCESS;
}

static CUresult query_stream(CUstream stream)
{
    return stream == OF_THREAD ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUresult destroy_stream(CUstream stream)
{
    (void)stream;
    destroyed++;
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver driver = { .cuFuncGetParamInfo = tell_parameter,
                                               .cuFuncGetAttribute = tell_attribute,
                                               .cuGraphAddKernelNode_v2 = add_node,
                                               .cuStreamCreate = create_stream,
                                               .cuStreamQuery = query_stream,
                                               .cuStreamDestroy_v2 = destroy_stream };

static void setup(void)
{
    questions = destroyed = 0;
    begin_session(&driver);
}

FIXTURE(setup, end_session);

TEST(asks_nothing_about_a_wrong_function)
{
    struct ath_cuda_wire_kernel_node_params_builder kernel =
        ath_cuda_wire_graph_add_kernel_node_v2_init_kernel(
            ath_cuda_wire_call_init_graph_add_kernel_node_v2(begin(NULL)));
    ath_cuda_wire_kernel_node_params_set_function(kernel, 0x1230);
    ath_cuda_wire_kernel_node_params_set_parameters(
        kernel, (struct ath_wire_bytes){ (const uint8_t *)"12345678", 8 });
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(questions, 0);
}

TEST(destroys_no_default_stream_of_a_thread)
{
    ath_cuda_wire_stream_query_set_stream(ath_cuda_wire_call_init_stream_query(begin(NULL)),
                                          (uintptr_t)CU_STREAM_PER_THREAD);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    ath_cuda_wire_stream_destroy_v2_set_stream(
        ath_cuda_wire_call_init_stream_destroy_v2(begin(NULL)), (uintptr_t)CU_STREAM_PER_THREAD);
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(destroyed, 0);
    ath_cuda_wire_stream_query_set_stream(ath_cuda_wire_call_init_stream_query(begin(NULL)),
                                          (uintptr_t)CU_STREAM_PER_THREAD);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
}
