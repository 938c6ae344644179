/*
 * The objects of a run. Each kind has some slots; an object's name is its kind and its slot.
 * Choices depend on the slots that are in use, never on the values of handles.
 */
#pragma once
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kind {
    CONTEXT,
    STREAM,
    EVENT,
    MEMORY,
    MODULE,
    FUNCTION,
    LIBRARY,
    KERNEL,
    GRAPH,
    NODE,
    EXEC,
    POOL,
    ARRAY,
    MIPMAP,
    TEXTURE,
    SURFACE,
    ALLOCATION, /* physical memory */
    RANGE,      /* reserved addresses */
    USER_OBJECT,
    LINK,
    KINDS
};

/* A type of memory is a bit, so that a choice can be among several. */
enum memory_type {
    DEVICE = 1,
    POOLED = 2,
    MAPPED = 4,
    MANAGED = 8,
    PINNED = 16,
    PAGEABLE = 32, /* the program's; it is there from the beginning */
    ON_DEVICE = DEVICE | POOLED | MAPPED,
    ON_HOST = PINNED | PAGEABLE,
};

enum { SLOTS_MAX = 32, NAMES_MAX = 48 };

struct object {
    enum kind kind;
    int slot;
    bool is_live, is_kept; /* kept: it is never ended */
    uint64_t handle;       /* or its address */
    uint64_t context;      /* a handle; 0: none was current */
    size_t bytes, pitch;
    int type;              /* a memory_type, a node's type, ... */
    struct object *parent; /* of a node: its graph; of a function: its module; ... */
    const char *label;     /* of a function: its name */
    unsigned int generation;
    struct object *busy_on; /* memory: the stream that may still use it */
    uint64_t busy_context;
    /* Graphs, executable graphs, nodes: the generation of each memory that its work uses; 0: none.
     */
    unsigned int uses[SLOTS_MAX];
    struct object *last; /* graphs: the last node that uses memory; later ones depend on it */
    unsigned int
        physical; /* allocations and mapped memory: the generation of the physical memory */
};

struct part {
    struct object *memory;
    uint64_t address;
    size_t bytes;
};

/* ---- slots ---- */

struct object *slot_of(enum kind kind, int slot);
int slots_of(enum kind kind);
struct object *vacant(enum kind kind); /* to be filled by born(), or NULL */
/* A live object; rarely the null or a foreign one, as the run's risks say; NULL: there is none. */
struct object *pick(enum kind kind);
struct object *pick_live(enum kind kind);
struct object *pick_child(enum kind kind, const struct object *parent);
struct object *pick_memory(int types);
void born(struct object *object, uint64_t handle, struct object *parent);
void dies(struct object *object); /* and what it is the parent of */
void dies_with_context(uint64_t context);
bool may_end_twice(const struct object *object);

/* ---- names ---- */

const char *name_of(const struct object *object);
const char *name_of_handle(enum kind kind, uint64_t handle);
const char *name_of_address(uint64_t address);

/* ---- memory ---- */

/* Some bytes of a memory of one of the types; NULL memory: there is none. */
struct part pick_part(int types, size_t most);
const char *name_of_part(const struct part *part);
struct object *memory_at(uint64_t address);

/* ---- who uses memory now: the lines would differ by chance without it ---- */

/* The stream that a choice is for has its own work in order; waits for that of others. Returns
 * false if that cannot be done: the memory is used by a capture on another stream. */
bool use(struct object *memory, struct object *stream);
void settle(struct object *memory);        /* for a call that takes no stream */
bool settle_stream(struct object *stream); /* false: a capture forbids the wait */
void settle_all(void);
bool use_for_graph(const struct object *graph, struct object *stream); /* a launch of its work */
bool is_whole(const struct object *graph); /* no memory that it uses was freed */
void mark_use(struct object *graph, const struct object *memory);
void begin_capturing(void);
void take_captured(struct object *graph);
bool is_stream_capturing(const struct object *stream);

extern uint64_t current_context; /* the handle, as the API told it last */

void set_objects_api(const struct api *api);

#ifdef __cplusplus
}
#endif
