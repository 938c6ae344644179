/*
 * Shared by the files of the simulated driver.
 *
 * The simulator has the interface of libcuda.so.1 (docs.nvidia.com/cuda/cuda-driver-api) and
 * computes on the CPU: for tests, and for trying the runtime on machines without a GPU.
 * `aitherion-runtime serve --sim` loads it like the real driver.
 *
 * Threads: one lock guards all state (sim_lock). A thread that holds it only updates records;
 * copies, kernels and host functions run without the lock, in the worker thread of their stream.
 * All waiting threads wait for the same condition variable.
 *
 * Handles are addresses of objects. A handle that is not in the registry returns an error and is
 * never dereferenced. Objects belong to a context and end with it.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "sim/facts.h"

#define SIM_COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    SIM_PARAMS_MAX = 8,        /* of a kernel */
    SIM_PARAM_BYTES_MAX = 128, /* of all parameters */
    SIM_QUEUE_MAX = 1024,      /* works in a stream; further calls wait for room, as with a GPU */
    SIM_PEER_NAME = 6,         /* bytes of an abstract socket's name */
    SIM_ALIGNMENT = 512,       /* of device memory, and the gap between two allocations */
};

/* ---- the lock ---- */

int sim_lock(void); /* returns 0, for SIM_LOCKED */
void sim_unlock(void);
void sim_lock_anew(void); /* makes a new lock in the child of a fork */
void sim_wait(void);      /* waits for a change, and releases the lock meanwhile */
void sim_changed(void);   /* wakes all waiting threads */

static inline void sim_unlock_p(const int *unused)
{
    (void)unused;
    sim_unlock();
}

/* SIM_LOCKED is a declaration: it holds the lock to the end of the block. */
#define SIM_LOCKED __attribute__((cleanup(sim_unlock_p), unused)) const int sim_locked_ = sim_lock()

/* ---- objects; the functions below need the lock unless they say otherwise ---- */

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
    SIM_LINKER,
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

/* The first member of every object with a handle. */
struct sim_object {
    enum sim_kind kind;
    struct sim_context *context; /* NULL: of no context */
    struct sim_object *next;     /* of the registry */
};

/* Returns a registered object of zeroed memory; NULL: out of memory. */
void *sim_object_new(enum sim_kind kind, struct sim_context *context, size_t bytes);
void *sim_object_find(enum sim_kind kind, const void *handle); /* or NULL */
void sim_object_forget(struct sim_object *object);             /* unregisters; does not free */
/* Returns an object of a kind and a context, or NULL. Searches from the beginning at each call. */
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
    size_t charged_bytes;     /* of the device's memory, for the context itself */
    struct sim_context *next; /* of all */
    unsigned long long id;
    unsigned int flags, api_version;
    bool is_primary, is_alive;
    CUresult fault;                      /* the result of all calls from now on; 0: none */
    struct sim_stream *legacy, *streams; /* streams contains legacy */
    size_t limits[16];
    CUfunc_cache cache;
    unsigned int peers; /* a bit for each device that it may access */
    struct sim_local *locals;
    unsigned int processors; /* of a green context; 0: not a green context */
    uint64_t holder;         /* thread in which a green context is current; 0: none */
};

/* The data of a thread; made on first use, freed with the thread. */
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
/* Returns a device, or NULL if there is none with this number. */
struct sim_device *sim_device(int number);
int sim_device_number(int device); /* as facts.h counts; the device must exist */

/* Returns 0, or the error of a call that needs the driver, but no context. */
CUresult sim_enter_driver(void);
/* The same for a call that needs a device. */
CUresult sim_enter_device(int number, struct sim_device **out);
/* The same for a call that needs the thread's current context, without a fault. */
CUresult sim_enter(struct sim_context **out);
/* The same for a context by its handle; NULL: the current one. */
CUresult sim_enter_context(CUcontext handle, struct sim_context **out);
struct sim_context *sim_current(void); /* or NULL */
CUresult sim_primary_retain(int device, struct sim_context **out);
/* Makes another context, which is not current in any thread. */
CUresult sim_context_make(int device, struct sim_context **out);
/* Ends everything in a context. The context itself stays, because the program has its handle. */
void sim_context_end(struct sim_context *context);
/* Call when the current context of a thread changes; both may be NULL. */
void sim_green_moves(struct sim_context *before, struct sim_context *now, uint64_t thread);
void sim_green_ends(uint64_t thread); /* a thread has ended; needs the lock */
void sim_context_end_locals(struct sim_context *context);
/* Records the fault of a kernel; an earlier fault stays. */
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
    unsigned char *backing; /* its first byte in this process */
    enum sim_memory memory;
    struct sim_context *context;
    int device;
    unsigned int flags;
    unsigned long long id;
    bool is_readable, is_writable; /* for the device */
    bool is_of_graph;              /* lives as long as the graph that allocates it */
    bool is_unmapped;              /* of a graph that has not run: attributes do not know it */
    bool is_sync_memops;
    bool is_leaving;                   /* a stream will free it */
    CUmemAccess_flags host_access;     /* of SIM_MAPPED_MEMORY */
    struct sim_pool *pool;             /* NULL: not of a pool */
    struct sim_allocation *allocation; /* mapped by SIM_MAPPED_MEMORY */
    size_t allocation_offset;
};

/* Returns the range of an address, or NULL. */
struct sim_range *sim_range_at(uint64_t address);
CUresult sim_range_add(const struct sim_range *range, struct sim_range **out);
/* Removes a range from the address space and frees its memory. */
void sim_range_end(struct sim_range *range);
/* Returns the n-th range by address, or NULL. */
struct sim_range *sim_range_number(size_t number);

/* Allocates device memory; charges the device, unless a pool has paid for it. */
CUresult sim_device_memory(struct sim_context *context, int device, size_t bytes,
                           struct sim_pool *pool, struct sim_range **out);
/* The same as cuMemAllocManaged(), but without a context. */
CUresult sim_managed_memory(size_t bytes, uint64_t *out_address);
bool sim_charge(int device, size_t bytes); /* false: the device has too little */
void sim_discharge(int device, size_t bytes);

/*
 * Returns the host address at which the device reaches an address, and through out_bytes how many
 * bytes follow; NULL if the device may not read (or write) there. Takes the lock itself.
 */
unsigned char *sim_reach(uint64_t address, bool is_write, size_t *out_bytes);
/* Returns true if all bytes are known memory. Needs the lock. */
bool sim_is_known(uint64_t address, size_t bytes);

/* Maps new memory; alignment is a power of two. Returns NULL on failure; free it with munmap(). */
enum { SIM_PLACES = 2 << 20 /* a usual alignment */ };
void *sim_map(size_t bytes, size_t alignment, int protection);

/* Frees the memory of a context. */
void sim_context_end_memory(struct sim_context *context);

/* Returns the descriptor of the arena, and the offset of a range in it (range may be NULL); -1 if
 * there is no arena. */
int sim_arena_place(const struct sim_range *range, size_t *out_offset);

/* ---- other processes (ipc.c) ---- */
void sim_foreign_end(struct sim_range *range); /* removes it from the address space */

/* Other processes of the same user may ask this one for memory of the simulator (peer.c): the name
 * of the socket for that, which is made by the first call, and asking. They return false and -1 on
 * failure. */
bool sim_peer_name(char out[SIM_PEER_NAME]);
int sim_peer_open(const char name[SIM_PEER_NAME], int fd);

/* The signal of an event that several processes share. */
struct sim_signal;
struct sim_signal *sim_signal_new(void);         /* NULL: out of memory */
void sim_signal_drop(struct sim_signal *signal); /* takes NULL */
bool sim_signal_is_done(const struct sim_signal *signal);
void sim_signal_wait(struct sim_signal *signal);              /* releases the lock meanwhile */
struct sim_work *sim_signal_tell(struct sim_signal *signal);  /* a new recording */
struct sim_work *sim_signal_await(struct sim_signal *signal); /* of the last recording */

/* ---- pools (pool.c) ---- */
bool sim_pool_is_shared(const struct sim_pool *pool); /* it may be exported */
int sim_pool_descriptor(const struct sim_pool *pool); /* of an imported pool; otherwise -1 */
CUresult sim_pool_import(int fd, CUmemoryPool *out);  /* takes fd over, also on failure */
CUresult sim_pools_start(int device);
bool sim_pool_take(struct sim_pool *pool, size_t bytes);
void sim_pool_give(struct sim_pool *pool, size_t bytes);
/* Gives memory above the threshold of each pool back to the device, as synchronizing does. */
void sim_pools_trim(int device);

/* ---- virtual memory (virtual.c) ---- */
void sim_allocation_drop(struct sim_allocation *allocation);

/* ---- work ---- */

/* The completion of an asynchronous call: done when that call and all before it are done. */
struct sim_mark {
    unsigned int refs;
    bool is_done;
    int64_t time_ns; /* of completion, by the monotonic clock */
};

struct sim_mark *sim_mark_ref(struct sim_mark *mark); /* takes NULL */
void sim_mark_drop(struct sim_mark *mark);
void sim_mark_wait(struct sim_mark *mark); /* NULL: does not wait; releases the lock meanwhile */

/* One end of a copy. */
struct sim_place {
    CUmemorytype type; /* host, device or array */
    unsigned char *host;
    uint64_t device;
    struct sim_array *array; /* held by the copy */
    size_t x_bytes, y, z;    /* the beginning */
    size_t pitch_bytes, height;
};

struct sim_copy {
    struct sim_place from, to;
    size_t width_bytes, height, depth;
    unsigned char *staged; /* owned: the source's bytes, if read at the call */
    CUDA_MEMCPY3D asked;   /* for cuGraphMemcpyNodeGetParams */
};

struct sim_fill {
    uint64_t to;
    size_t pitch_bytes, width, height; /* width in elements */
    unsigned int value, element_bytes;
};

struct sim_launch {
    CUfunction function; /* the caller's handle: a function or a kernel */
    const struct sim_program *program;
    unsigned int grid[3], block[3], shared_bytes;
    unsigned char params[SIM_PARAM_BYTES_MAX];
    void *pointers[SIM_PARAMS_MAX]; /* into params */
    void *extra[5];                 /* NULL first: the launch had pointers, not a buffer */
    size_t extra_bytes;
};

struct sim_host_call {
    CUhostFn function;         /* of cuLaunchHostFunc */
    CUstreamCallback callback; /* of cuStreamAddCallback; only one of the two is set */
    CUstream stream;
    void *data;
};

struct sim_value_op { /* cuStreamWaitValue, cuStreamWriteValue */
    uint64_t address, value;
    unsigned int bytes, flags;
    bool is_wait;
};

/* One work of a stream, shared by a graph, its executables and their launches. */
struct sim_work {
    unsigned int refs;
    CUgraphNodeType type;
    bool runs_after_fault;
    /* Runs without the lock. Returns 0, or the fault of the context. */
    CUresult (*run)(struct sim_work *work, struct sim_context *context);
    /* Frees what the work holds; called with the lock. NULL: nothing to free. */
    void (*end)(struct sim_work *work);
    union {
        struct sim_copy copy;
        struct sim_fill fill;
        struct sim_launch launch;
        struct sim_host_call host;
        struct sim_value_op value;
        struct sim_event *event;
        struct sim_range *range;             /* to free, or allocated in a graph */
        struct sim_list *list;               /* of a graph's launch */
        struct sim_graph *graph;             /* of a child graph */
        struct sim_user_object *user_object; /* of a graph's hold */
    };
};

/* Returns work of zeros with these members and one reference; NULL: out of memory. */
struct sim_work *sim_work_new(CUgraphNodeType type,
                              CUresult (*run)(struct sim_work *, struct sim_context *),
                              void (*end)(struct sim_work *));
struct sim_work *sim_work_ref(struct sim_work *work);
void sim_work_drop(struct sim_work *work); /* takes NULL */
CUresult sim_run_nothing(struct sim_work *work, struct sim_context *context);

/* ---- streams and events ---- */

struct sim_stream {
    struct sim_object object;
    struct sim_stream *next; /* of its context */
    unsigned int flags;
    int priority;
    unsigned long long id;
    uint64_t thread; /* with this default stream; 0: none */
    bool is_closing, has_worker;
    struct sim_op *first, **last_link; /* the queue */
    unsigned int queued, submitting;   /* its length; threads that wait for room */
    struct sim_mark *last;             /* of the newest work */
    struct sim_capture *capture;       /* NULL: none is under way */
    struct sim_nodes *tips;            /* dependencies of the capture's next node */
    CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MAX]; /* stored, without effect */
};

struct sim_event {
    struct sim_object object;
    unsigned int flags;
    struct sim_mark *mark;       /* NULL: never recorded */
    struct sim_capture *capture; /* recorded in a capture */
    struct sim_nodes *tips;
    struct sim_signal *signal; /* if other processes may open the event; NULL */
};

/* Finds the stream of a handle, also of 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. */
CUresult sim_stream_find(CUstream handle, struct sim_stream **out);
/* The same, but fails if the stream's context has a fault. */
CUresult sim_enter_stream(CUstream handle, struct sim_stream **out);
CUresult sim_stream_start(struct sim_context *context, unsigned int flags, int priority,
                          struct sim_stream **out);
void sim_stream_end(struct sim_stream *stream);
void sim_stream_unlink(struct sim_stream *stream); /* and frees it; it must have no work */
bool sim_stream_is_idle(const struct sim_stream *stream);
/* Takes over the reference to work, also on failure. work NULL returns CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sim_submit(struct sim_stream *stream, struct sim_work *work, struct sim_mark **out_mark);
/* Waits for all submitted work. Returns 0, or the fault of the stream's context. */
CUresult sim_stream_drain(struct sim_stream *stream);
CUresult sim_context_drain(struct sim_context *context);
struct sim_context *sim_contexts(void); /* the head of the list */
void sim_drain_all(void);               /* waits for all streams of all contexts */
/* Replaces 0 by the calling thread's own default stream, as _ptsz and _ptds mean. */
static inline CUstream sim_own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult sim_event_record(struct sim_event *event, struct sim_stream *stream, unsigned int flags);
void sim_event_end(struct sim_event *event);
/* Takes the signal over, also on failure. */
CUresult sim_event_of_signal(struct sim_context *context, struct sim_signal *signal, CUevent *out);
CUresult sim_event_work(CUevent handle, bool is_wait, struct sim_work **out);
/* Makes work that waits for a mark; NULL: out of memory. */
struct sim_work *sim_wait_work(struct sim_mark *mark);
int64_t sim_now_ns(void);
CUresult sim_host_work(const CUDA_HOST_NODE_PARAMS *asked, struct sim_work **out);

/* ---- copies and fills ---- */

/* SIM_NOW: the call returns when the copy is done. */
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
    bool is_level; /* of a mipmapped array, which frees it */
};

/* Makes an array in a context, with one reference. */
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

/* Finds a program by its plain or mangled name, or returns NULL. */
const struct sim_program *sim_program_find(const char *name);
const struct sim_program *sim_program_number(size_t number); /* NULL past the last */
size_t sim_program_param_bytes(const struct sim_program *program);

/* Settings of a function's code. */
struct sim_function_settings {
    int dynamic_shared_max, carveout;
};

struct sim_library;
struct sim_module;

struct sim_kernel { /* of a library, without a context */
    struct sim_object object;
    struct sim_library *library;
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings[SIM_DEVICES_MAX];
    struct sim_kernel *next;
};

struct sim_function { /* of a module, in the module's context */
    struct sim_object object;
    struct sim_module *module;
    struct sim_kernel *kernel; /* NULL: the module belongs to no library */
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings;
    struct sim_function *next;
};

/* The code of a CUfunction: a function, or a kernel in the current context. */
struct sim_code {
    const struct sim_program *program;
    struct sim_function_settings *settings;
    struct sim_context *context;
    const char *name;
};
CUresult sim_code_find(CUfunction handle, struct sim_code *out);
void sim_module_end(struct sim_module *module);
/* Returns the file with NUL bytes at its end, or NULL if it cannot be read. The caller frees it. */
char *sim_read_file(const char *path, size_t *out_size);

/* Checks a launch and makes its work. */
CUresult sim_launch_work(const CUDA_KERNEL_NODE_PARAMS *asked, struct sim_work **out);

/* ---- images (image.c) ---- */

struct sim_symbol {
    char *name;
    bool is_kernel;
    bool is_managed; /* a variable that the host can use too */
    size_t bytes;    /* of a variable; its initial values are zeros */
};

/* The contents of a fatbin, an ELF file or PTX; the symbols of compressed parts are unknown. */
struct sim_image {
    struct sim_symbol *symbols;
    size_t count;
    bool is_opaque; /* has symbols that are not listed */
    bool is_runnable,
        is_linking; /* scratch: some part is for this device; relocatable code counts */
};
CUresult sim_image_read(const void *image, struct sim_image *out);
/* Reads an input of the linker: relocatable code counts. */
CUresult sim_image_read_input(const void *image, struct sim_image *out);
/* Adds a copy of a symbol, unless the image has one of this name. */
CUresult sim_image_add(struct sim_image *image, const struct sim_symbol *symbol);
/* Adds a variable that the image hides. */
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
    struct sim_node **needs; /* its dependencies */
    size_t need_count;
    const struct sim_node *copied_from;
    size_t order; /* its position when sorted, from 1; scratch */
};

struct sim_graph {
    struct sim_object object;
    struct sim_node **nodes;
    size_t count, room;
    struct sim_hold *holds;
    bool is_held;  /* by a capture: must not be destroyed */
    bool is_body;  /* of a conditional node: must not be destroyed */
    bool is_child; /* of a node: must not be destroyed */
    bool is_moved; /* a child that was a graph of its own before: it has the header's restrictions
                    * (cuda.h, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) */
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
    struct sim_stream *origin; /* NULL after its end */
};

CUresult sim_graph_new(struct sim_graph **out);
void sim_graph_end(struct sim_graph *graph);
/* Takes over the reference to work, also on failure. */
CUresult sim_node_add(struct sim_graph *graph, struct sim_node *const *needs, size_t need_count,
                      struct sim_work *work, struct sim_node **out);
CUresult sim_graph_find(CUgraph handle, struct sim_graph **out);
/* Adds a reference that the graph, its copies and their launches keep: work that does nothing and
 * has a user_object. Takes over the reference to work, also on failure. work may be NULL: out of
 * memory. */
CUresult sim_graph_hold(struct sim_graph *graph, struct sim_work *work);
size_t sim_graph_count_holds(const struct sim_graph *graph,
                             const struct sim_user_object *object); /* NULL: any object */
void sim_graph_drop_hold(struct sim_graph *graph, const struct sim_user_object *object);
/* Runs the nodes once, one after another. Call without the lock. */
CUresult sim_graph_run(struct sim_graph *graph, struct sim_context *context);

/* Conditional nodes (condition.c). */
CUresult sim_condition_work(const void *params, struct sim_work **out);
CUgraph *sim_condition_bodies(struct sim_work *work);
void sim_condition_launch(struct sim_work *work); /* before a launch's first node; takes the lock */
bool sim_condition_set(CUgraphConditionalHandle handle, unsigned int value); /* takes the lock */
bool sim_nodes_are_of(const struct sim_graph *graph, const CUgraphNode *nodes, size_t count);
void sim_exec_end(struct sim_exec *exec);
void sim_list_drop(struct sim_list *list);

/* Calls to a stream that captures. */
CUresult sim_capture_add(struct sim_stream *stream, struct sim_work *work);
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
CUresult sim_capture_record(struct sim_event *event, struct sim_stream *stream);
/* Breaks the capture and returns why. */
CUresult sim_capture_break(struct sim_stream *stream, CUresult why);
/* Breaks the capture because a call cannot be captured. */
static inline CUresult sim_capture_refuse(struct sim_stream *stream)
{
    return sim_capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}
/* Returns 0, or the error if a capture of this thread (or a global one of any thread) forbids the
 * call. */
CUresult sim_capture_forbids(void);

/* Returns an error if a stream of the context captures: waiting would spoil the capture. */
CUresult sim_capture_forbids_waiting(const struct sim_context *context);
/* Returns 0 if the legacy stream may be used, or CUDA_ERROR_STREAM_CAPTURE_IMPLICIT. */
CUresult sim_capture_legacy(struct sim_context *context);
void sim_capture_drop(struct sim_capture *capture);
void sim_capture_leave(struct sim_stream *stream); /* the stream is destroyed */

/* ---- for cuGetProcAddress and cuGetExportTable ---- */
const char *sim_error_name(CUresult error);   /* or NULL */
const char *sim_error_string(CUresult error); /* or NULL */
CUresult sim_local_put(CUcontext context, void *key, void *value,
                       void (*end)(CUcontext, void *, void *));
CUresult sim_local_delete(CUcontext context, void *key);
CUresult sim_local_get(CUcontext context, void *key, void **out);
