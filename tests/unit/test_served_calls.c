/* Calls that the server serves by hand-written code: what arrives at the driver. */
#include "config.h"

#include "cuda/common/bytes.h"
#include "cuda/server/call_head.h"

#include "session.h"

#define GRAPH ((CUgraph)(uintptr_t)0x100)
#define CHILD ((CUgraph)(uintptr_t)0x110)
#define MADE ((CUgraphNode)(uintptr_t)0x120)
#define STREAM ((CUstream)(uintptr_t)0x130)
#define CONTEXT ((CUcontext)(uintptr_t)0x140)

enum { NODES = 3, NODE = 0x200, HANDLE = 0x77, BODIES = 2, BODY = 0x300 };

/* ---- a driver that keeps what it got ---- */

static struct {
    CUgraph graph;
    CUgraphNode dependencies[NODES + 1];
    CUgraphEdgeData edges[NODES + 1];
    size_t count;
    CUgraphNodeParams params;
    bool has_edges;
} added;

static void keep_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                      size_t count, const CUgraphNodeParams *params)
{
    ck_assert_uint_le(count, NODES);
    *node = MADE;
    added.graph = graph;
    added.count = count;
    added.params = *params;
    memcpy(added.dependencies, dependencies, count * sizeof *dependencies);
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                         size_t count, CUgraphNodeParams *params)
{
    static CUgraph bodies[BODIES];
    keep_node(node, graph, dependencies, count, params);
    for (size_t i = 0; i < BODIES; i++)
        bodies[i] = (CUgraph)(BODY + i);
    params->conditional.phGraph_out = bodies;
    return CUDA_SUCCESS;
}

static CUresult add_node_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    keep_node(node, graph, dependencies, count, params);
    added.has_edges = edges;
    if (edges)
        memcpy(added.edges, edges, count * sizeof *edges);
    return CUDA_SUCCESS;
}

/* The GPU's memory is one range. */
enum { DEVICE_BEGIN = 0x10000, DEVICE_BYTES = 0x1000 };
static CUDA_MEMCPY2D copied;
static CUDA_MEMCPY3D copied_box;
static CUdeviceptr asked[2]; /* the last questions */
static size_t questions;

static CUresult tell_pointer(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const CUmemorytype type = CU_MEMORYTYPE_DEVICE;
    if (address < DEVICE_BEGIN || address >= DEVICE_BEGIN + DEVICE_BYTES ||
        attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        return CUDA_ERROR_INVALID_VALUE;
    asked[questions++ % (sizeof asked / sizeof *asked)] = address;
    memcpy(data, &type, sizeof type);
    return CUDA_SUCCESS;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    ck_assert_ptr_eq(stream, STREAM);
    copied = *copy;
    return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    ck_assert_ptr_eq(stream, STREAM);
    copied_box = *copy;
    return CUDA_SUCCESS;
}

static char loaded[4][32]; /* the texts of an image and of those linked into it */
static size_t loads;

static CUresult load(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                     void **values)
{
    (void)options;
    (void)values;
    ck_assert_uint_eq(count, 0);
    const void *const *more = ath_cuda_prelinked_images(image);
    loads = 0;
    for (const void *one = ath_cuda_unwrapped_image(image); one; one = more ? *more++ : NULL) {
        ck_assert_uint_lt(loads, sizeof loaded / sizeof *loaded);
        ck_assert_uint_lt(strlen(one), sizeof *loaded);
        strcpy(loaded[loads++], one);
    }
    *module = (CUmodule)(uintptr_t)0x150;
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver driver = { .cuGraphAddNode = add_node,
                                               .cuGraphAddNode_v2 = add_node_v2,
                                               .cuPointerGetAttribute = tell_pointer,
                                               .cuMemcpy2DAsync_v2 = copy_2d,
                                               .cuMemcpy3DAsync_v2 = copy_3d,
                                               .cuModuleLoadDataEx = load };

static void note(enum ath_cuda_kind kind, uintptr_t handle)
{
    ath_cuda_object_note(&session.objects, (struct ath_cuda_object_name){ kind, handle },
                         (struct ath_cuda_object_name){ ATH_CUDA_KIND_CONTEXT, 0 }, true);
}

static void setup(void)
{
    begin_session(&driver);
    memset(&added, 0, sizeof added);
    memset(asked, 0, sizeof asked);
    memset(&copied, 0, sizeof copied);
    questions = loads = 0;
    note(ATH_CUDA_KIND_GRAPH, (uintptr_t)GRAPH);
    note(ATH_CUDA_KIND_GRAPH, (uintptr_t)CHILD);
    note(ATH_CUDA_KIND_STREAM, (uintptr_t)STREAM);
    note(ATH_CUDA_KIND_CONTEXT, (uintptr_t)CONTEXT);
    note(ATH_CUDA_KIND_GRAPH_CONDITIONAL_HANDLE, HANDLE);
    for (uintptr_t i = 0; i < NODES; i++)
        note(ATH_CUDA_KIND_GRAPH_NODE, NODE + i);
}

FIXTURE(setup, end_session);

/* ---- nodes of graphs ---- */

static void put_nodes(struct ath_wire_array list)
{
    for (uint32_t i = 0; i < NODES; i++)
        ath_wire_array_set_bits(list, i, NODE + i);
}

static void expect_nodes(void)
{
    ck_assert_ptr_eq(added.graph, GRAPH);
    ck_assert_uint_eq(added.count, NODES);
    for (uintptr_t i = 0; i < NODES; i++)
        ck_assert_uint_eq((uintptr_t)added.dependencies[i], NODE + i);
}

static struct ath_cuda_wire_graph_add_owned_node_builder begin_owned(void)
{
    struct ath_cuda_wire_graph_add_owned_node_builder call =
        ath_cuda_wire_call_init_graph_add_owned_node(begin(NULL));
    ath_cuda_wire_graph_add_owned_node_set_graph(call, (uintptr_t)GRAPH);
    ath_cuda_wire_graph_add_owned_node_set_child(call, (uintptr_t)CHILD);
    ath_cuda_wire_graph_add_owned_node_set_ownership(call, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    put_nodes(ath_cuda_wire_graph_add_owned_node_init_dependencies(call, NODES));
    return call;
}

static void put_edges(struct ath_cuda_wire_graph_add_owned_node_builder call, uint32_t count)
{
    struct ath_wire_array list = ath_cuda_wire_graph_add_owned_node_init_edges(call, count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_cuda_wire_graph_edge_data_builder edge = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_graph_edge_data_set_from_port(edge, (uint8_t)(i + 1));
        ath_cuda_wire_graph_edge_data_set_to_port(edge, (uint8_t)(i + 11));
        ath_cuda_wire_graph_edge_data_set_type(edge, (uint8_t)(i + 21));
    }
}

TEST(an_owned_graph_is_behind_all_its_dependencies)
{
    begin_owned();
    ck_assert_uint_eq(ath_cuda_wire_graph_add_owned_node_result_node(
                          ath_cuda_wire_answer_graph_add_owned_node(serve())),
                      (uintptr_t)MADE);
    expect_nodes();
    ck_assert(!added.has_edges);
    ck_assert_int_eq(added.params.type, CU_GRAPH_NODE_TYPE_GRAPH);
    ck_assert_ptr_eq(added.params.graph.graph, CHILD);
    ck_assert_int_eq(added.params.graph.ownership, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
}

TEST(each_dependency_has_its_edge)
{
    put_edges(begin_owned(), NODES);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    expect_nodes();
    ck_assert(added.has_edges);
    for (uint8_t i = 0; i < NODES; i++) {
        ck_assert_uint_eq(added.edges[i].from_port, i + 1);
        ck_assert_uint_eq(added.edges[i].to_port, i + 11);
        ck_assert_uint_eq(added.edges[i].type, i + 21);
    }
    for (uint32_t count = 1; count < NODES + 2; count++) {
        if (count == NODES)
            continue;
        added.graph = NULL;
        put_edges(begin_owned(), count);
        ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_VALUE);
        ck_assert_ptr_null(added.graph);
    }
}

TEST(a_conditional_node_has_its_dependencies_and_graphs)
{
    struct ath_cuda_wire_graph_add_conditional_node_builder call =
        ath_cuda_wire_call_init_graph_add_conditional_node(begin(NULL));
    ath_cuda_wire_graph_add_conditional_node_set_graph(call, (uintptr_t)GRAPH);
    ath_cuda_wire_graph_add_conditional_node_set_handle(call, HANDLE);
    ath_cuda_wire_graph_add_conditional_node_set_type(call, CU_GRAPH_COND_TYPE_IF);
    ath_cuda_wire_graph_add_conditional_node_set_size(call, BODIES);
    ath_cuda_wire_graph_add_conditional_node_set_context(call, (uintptr_t)CONTEXT);
    put_nodes(ath_cuda_wire_graph_add_conditional_node_init_dependencies(call, NODES));
    struct ath_cuda_wire_graph_add_conditional_node_result answer =
        ath_cuda_wire_answer_graph_add_conditional_node(serve());
    ck_assert_uint_eq(ath_cuda_wire_graph_add_conditional_node_result_node(answer),
                      (uintptr_t)MADE);
    struct ath_wire_list graphs = ath_cuda_wire_graph_add_conditional_node_result_graphs(answer);
    ck_assert_uint_eq(graphs.count, BODIES);
    for (uint32_t i = 0; i < BODIES; i++)
        ck_assert_uint_eq(ath_wire_u64(ath_wire_item(graphs, i), 0, 0), BODY + i);
    expect_nodes();
    ck_assert_int_eq(added.params.type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    ck_assert_uint_eq(added.params.conditional.handle, HANDLE);
    ck_assert_int_eq(added.params.conditional.type, CU_GRAPH_COND_TYPE_IF);
    ck_assert_uint_eq(added.params.conditional.size, BODIES);
    ck_assert_ptr_eq(added.params.conditional.ctx, CONTEXT);
}

/* ---- rectangles at addresses that may be the host's or the GPU's ---- */

static struct ath_cuda_wire_memcpy2d_builder begin_2d(CUdeviceptr from, CUdeviceptr to)
{
    struct ath_cuda_wire_memcpy2_d_async_v2_builder call =
        ath_cuda_wire_call_init_memcpy2_d_async_v2(begin(NULL));
    struct ath_cuda_wire_memcpy2d_builder copy = ath_cuda_wire_memcpy2_d_async_v2_init_copy(call);
    ath_cuda_wire_memcpy2_d_async_v2_set_stream(call, (uintptr_t)STREAM);
    ath_cuda_wire_memcpy2d_set_src_memory_type(copy, CU_MEMORYTYPE_UNIFIED);
    ath_cuda_wire_memcpy2d_set_src_device(copy, from);
    ath_cuda_wire_memcpy2d_set_dst_memory_type(copy, CU_MEMORYTYPE_UNIFIED);
    ath_cuda_wire_memcpy2d_set_dst_device(copy, to);
    ath_cuda_wire_memcpy2d_set_width_in_bytes(copy, 8);
    ath_cuda_wire_memcpy2d_set_height(copy, 3);
    return copy;
}

/* The server asks about the first byte that a copy reaches, and leaves the address as it is. */
TEST(a_rectangle_is_looked_up_where_it_begins)
{
    enum { FROM = DEVICE_BEGIN, TO = DEVICE_BEGIN + 0x800 };
    struct ath_cuda_wire_memcpy2d_builder copy = begin_2d(FROM, TO);
    ath_cuda_wire_memcpy2d_set_src_x_in_bytes(copy, 4);
    ath_cuda_wire_memcpy2d_set_src_y(copy, 2);
    ath_cuda_wire_memcpy2d_set_src_pitch(copy, 32);
    ath_cuda_wire_memcpy2d_set_dst_x_in_bytes(copy, 5);
    ath_cuda_wire_memcpy2d_set_dst_y(copy, 1);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    ck_assert_uint_eq(asked[0], FROM + 2 * 32 + 4);
    ck_assert_uint_eq(asked[1], TO + 13 + 5); /* no pitch: the rows are without gaps */
    ck_assert_uint_eq(copied.srcDevice, FROM);
    ck_assert_uint_eq(copied.srcPitch, 32);
    ck_assert_uint_eq(copied.dstDevice, TO);
    ck_assert_uint_eq(copied.dstPitch, 13);
    ck_assert_uint_eq(copied.srcXInBytes, 4);
    ck_assert_uint_eq(copied.dstY, 1);
    ck_assert_uint_eq(copied.Height, 3);
}

TEST(a_box_is_looked_up_where_it_begins)
{
    enum { FROM = DEVICE_BEGIN, TO = DEVICE_BEGIN + 0x800 };
    struct ath_cuda_wire_memcpy3_d_async_v2_builder call =
        ath_cuda_wire_call_init_memcpy3_d_async_v2(begin(NULL));
    struct ath_cuda_wire_memcpy3d_builder copy = ath_cuda_wire_memcpy3_d_async_v2_init_copy(call);
    ath_cuda_wire_memcpy3_d_async_v2_set_stream(call, (uintptr_t)STREAM);
    ath_cuda_wire_memcpy3d_set_src_memory_type(copy, CU_MEMORYTYPE_UNIFIED);
    ath_cuda_wire_memcpy3d_set_src_device(copy, FROM);
    ath_cuda_wire_memcpy3d_set_src_x_in_bytes(copy, 3);
    ath_cuda_wire_memcpy3d_set_src_y(copy, 2);
    ath_cuda_wire_memcpy3d_set_src_z(copy, 1);
    ath_cuda_wire_memcpy3d_set_src_pitch(copy, 32);
    ath_cuda_wire_memcpy3d_set_src_height(copy, 10);
    ath_cuda_wire_memcpy3d_set_dst_memory_type(copy, CU_MEMORYTYPE_UNIFIED);
    ath_cuda_wire_memcpy3d_set_dst_device(copy, TO);
    ath_cuda_wire_memcpy3d_set_dst_y(copy, 1);
    ath_cuda_wire_memcpy3d_set_dst_z(copy, 2);
    ath_cuda_wire_memcpy3d_set_width_in_bytes(copy, 8);
    ath_cuda_wire_memcpy3d_set_height(copy, 3);
    ath_cuda_wire_memcpy3d_set_depth(copy, 2);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    ck_assert_uint_eq(asked[0], FROM + 320 + 2 * 32 + 3);
    ck_assert_uint_eq(asked[1], TO + 2 * 32 + 8); /* slices of 4 rows of 8 bytes */
    ck_assert_uint_eq(copied_box.srcDevice, FROM);
    ck_assert_uint_eq(copied_box.dstDevice, TO);
    ck_assert_uint_eq(copied_box.dstPitch, 8);
    ck_assert_uint_eq(copied_box.dstHeight, 4);
    ck_assert_uint_eq(copied_box.Depth, 2);
}

TEST(a_rectangle_elsewhere_is_refused)
{
    enum { RIGHT = DEVICE_BEGIN, WRONG = DEVICE_BEGIN + DEVICE_BYTES };
    begin_2d(WRONG, RIGHT);
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_VALUE);
    begin_2d(RIGHT, WRONG);
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_VALUE);
    ath_cuda_wire_memcpy2d_set_src_y(begin_2d(RIGHT, RIGHT), UINT64_MAX / 4); /* overflows */
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_VALUE);
    ath_cuda_wire_memcpy2d_set_height(begin_2d(RIGHT, RIGHT), UINT64_MAX / 4);
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(copied.WidthInBytes, 0);
}

/* ---- code with code linked into it ---- */

static void begin_load(uint32_t count, uint64_t of_uploaded)
{
    static const char *const texts[] = { "// first", "// second one", "// third" };
    struct ath_wire_array images = ath_cuda_wire_module_load_data_ex_init_images(
        ath_cuda_wire_call_init_module_load_data_ex(begin(NULL)), count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_cuda_wire_image_builder image = { ath_wire_array_struct(images, i) };
        if (i == (count > 1) && of_uploaded) /* the first linked one, or the only one */
            ath_cuda_wire_image_set_uploaded(image, of_uploaded);
        else
            ath_cuda_wire_image_set_data(
                image, (struct ath_wire_bytes){ (const uint8_t *)texts[i], strlen(texts[i]) + 1 });
    }
}

static CUresult upload(uint64_t id, const char *text, size_t first, size_t bytes)
{
    struct ath_cuda_wire_upload_image_builder call =
        ath_cuda_wire_call_init_upload_image(begin(NULL));
    ath_cuda_wire_upload_image_set_id(call, id);
    ath_cuda_wire_upload_image_set_offset(call, first);
    ath_cuda_wire_upload_image_set_total(call, strlen(text) + 1);
    ath_cuda_wire_upload_image_set_data(
        call, (struct ath_wire_bytes){ (const uint8_t *)text + first, bytes });
    return serve_status();
}

TEST(linked_code_arrives_in_its_order)
{
    for (uint32_t count = 1; count <= 3; count++) {
        begin_load(count, 0);
        ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
        ck_assert_uint_eq(loads, count);
        ck_assert_str_eq(loaded[0], "// first");
        ck_assert_str_eq(loaded[1], count > 1 ? "// second one" : "");
        ck_assert_str_eq(loaded[2], count > 2 ? "// third" : "");
    }
}

TEST(linked_code_may_have_come_before)
{
    ck_assert_int_eq(upload(5, "// uploaded", 0, 4), CUDA_SUCCESS);
    begin_load(3, 5); /* not all of it */
    ck_assert_int_ne(serve_status(), CUDA_SUCCESS);
    ck_assert_int_eq(upload(5, "// uploaded", 5, 7), CUDA_ERROR_INVALID_VALUE); /* a gap */
    ck_assert_int_eq(upload(5, "// uploaded", 4, 8), CUDA_SUCCESS);
    begin_load(3, 5);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    ck_assert_uint_eq(loads, 3);
    ck_assert_str_eq(loaded[1], "// uploaded");
    ck_assert_str_eq(loaded[2], "// third");
    begin_load(3, 5); /* it is used up */
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_IMAGE);
}

TEST(an_image_may_have_come_before)
{
    ck_assert_int_eq(upload(6, "// uploaded", 0, 12), CUDA_SUCCESS);
    ck_assert_int_eq(upload(6, "// uploaded", 12, 0), CUDA_SUCCESS); /* nothing is left */
    begin_load(1, 7);                                                /* another one */
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_IMAGE);
    begin_load(1, 6);
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
    ck_assert_uint_eq(loads, 1);
    ck_assert_str_eq(loaded[0], "// uploaded");
    begin_load(1, 6); /* it is used up */
    ck_assert_int_eq(serve_status(), CUDA_ERROR_INVALID_IMAGE);
}

/* ---- heads of calls ---- */

struct ways {
    int method;
    bool leaves_order, may_last, overtakes, brings_changes;
};

/* Reads the head of the call that was begun, as a thread's that waits for its answer or not. */
static void expect_ways(struct ath_cuda_wire_call_builder call, bool is_asked, struct ways wanted)
{
    struct ath_call_head head;
    struct ath_frame frame = { 0 };
    int status;
    ath_cuda_wire_call_set_thread(call, 7);
    ath_cuda_wire_call_set_is_asked(call, is_asked);
    const uint8_t *bytes = ath_wire_finish(&call_builder, &frame.length, &status);
    frame.bytes = (uint8_t *)(uintptr_t)bytes;
    ck_assert(ath_call_head_read(&frame, &head));
    ck_assert_int_eq(head.method, wanted.method);
    ck_assert_uint_eq(head.thread, 7);
    ck_assert(head.is_asked == is_asked);
    ck_assert(ath_call_leaves_order(&head) == wanted.leaves_order);
    ck_assert(ath_call_may_last(&head) == wanted.may_last);
    ck_assert(ath_call_overtakes(&head) == wanted.overtakes);
    ck_assert(ath_call_brings_changes(&frame) == wanted.brings_changes);
    frame.length = ATH_FRAME_HEAD;
    ck_assert(!ath_call_head_read(&frame, &head));
    ck_assert(!ath_call_brings_changes(&frame));
}

/* Only a thread that waits for an answer has no later calls yet. */
TEST(the_head_of_a_call_says_how_it_may_be_served)
{
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        struct ath_cuda_wire_call_builder call = begin(NULL);
        ath_cuda_wire_call_set_ctx_synchronize(call);
        expect_ways(call, is_asked,
                    (struct ways){ .method = ATH_CUDA_METHOD_cuCtxSynchronize,
                                   .leaves_order = is_asked,
                                   .may_last = is_asked,
                                   .brings_changes = true });
        call = begin(NULL);
        ath_cuda_wire_call_init_stream_begin_capture_v2(call);
        expect_ways(call, is_asked,
                    (struct ways){ .method = ATH_CUDA_METHOD_cuStreamBeginCapture_v2 });
        call = begin(NULL);
        ath_cuda_wire_call_init_push_memory(call);
        expect_ways(
            call, is_asked,
            (struct ways){ .method = ATH_CUDA_METHOD_athPushMemory, .overtakes = is_asked });
        call = begin(NULL);
        ath_cuda_wire_call_init_memcpy2_d_async_v2(call);
        expect_ways(
            call, is_asked,
            (struct ways){ .method = ATH_CUDA_METHOD_cuMemcpy2DAsync_v2, .may_last = is_asked });
    }
    expect_ways(begin(NULL), true, (struct ways){ .method = -1 }); /* no function */
}
