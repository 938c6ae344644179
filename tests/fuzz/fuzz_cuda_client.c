/*
 * Fuzzes the client with a server's answers: the first byte of an input chooses a function of CUDA,
 * the rest is the answer, again and again. No answer may make the client write more than the
 * program has room for.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/client.h"
#include "proto/cuda-client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *answer_bytes;
static size_t answer_length;
static pthread_t main_thread;

/* ---- a link that gives this answer to every call ---- */

static int post(struct ath_cuda_link *link, const uint8_t *frame, size_t length, bool is_asked)
{
    (void)is_asked;
    (void)link;
    (void)frame;
    (void)length;
    return 0;
}

/* The memory is exactly as large as the frame, so ASan sees reads beyond it. */
static int make_frame(struct ath_frame *out)
{
    uint32_t head[2] = { 0, htole32((uint32_t)(answer_length / ATH_WIRE_WORD)) };
    uint8_t *frame = malloc(sizeof head + answer_length);
    if (!frame)
        return -ENOMEM;
    memcpy(frame, head, sizeof head);
    memcpy(frame + sizeof head, answer_bytes, answer_length);
    *out = (struct ath_frame){ frame, sizeof head + answer_length, sizeof head + answer_length };
    return 0;
}

/* The same bytes also come ahead of the answer, as changes of memory. */
static int wait_for(struct ath_cuda_link *link, uint64_t number, struct ath_frame *answer)
{
    struct ath_frame changes;
    (void)number;
    if (!pthread_equal(pthread_self(), main_thread))
        return -ESHUTDOWN;
    int status = make_frame(&changes);
    if (!status) {
        status = link->take_changes(&changes);
        ath_frame_free(&changes);
    }
    if (status)
        return status;
    free(answer->bytes);
    *answer = (struct ath_frame){ 0 };
    return make_frame(answer);
}

static int flush(struct ath_cuda_link *link)
{
    (void)link;
    return 0;
}

static void close_link(struct ath_cuda_link *link)
{
    (void)link;
}

static CUresult open_link(struct ath_cuda_link **out_link)
{
    static const struct ath_cuda_link_ops ops = {
        .post = post, .wait = wait_for, .flush = flush, .close = close_link
    };
    static struct ath_cuda_link link = { .ops = &ops };
    *out_link = &link;
    return CUDA_SUCCESS;
}

/* ---- calls with results of every form ---- */

static CUresult texts(void)
{
    char name[7];
    return cuDeviceGetName(name, sizeof name, 0);
}

static CUresult bus(void)
{
    char text[13];
    return cuDeviceGetPCIBusId(text, sizeof text, 0);
}

static CUresult uuid(void)
{
    CUuuid made;
    return cuDeviceGetUuid_v2(&made, 0);
}

static CUresult addresses(void)
{
    CUdeviceptr address;
    size_t pitch, bytes;
    CUresult status = cuMemAllocPitch_v2(&address, &pitch, 16, 16, 4);
    return status ? status : cuMemGetAddressRange_v2(&address, &bytes, address);
}

static CUresult from_device(void)
{
    uint8_t bytes[100];
    return cuMemcpyDtoH_v2(bytes, 4096, sizeof bytes);
}

static CUresult attributes(void)
{
    unsigned int type;
    void *context;
    CUpointer_attribute asked[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_CONTEXT };
    void *values[] = { &type, &context };
    return cuPointerGetAttributes(2, asked, values, 4096);
}

static CUresult nodes(void)
{
    CUgraphNode made[3];
    size_t count = 3;
    CUresult status = cuGraphGetNodes(NULL, made, &count);
    return status ? status : cuGraphGetNodes(NULL, NULL, &count);
}

static CUresult edges(void)
{
    CUgraphNode from[2], to[2];
    CUgraphEdgeData data[2];
    size_t count = 2;
    return cuGraphGetEdges_v2(NULL, from, to, data, &count);
}

static CUresult capture(void)
{
    CUstreamCaptureStatus state;
    uint64_t id;
    CUgraph graph;
    const CUgraphNode *dependencies;
    const CUgraphEdgeData *data;
    size_t count;
    return cuStreamGetCaptureInfo_v3(NULL, &state, &id, &graph, &dependencies, &data, &count);
}

static CUresult modules(void)
{
    char log[32];
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)(uintptr_t)sizeof log };
    CUmodule module;
    return cuModuleLoadDataEx(&module, ".version 8.0", 2, options, values);
}

static CUresult libraries(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUresult status = cuLibraryLoadData(&library, ".version 8.0", NULL, NULL, 0, NULL, NULL, 0);
    return status ? status : cuLibraryGetKernel(&kernel, library, "fill");
}

static CUresult launches(void)
{
    int value = 1;
    float *pointer = NULL;
    CUfunction function;
    CUresult status = cuModuleGetFunction(&function, NULL, "fill");
    return status ? status
                  : cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL,
                                   (void *[]){ &pointer, &value, &value }, NULL);
}

static CUresult kernel_names(void)
{
    const char *name;
    size_t offset, bytes;
    CUresult status = cuFuncGetName(&name, NULL);
    return status ? status : cuFuncGetParamInfo(NULL, 0, &offset, &bytes);
}

/* The memory of the logs is exactly as large as the program says. */
static CUresult links(void)
{
    enum { ROOM = 24 };
    char *info = calloc(1, ROOM), *error = calloc(1, ROOM), input[] = "PTX";
    CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_WALL_TIME };
    void *values[] = { info, (void *)ROOM, error, (void *)ROOM, NULL }, *image;
    size_t bytes;
    CUlinkState state;
    CUresult status = cuLinkCreate_v2(5, options, values, &state);
    if (!status) {
        cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, input, sizeof input, NULL, 0, NULL, NULL);
        status = cuLinkComplete(state, &image, &bytes);
        cuLinkDestroy(state);
    }
    free(info);
    free(error);
    return status;
}

static CUresult pinned(void)
{
    void *memory;
    CUresult status = cuMemHostAlloc(&memory, 100, CU_MEMHOSTALLOC_DEVICEMAP);
    return status ? status : cuMemFreeHost(memory);
}

static CUresult synchronizes(void)
{
    float ms;
    CUresult status = cuStreamSynchronize(NULL);
    return status ? status : cuEventElapsedTime_v2(&ms, NULL, NULL);
}

static CUresult (*const calls[])(void) = { texts,        bus,        uuid,      addresses,
                                           from_device,  attributes, nodes,     edges,
                                           capture,      modules,    libraries, launches,
                                           kernel_names, links,      pinned,    synchronizes };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    main_thread = pthread_self();
    answer_bytes = data + 1;
    answer_length = (size - 1) - (size - 1) % ATH_WIRE_WORD;
    ath_cuda_set_opener(open_link);
    if (!ath_cuda_connect()) {
        ath_cuda_set_ready();
        calls[data[0] % (sizeof calls / sizeof *calls)]();
    }
    ath_cuda_disconnect();
    return 0;
}
