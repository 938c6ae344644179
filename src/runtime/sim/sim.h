/*
 * What the files of the simulated driver share.
 *
 * It looks like libcuda.so.1 (docs.nvidia.com/cuda/cuda-driver-api) and computes on the CPU: for
 * tests, and for trying the runtime out where there is no GPU. `aitherion-runtime serve --sim`
 * loads it as it loads the real one.
 *
 * Threads: one lock guards all state (sim_lock). Who holds it keeps books only; copies, kernels and
 * host functions run without it, in the worker thread of their stream. Everybody who waits, waits
 * for the one condition.
 *
 * Handles are addresses of objects; a handle that is not in the registry is answered with an error
 * and never looked into. Objects belong to a context and end with it.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"
#include "runtime/sim/facts.h"

#define SIM_COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    SIM_PARAMS_MAX = 8,        /* of a kernel */
    SIM_PARAM_BYTES_MAX = 128, /* of all of them */
    SIM_QUEUE_MAX = 1024, /* pieces of work in a stream; more wait at the call, as with a GPU */
    SIM_ALIGNMENT = 512,  /* of device memory, and the gap between two pieces of it */
};

/* ---- the lock ---- */

int sim_lock(void); /* returns 0, for SIM_LOCKED */
void sim_unlock(void);
void sim_lock_anew(void); /* in the child of a fork */
void sim_wait(void);      /* for a change; the lock is given up meanwhile */
void sim_changed(void);   /* wakes all who wait */

static inline void sim_unlock_p(const int *unused)
{
    (void)unused;
    sim_unlock();
}

/* SIM_LOCKED; as a declaration: the lock is held to the end of the block. */
#define SIM_LOCKED __attribute__((cleanup(sim_unlock_p), unused)) const int sim_locked_ = sim_lock()

/* ---- objects; everything below expects the lock to be held unless it says otherwise ---- */

enum sim_kind {
    SIM_ALLOCATION = 1,
    SIM_ARRAY,
    SIM_CONTEXT,
    SIM_EVENT,
    SIM_EXEC,
    SIM_FUNCTION,
    SIM_GRAPH,
    SIM_KERNEL,
    SIM_LIBRARY,
    SIM_MIPMAP,
    SIM_MODULE,
    SIM_NODE,
    SIM_POOL,
    SIM_STREAM,
    SIM_USER_OBJECT,
};

struct sim_context;
struct sim_exec;
struct sim_list;

/* The first member of all that has a handle. */
struct sim_object {
    enum sim_kind kind;
    struct sim_context *context; /* NULL: of no context */
    struct sim_object *next;     /* of the registry */
};

/* Zeroed memory of `bytes` as a registered object; NULL: out of memory. */
void *sim_object_new(enum sim_kind kind, struct sim_context *context, size_t bytes);
void *sim_object_find(enum sim_kind kind, const void *handle); /* or NULL */
void sim_object_forget(struct sim_object *object);             /* out of the registry; not freed */
/* The next object of a context, of a kind; NULL: none is left. Starts anew at each call. */
struct sim_object *sim_object_of(const struct sim_context *context, enum sim_kind kind);

/* ---- devices and contexts ---- */

struct sim_device {
    size_t total_bytes, used_bytes;
    struct sim_context *primary; /* lives to the end of the process */
    unsigned int primary_refs;
    struct sim_pool *default_pool, *current_pool;
};

struct sim_local; /* a value that a library keeps with a context */

struct sim_context {
    struct sim_object object;
    int device;
    struct sim_context *next; /* of all */
    unsigned long long id;
    unsigned int flags, api_version;
    bool is_primary, is_alive;
    CUresult fault;                      /* what all calls answer from now on; 0: none */
    struct sim_stream *legacy, *streams; /* legacy is one of streams */
    size_t limits[16];
    CUfunc_cache cache;
    unsigned int peers; /* bit of each device that it may reach */
    struct sim_local *locals;
    unsigned int processors; /* of a green context; 0: it is none */
    uint64_t holder;         /* the thread that a green context is current to; 0: none */
};

/* A thread's own; made when first asked for, gone with the thread. */
struct sim_thread {
    uint64_t id;
    struct sim_context *stack[64];
    int depth;
    CUstreamCaptureMode capture_mode;
    bool is_in_callback;
};

struct sim_thread *sim_thread(void);

CUresult sim_init(unsigned int flags);
int sim_device_count(void);
/* NULL: there is none with this number. */
struct sim_device *sim_device(int number);
int sim_device_number(int device); /* in facts.h, of one that there is */

/* 0, or what a call that needs the driver, but no context, has to answer. */
CUresult sim_enter_driver(void);
/* The same for one that needs a device. */
CUresult sim_enter_device(int number, struct sim_device **out);
/* The same for one that needs the thread's current context, without a fault. */
CUresult sim_enter(struct sim_context **out);
/* The same for a context by its handle, NULL being the current one. */
CUresult sim_enter_context(CUcontext handle, struct sim_context **out);
struct sim_context *sim_current(void); /* or NULL */
CUresult sim_primary_retain(int device, struct sim_context **out);
/* Another one, which is current nowhere. */
CUresult sim_context_make(int device, struct sim_context **out);
/* All that is of it; the context itself stays, for whoever still has its handle. */
void sim_context_end(struct sim_context *context);
/* What is current to a thread is another context now, or none. */
void sim_green_moves(struct sim_context *before, struct sim_context *now, uint64_t thread);
void sim_green_ends(uint64_t thread); /* a thread has ended; the caller has the lock */
void sim_context_end_locals(struct sim_context *context);
/* A kernel of its has faulted; what it did before stays its fault. */
void sim_context_fail(struct sim_context *context, CUresult fault);

/* ---- memory ---- */

enum sim_memory {
    SIM_DEVICE_MEMORY,
    SIM_HOST_MEMORY,       /* cuMemHostAlloc */
    SIM_REGISTERED_MEMORY, /* cuMemHostRegister */
    SIM_MANAGED_MEMORY,
    SIM_MAPPED_MEMORY,  /* cuMemMap */
    SIM_FOREIGN_MEMORY, /* another process's device memory */
};

/* A piece of the address space that the driver knows. */
struct sim_range {
    uint64_t base;
    size_t bytes;
    unsigned char *backing; /* where its first byte lies in this process */
    enum sim_memory memory;
    struct sim_context *context;
    int device;
    unsigned int flags;
    unsigned long long id;
    bool is_readable, is_writable; /* for the device */
    bool is_of_graph;              /* lives as long as the graph that allocates it */
    bool is_sync_memops;
    bool is_leaving;                   /* freed by a stream that has not come so far */
    CUmemAccess_flags host_access;     /* of SIM_MAPPED_MEMORY */
    struct sim_pool *pool;             /* NULL: not of a pool */
    struct sim_allocation *allocation; /* what SIM_MAPPED_MEMORY shows */
    size_t allocation_offset;
};

/* The range that an address lies in, or NULL. */
struct sim_range *sim_range_at(uint64_t address);
CUresult sim_range_add(const struct sim_range *range, struct sim_range **out);
/* Takes it from the address space and gives its memory back. */
void sim_range_end(struct sim_range *range);
/* The n-th range of all, by address; NULL past the last. */
struct sim_range *sim_range_number(size_t number);

/* Device memory for a range; charged to the device, unless a pool has it already. */
CUresult sim_device_memory(struct sim_context *context, int device, size_t bytes,
                           struct sim_pool *pool, struct sim_range **out);
/* As cuMemAllocManaged(), but of no context. */
CUresult sim_managed_memory(size_t bytes, uint64_t *out_address);
bool sim_charge(int device, size_t bytes); /* false: the device has not as much */
void sim_discharge(int device, size_t bytes);

/*
 * What the device reaches at an address: a host address, and through out_bytes how far it goes.
 * NULL: nothing that may be read (or written). Takes the lock itself.
 */
unsigned char *sim_reach(uint64_t address, bool is_write, size_t *out_bytes);
/* Whether all of it is known memory. Expects the lock. */
bool sim_is_known(uint64_t address, size_t bytes);

/* Fresh memory, its alignment a power of two; NULL: there is none. To be given to munmap(). */
enum { SIM_PLACES = 2 << 20 /* a usual alignment */ };
void *sim_map(size_t bytes, size_t alignment, int protection);

/* Frees what is of a context. */
void sim_context_end_memory(struct sim_context *context);

/* The descriptor of what device memory lies in, and where a range of it does (NULL: neither); -1
 * without memory. */
int sim_arena_place(const struct sim_range *range, size_t *out_offset);

/* ---- other processes (ipc.c) ---- */
void sim_foreign_end(struct sim_range *range); /* takes it out of the address space */

/* An event's, of several processes. */
struct sim_signal;
struct sim_signal *sim_signal_new(void);         /* NULL: out of memory */
void sim_signal_drop(struct sim_signal *signal); /* NULL: nothing */
bool sim_signal_is_done(const struct sim_signal *signal);
void sim_signal_wait(struct sim_signal *signal);              /* the lock is given up meanwhile */
struct sim_work *sim_signal_tell(struct sim_signal *signal);  /* a new recording */
struct sim_work *sim_signal_await(struct sim_signal *signal); /* of the last recording */

/* ---- pools (pool.c) ---- */
bool sim_pool_is_shared(const struct sim_pool *pool); /* was made to be exported */
int sim_pool_descriptor(const struct sim_pool *pool); /* of an imported one; -1: it is none */
CUresult sim_pool_import(int fd, CUmemoryPool *out);  /* takes fd, also when it fails */
CUresult sim_pools_start(int device);
bool sim_pool_take(struct sim_pool *pool, size_t bytes);
void sim_pool_give(struct sim_pool *pool, size_t bytes);
/* What synchronizing does: memory above a pool's threshold goes back to the device. */
void sim_pools_trim(int device);

/* ---- virtual memory (virtual.c) ---- */
void sim_allocation_drop(struct sim_allocation *allocation);

/* ---- work ---- */

/* What an asynchronous call leaves behind: done when all before it and itself is. */
struct sim_mark {
    unsigned int refs;
    bool is_done;
    int64_t time_ns; /* when; monotonic clock */
};

struct sim_mark *sim_mark_ref(struct sim_mark *mark); /* NULL is NULL */
void sim_mark_drop(struct sim_mark *mark);
void sim_mark_wait(struct sim_mark *mark); /* NULL: does not wait; the lock is given up */

/* One end of a copy. */
struct sim_place {
    CUmemorytype type; /* host, device or array */
    unsigned char *host;
    uint64_t device;
    struct sim_array *array; /* held by the copy */
    size_t x_bytes, y, z;    /* where it begins */
    size_t pitch_bytes, height;
};

struct sim_copy {
    struct sim_place from, to;
    size_t width_bytes, height, depth;
    unsigned char *staged; /* owned; what `from` is in, if taken at the call */
    CUDA_MEMCPY3D asked;   /* for cuGraphMemcpyNodeGetParams */
};

struct sim_fill {
    uint64_t to;
    size_t pitch_bytes, width, height; /* width in elements */
    unsigned int value, element_bytes;
};

struct sim_launch {
    CUfunction function; /* as named by the caller: a function or a kernel */
    const struct sim_program *program;
    unsigned int grid[3], block[3], shared_bytes;
    unsigned char params[SIM_PARAM_BYTES_MAX];
    void *pointers[SIM_PARAMS_MAX]; /* into params */
};

struct sim_host_call {
    CUhostFn function;         /* of cuLaunchHostFunc */
    CUstreamCallback callback; /* of cuStreamAddCallback; one of the two */
    CUstream stream;
    void *data;
};

struct sim_value_op { /* cuStreamWaitValue, cuStreamWriteValue */
    uint64_t address, value;
    unsigned int bytes, flags;
    bool is_wait;
};

/* Something that a stream does; shared by a graph, its executables and their launches. */
struct sim_work {
    unsigned int refs;
    CUgraphNodeType type;
    bool runs_after_fault;
    /* Without the lock. 0, or the fault of the context. */
    CUresult (*run)(struct sim_work *work, struct sim_context *context);
    /* Frees what it holds, with the lock; NULL: nothing. */
    void (*end)(struct sim_work *work);
    union {
        struct sim_copy copy;
        struct sim_fill fill;
        struct sim_launch launch;
        struct sim_host_call host;
        struct sim_value_op value;
        struct sim_event *event;
        struct sim_range *range;             /* to be freed, or of an allocation in a graph */
        struct sim_list *list;               /* a graph's launch */
        struct sim_graph *graph;             /* a child's */
        struct sim_user_object *user_object; /* of a graph's hold */
    };
};

/* Zeroed but for what is given, with one reference; NULL: out of memory. */
struct sim_work *sim_work_new(CUgraphNodeType type,
                              CUresult (*run)(struct sim_work *, struct sim_context *),
                              void (*end)(struct sim_work *));
struct sim_work *sim_work_ref(struct sim_work *work);
void sim_work_drop(struct sim_work *work); /* NULL: nothing */
CUresult sim_run_nothing(struct sim_work *work, struct sim_context *context);

/* ---- streams and events ---- */

struct sim_stream {
    struct sim_object object;
    struct sim_stream *next; /* of its context */
    unsigned int flags;
    int priority;
    unsigned long long id;
    uint64_t thread; /* whose default stream it is; 0: none's */
    bool is_closing, has_worker;
    struct sim_op *first, **last_link; /* what is to be done */
    unsigned int queued, submitting;   /* how many these are; who waits for room */
    struct sim_mark *last;             /* of the newest */
    struct sim_capture *capture;       /* NULL: none is under way */
    struct sim_nodes *tips;            /* what the next node of the capture depends on */
    CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MAX]; /* told, without effect */
};

struct sim_event {
    struct sim_object object;
    unsigned int flags;
    struct sim_mark *mark;       /* NULL: never recorded */
    struct sim_capture *capture; /* recorded in a capture */
    struct sim_nodes *tips;
    struct sim_signal *signal; /* of one that other processes may open; NULL */
};

/* The stream that a handle names, also 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. */
CUresult sim_stream_find(CUstream handle, struct sim_stream **out);
/* The same, without a fault of its context. */
CUresult sim_enter_stream(CUstream handle, struct sim_stream **out);
CUresult sim_stream_start(struct sim_context *context, unsigned int flags, int priority,
                          struct sim_stream **out);
void sim_stream_end(struct sim_stream *stream);
void sim_stream_unlink(struct sim_stream *stream); /* and frees it: no work is left */
bool sim_stream_is_idle(const struct sim_stream *stream);
/* Takes the reference to work, also when it fails; work NULL is CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sim_submit(struct sim_stream *stream, struct sim_work *work, struct sim_mark **out_mark);
/* Waits for all that was submitted to it; 0 or the fault of its context. */
CUresult sim_stream_drain(struct sim_stream *stream);
CUresult sim_context_drain(struct sim_context *context);
struct sim_context *sim_contexts(void); /* the first of all */
void sim_drain_all(void);               /* waits for all streams of all contexts */
/* The handle of the calling thread's own default stream, for 0 (what _ptsz and _ptds mean). */
static inline CUstream sim_own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult sim_event_record(struct sim_event *event, struct sim_stream *stream, unsigned int flags);
void sim_event_end(struct sim_event *event);
/* Takes the signal, also when it fails. */
CUresult sim_event_of_signal(struct sim_context *context, struct sim_signal *signal, CUevent *out);
CUresult sim_event_work(CUevent handle, bool is_wait, struct sim_work **out);
/* Waits for a mark; NULL: out of memory. */
struct sim_work *sim_wait_work(struct sim_mark *mark);
int64_t sim_now_ns(void);
CUresult sim_host_work(const CUDA_HOST_NODE_PARAMS *asked, struct sim_work **out);

/* ---- copies and fills ---- */

/* SIM_NOW: as the calls without Async do. */
enum sim_when { SIM_NOW, SIM_LATER };
CUresult sim_copy(const CUDA_MEMCPY3D *asked, CUstream stream, enum sim_when when);
CUresult sim_copy_2d(const CUDA_MEMCPY2D *asked, CUstream stream, enum sim_when when);
CUresult sim_copy_peer(const CUDA_MEMCPY3D_PEER *asked, CUstream stream, enum sim_when when);
CUresult sim_fill(struct sim_fill fill, CUstream stream);
/* For graph nodes. */
CUresult sim_copy_work(const CUDA_MEMCPY3D *asked, struct sim_work **out);
CUresult sim_fill_work(const struct sim_fill *fill, struct sim_work **out);
CUresult sim_graph_memory_work(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct sim_work **out);

struct sim_array {
    struct sim_object object;
    unsigned int refs;
    CUDA_ARRAY3D_DESCRIPTOR asked;
    size_t row_bytes, height, depth, bytes;
    unsigned char *cells;
    int device;
    bool is_level; /* of a mipmapped array, with which it ends */
};

/* One of its context's, of nobody yet. */
CUresult sim_array_make(struct sim_context *context, const CUDA_ARRAY3D_DESCRIPTOR *asked,
                        struct sim_array **out);
void sim_array_drop(struct sim_array *array);

/* ---- kernels ---- */

struct sim_geometry {
    unsigned int grid[3], block[3];
};

/* A kernel that the simulated device knows. */
struct sim_program {
    const char *name, *mangled; /* mangled as the Itanium C++ ABI does */
    size_t param_count;
    struct sim_param {
        size_t offset, bytes;
    } params[SIM_PARAMS_MAX];
    /* Returns 0 or CUDA_ERROR_ILLEGAL_ADDRESS. */
    CUresult (*run)(const struct sim_geometry *geometry, const unsigned char *params);
};

/* By the plain or the mangled name; NULL: none. */
const struct sim_program *sim_program_find(const char *name);
const struct sim_program *sim_program_number(size_t number); /* NULL past the last */
size_t sim_program_param_bytes(const struct sim_program *program);

/* What a function's code can be told; the same for all. */
struct sim_function_settings {
    int dynamic_shared_max, carveout;
};

struct sim_library;
struct sim_module;

struct sim_kernel { /* of a library: in no context */
    struct sim_object object;
    struct sim_library *library;
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings[SIM_DEVICES_MAX];
    struct sim_kernel *next;
};

struct sim_function { /* of a module: in its context */
    struct sim_object object;
    struct sim_module *module;
    struct sim_kernel *kernel; /* NULL: the module is of no library */
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings;
    struct sim_function *next;
};

/* What a CUfunction names: a function, or a kernel in the current context. */
struct sim_code {
    const struct sim_program *program;
    struct sim_function_settings *settings;
    struct sim_context *context;
    const char *name;
};
CUresult sim_code_find(CUfunction handle, struct sim_code *out);
void sim_module_end(struct sim_module *module);

/* Checks a launch and makes its work. */
CUresult sim_launch_work(const CUDA_KERNEL_NODE_PARAMS *asked, struct sim_work **out);

/* ---- images (image.c) ---- */

struct sim_symbol {
    char *name;
    bool is_kernel;
    bool is_managed; /* a variable that the host has, too */
    size_t bytes;    /* of a variable, whose first values are zeros */
};

/* What a fatbin, an ELF file or PTX has; symbols are not known where it is compressed. */
struct sim_image {
    struct sim_symbol *symbols;
    size_t count;
    bool is_opaque; /* has more than is listed */
    bool is_runnable,
        is_linking; /* scratch: something is for this device; relocatable code counts */
};
CUresult sim_image_read(const void *image, struct sim_image *out);
/* One that the image hides. */
CUresult sim_image_add_variable(struct sim_image *image, const char *name, size_t bytes);
void sim_image_free(struct sim_image *image);

/* ---- graphs and capture ---- */

struct sim_nodes {
    size_t count;
    struct sim_node *items[];
};

struct sim_node {
    struct sim_object object;
    struct sim_graph *graph;
    struct sim_work *work;
    struct sim_node **needs; /* what comes before it */
    size_t need_count;
    const struct sim_node *copied_from;
    size_t order; /* its place when sorted, from 1; scratch */
};

struct sim_graph {
    struct sim_object object;
    struct sim_node **nodes;
    size_t count, room;
    struct sim_hold *holds;
    bool is_held; /* by a node that it is a child of, or by a capture: not to be destroyed */
    bool is_body; /* of a conditional node: the same */
};

struct sim_capture {
    struct sim_capture *next; /* of those under way */
    unsigned int refs;
    unsigned long long id;
    CUstreamCaptureMode mode;
    uint64_t thread;
    bool is_valid;
    struct sim_graph *graph;
    bool is_graph_borrowed;    /* cuStreamBeginCaptureToGraph */
    size_t first;              /* number of its first node in the graph */
    struct sim_stream *origin; /* NULL once it ended */
};

CUresult sim_graph_new(struct sim_graph **out);
void sim_graph_end(struct sim_graph *graph);
/* Takes the reference to work, also when it fails. */
CUresult sim_node_add(struct sim_graph *graph, struct sim_node *const *needs, size_t need_count,
                      struct sim_work *work, struct sim_node **out);
CUresult sim_graph_find(CUgraph handle, struct sim_graph **out);
/* A reference that the graph, its copies, and what is launched of them keep: work that does nothing
 * and has a user_object. Takes the reference to work, also when it fails; NULL: out of memory. */
CUresult sim_graph_hold(struct sim_graph *graph, struct sim_work *work);
size_t sim_graph_count_holds(const struct sim_graph *graph,
                             const struct sim_user_object *object); /* NULL: of all */
void sim_graph_drop_hold(struct sim_graph *graph, const struct sim_user_object *object);
/* Its nodes once, one after another; without the lock. */
CUresult sim_graph_run(struct sim_graph *graph, struct sim_context *context);

/* Conditional nodes (condition.c). */
CUresult sim_condition_work(const void *params, struct sim_work **out);
CUgraph *sim_condition_bodies(struct sim_work *work);
void sim_condition_launch(struct sim_work *work); /* before a launch's first node; takes the lock */
bool sim_condition_set(CUgraphConditionalHandle handle, unsigned int value); /* the same */
bool sim_nodes_are_of(const struct sim_graph *graph, const CUgraphNode *nodes, size_t count);
void sim_exec_end(struct sim_exec *exec);
void sim_list_drop(struct sim_list *list);

/* A call came to a stream that captures. */
CUresult sim_capture_add(struct sim_stream *stream, struct sim_work *work);
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
CUresult sim_capture_record(struct sim_event *event, struct sim_stream *stream);
/* The call breaks the capture; returns why. */
CUresult sim_capture_break(struct sim_stream *stream, CUresult why);
/* Because it can't be captured. */
static inline CUresult sim_capture_refuse(struct sim_stream *stream)
{
    return sim_capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}
/* A call that captures of this thread (or, for global ones, of any) forbid: 0 or that error. */
CUresult sim_capture_forbids(void);

/* Whether a stream of the context captures, which its waiting spoils. */
CUresult sim_capture_forbids_waiting(const struct sim_context *context);
/* Whether the legacy stream may be used: 0, or CUDA_ERROR_STREAM_CAPTURE_IMPLICIT. */
CUresult sim_capture_legacy(struct sim_context *context);
void sim_capture_drop(struct sim_capture *capture);
void sim_capture_leave(struct sim_stream *stream); /* the stream is destroyed */

/* ---- what cuGetProcAddress and cuGetExportTable answer ---- */
const char *sim_error_name(CUresult error);   /* or NULL */
const char *sim_error_string(CUresult error); /* or NULL */
CUresult sim_local_put(CUcontext context, void *key, void *value,
                       void (*end)(CUcontext, void *, void *));
CUresult sim_local_delete(CUcontext context, void *key);
CUresult sim_local_get(CUcontext context, void *key, void **out);
