/* See objects.h. */
#include "objects.h"

#include <stdio.h>
#include <string.h>

/* Slots of a kind, and what NVIDIA's driver survives with its handles. The simulated driver
 * survives all. Handles of a kind that is not marked are never passed to the driver in that way,
 * unless --risks asks for it. */
static const struct {
    const char *name;
    int slots;
    bool survives_twice; /* ending it twice is an error, and no crash */
} kinds[KINDS] = {
    [CONTEXT] = { "context", 4, false },
    [STREAM] = { "stream", 8, false },
    [EVENT] = { "event", 8, false },
    [MEMORY] = { "memory", SLOTS_MAX, true },
    [MODULE] = { "module", 4, false },
    [FUNCTION] = { "function", 12, false },
    [LIBRARY] = { "library", 3, false },
    [KERNEL] = { "kernel", 6, false },
    [GRAPH] = { "graph", 6, false },
    [NODE] = { "node", SLOTS_MAX, false },
    [EXEC] = { "exec", 5, false },
    [POOL] = { "pool", 4, false },
    [ARRAY] = { "array", 8, false },
    [MIPMAP] = { "mipmap", 3, false },
    [TEXTURE] = { "texture", 4, false },
    [SURFACE] = { "surface", 4, false },
    [ALLOCATION] = { "allocation", 6, true },
    [RANGE] = { "range", 4, true },
    [USER_OBJECT] = { "user-object", 3, false },
    [LINK] = { "link", 2, false },
};

static const struct api *api;
static struct object objects[KINDS][SLOTS_MAX];
static struct object null_object = { .kind = KINDS, .slot = -1 };
static unsigned int last_generation;
static unsigned int captured[SLOTS_MAX]; /* generations; 0: not used by a capture */
static struct object *captured_on[SLOTS_MAX];
uint64_t current_context;

void set_objects_api(const struct api *of)
{
    api = of;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SLOTS_MAX; i++) {
            objects[kind][i].kind = (enum kind)kind;
            objects[kind][i].slot = i;
        }
}

/* ---- slots ---- */

struct object *slot_of(enum kind kind, int slot)
{
    return &objects[kind][slot];
}

int slots_of(enum kind kind)
{
    return kinds[kind].slots;
}

struct object *vacant(enum kind kind)
{
    size_t count = (size_t)kinds[kind].slots, first = below(count);
    for (size_t i = 0; i < count; i++) {
        struct object *object = &objects[kind][(first + i) % count];
        if (!object->is_live)
            return object;
    }
    return NULL;
}

/* The first that fits, from a random slot on. */
static struct object *find(enum kind kind, const struct object *parent, int types)
{
    size_t count = (size_t)kinds[kind].slots, first = below(count);
    for (size_t i = 0; i < count; i++) {
        struct object *object = &objects[kind][(first + i) % count];
        if (object->is_live && (!parent || object->parent == parent) &&
            (!types || object->type & types))
            return object;
    }
    return NULL;
}

struct object *pick_live(enum kind kind)
{
    return find(kind, NULL, 0);
}

struct object *pick_child(enum kind kind, const struct object *parent)
{
    return find(kind, parent, 0);
}

struct object *pick_memory(int types)
{
    return find(MEMORY, NULL, types);
}

static bool is_number(enum kind kind)
{
    return kind == MEMORY || kind == TEXTURE || kind == SURFACE || kind == ALLOCATION ||
           kind == RANGE;
}

static struct object *pick_foreign(enum kind kind)
{
    struct object *object = find((enum kind)below(KINDS), NULL, 0);
    return object && object->kind != kind && !is_number(object->kind) ? object : NULL;
}

struct object *pick(enum kind kind)
{
    size_t word = below(40);
    if (word == 0 && takes_risk(RISK_NULL))
        return kind == STREAM ? slot_of(STREAM, 0) : &null_object;
    if (word == 1 && takes_risk(RISK_FOREIGN) && !is_number(kind)) {
        struct object *foreign = pick_foreign(kind);
        if (foreign)
            return foreign;
    }
    return find(kind, NULL, 0);
}

void born(struct object *object, uint64_t handle, struct object *parent)
{
    int slot = object->slot;
    enum kind kind = object->kind;
    memset(object, 0, sizeof *object);
    object->kind = kind;
    object->slot = slot;
    object->is_live = true;
    object->handle = handle;
    object->context = current_context;
    object->parent = parent;
    object->generation = ++last_generation;
}

void dies(struct object *object)
{
    object->is_live = false;
    object->busy_on = NULL;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SLOTS_MAX; i++) {
            struct object *other = &objects[kind][i];
            if (other->is_live && other->parent == object)
                dies(other);
            if (other->busy_on == object)
                other->busy_on = NULL;
        }
}

void dies_with_context(uint64_t context)
{
    static const enum kind of_contexts[] = { STREAM, EVENT,  MEMORY,  MODULE,  FUNCTION, EXEC,
                                             ARRAY,  MIPMAP, TEXTURE, SURFACE, LINK };
    for (size_t i = 0; i < COUNT(of_contexts); i++)
        for (int j = 0; j < SLOTS_MAX; j++) {
            struct object *object = &objects[of_contexts[i]][j];
            bool is_everywhere =
                object->is_kept && (object->kind == STREAM || object->kind == MEMORY);
            if (object->is_live && object->context == context && !is_everywhere)
                dies(object);
        }
}

bool may_end_twice(const struct object *object)
{
    return object->kind < KINDS && (takes_risk(RISK_TWICE) || kinds[object->kind].survives_twice) &&
           chance(12);
}

/* ---- names ---- */

static char *next_name(void)
{
    static char names[16][NAMES_MAX];
    static unsigned int last;
    return names[last++ % COUNT(names)];
}

const char *name_of(const struct object *object)
{
    char *name = next_name();
    if (object->kind == KINDS)
        return "null";
    snprintf(name, NAMES_MAX, "%s%d", kinds[object->kind].name, object->slot);
    return name;
}

const char *name_of_handle(enum kind kind, uint64_t handle)
{
    if (!handle)
        return "null";
    for (int i = 0; i < SLOTS_MAX; i++)
        if (objects[kind][i].is_live && objects[kind][i].handle == handle)
            return name_of(&objects[kind][i]);
    return "another";
}

struct object *memory_at(uint64_t address)
{
    for (int i = 0; i < SLOTS_MAX; i++) {
        struct object *memory = &objects[MEMORY][i];
        if (memory->is_live && address >= memory->handle &&
            address < memory->handle + memory->bytes)
            return memory;
    }
    return NULL;
}

const char *name_of_address(uint64_t address)
{
    char *name = next_name();
    const struct object *memory = memory_at(address);
    if (!memory)
        return address ? "elsewhere" : "null";
    snprintf(name, NAMES_MAX, "%s+%llu", name_of(memory),
             (unsigned long long)(address - memory->handle));
    return name;
}

/* ---- memory ---- */

struct part pick_part(int types, size_t most)
{
    struct object *memory = pick_memory(types);
    if (!memory)
        return (struct part){ NULL, 0, 0 };
    size_t granule = chance(6) ? 1 : 4, room = memory->bytes / granule;
    size_t offset = chance(3) ? 0 : below(room) * granule, left = memory->bytes - offset;
    size_t bytes = chance(4) ? left : (1 + below(left / granule)) * granule;
    if (bytes > left)
        bytes = left;
    if (bytes > most)
        bytes = most;
    if (chance(50))
        bytes = 0;
    return (struct part){ memory, memory->handle + offset, bytes };
}

const char *name_of_part(const struct part *part)
{
    char *name = next_name();
    snprintf(name, NAMES_MAX, "%s+%llu:%zu", name_of(part->memory),
             (unsigned long long)(part->address - part->memory->handle), part->bytes);
    return name;
}

/* ---- who uses memory now ---- */

static bool is_stream(const struct object *object)
{
    return object->kind == STREAM && object->is_live;
}

bool settle_stream(struct object *stream)
{
    if (!is_stream(stream))
        return true;
    bool is_settled = api->wait_for(stream->handle, current_context);
    for (int i = 0; i < SLOTS_MAX; i++) {
        struct object *memory = &objects[MEMORY][i];
        if (memory->busy_on == stream &&
            (memory->busy_context == current_context
                 ? is_settled
                 : api->wait_for(stream->handle, memory->busy_context)))
            memory->busy_on = NULL;
    }
    return is_settled;
}

void settle(struct object *memory)
{
    if (memory->busy_on)
        settle_stream(memory->busy_on);
}

void settle_all(void)
{
    for (int i = 0; i < SLOTS_MAX; i++)
        settle(&objects[MEMORY][i]);
}

bool is_stream_capturing(const struct object *stream)
{
    return is_stream(stream) && api->is_capturing(stream->handle);
}

static bool use_in_capture(const struct object *memory, struct object *stream)
{
    if (captured_on[memory->slot] && captured_on[memory->slot] != stream)
        return false;
    captured[memory->slot] = memory->generation;
    captured_on[memory->slot] = stream;
    return true;
}

bool use(struct object *memory, struct object *stream)
{
    if (is_stream_capturing(stream))
        return use_in_capture(memory, stream);
    if (memory->busy_on != stream || memory->busy_context != current_context)
        settle(memory);
    if (memory->busy_on && memory->busy_on != stream)
        return false;
    memory->busy_on = is_stream(stream) ? stream : NULL;
    memory->busy_context = current_context;
    return true;
}

bool is_whole(const struct object *graph)
{
    for (int i = 0; i < SLOTS_MAX; i++)
        if (graph->uses[i] &&
            (!objects[MEMORY][i].is_live || objects[MEMORY][i].generation != graph->uses[i]))
            return false;
    return true;
}

bool use_for_graph(const struct object *graph, struct object *stream)
{
    bool is_possible = is_whole(graph);
    for (int i = 0; i < SLOTS_MAX && is_possible; i++)
        if (graph->uses[i])
            is_possible = use(&objects[MEMORY][i], stream);
    return is_possible;
}

void mark_use(struct object *graph, const struct object *memory)
{
    graph->uses[memory->slot] = memory->generation;
}

void begin_capturing(void)
{
    memset(captured, 0, sizeof captured);
    memset(captured_on, 0, sizeof captured_on);
}

void take_captured(struct object *graph)
{
    memcpy(graph->uses, captured, sizeof captured);
}
