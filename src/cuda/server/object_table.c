/* A hash map of objects, each with the list of its children. */
#include "config.h"

#include "cuda/server/object_table.h"

#include <stdlib.h>

enum { BITS = 14, NO_DEVICE = -1 };

struct object {
    struct ath_map_entry entry; /* by handle and kind */
    enum ath_cuda_kind kind;
    int device; /* of a primary context */
    uint64_t serial;
    uint64_t references; /* of memory: cuMemRetainAllocationHandle() adds one */
    struct object *children;
    struct object *next, **at; /* in the parent's list; at is NULL without a parent */
    uint64_t promised;         /* the client's own handle of this object; 0: none */
    struct object *target;     /* of a promised handle, which is a child of this object */
};

void ath_cuda_object_table_init(struct ath_cuda_object_table *table)
{
    pthread_rwlock_init(&table->lock, NULL);
    table->map =
        (struct ath_map){ .bits = BITS,
                          .buckets = calloc((size_t)1 << BITS, sizeof *table->map.buckets) };
}

void ath_cuda_object_table_free(struct ath_cuda_object_table *table)
{
    if (table->map.buckets) {
        ATH_MAP_EACH(&table->map, at)
        free(ath_map_take(at));
    }
    free(table->map.buckets);
    table->map.buckets = NULL;
    pthread_rwlock_destroy(&table->lock);
}

bool ath_cuda_is_object(enum ath_cuda_kind kind)
{
    return kind != ATH_CUDA_KIND_ADDRESS && kind != ATH_CUDA_KIND_HOST &&
           kind != ATH_CUDA_KIND_DEVICE;
}

bool ath_cuda_object_ends_with(enum ath_cuda_kind kind, enum ath_cuda_kind parent)
{
    switch (kind) {
    case ATH_CUDA_KIND_KERNEL:
    case ATH_CUDA_KIND_MODULE:
        return parent == ATH_CUDA_KIND_LIBRARY;
    case ATH_CUDA_KIND_FUNCTION:
        return parent == ATH_CUDA_KIND_MODULE || parent == ATH_CUDA_KIND_KERNEL ||
               parent == ATH_CUDA_KIND_LIBRARY;
    case ATH_CUDA_KIND_SURFREF:
    case ATH_CUDA_KIND_TEXREF:
        return parent == ATH_CUDA_KIND_MODULE;
    case ATH_CUDA_KIND_GRAPH_NODE:
        return parent == ATH_CUDA_KIND_GRAPH;
    case ATH_CUDA_KIND_GRAPH:
        return parent == ATH_CUDA_KIND_GRAPH_NODE;
    case ATH_CUDA_KIND_ARRAY:
        return parent == ATH_CUDA_KIND_MIPMAPPED_ARRAY || parent == ATH_CUDA_KIND_ARRAY;
    case ATH_CUDA_KIND_CONTEXT:
        return parent == ATH_CUDA_KIND_GREEN_CTX;
    default:
        return false;
    }
}

CUresult ath_cuda_wrong_handle(enum ath_cuda_kind kind)
{
    switch (kind) {
    case ATH_CUDA_KIND_DEVICE:
        return CUDA_ERROR_INVALID_DEVICE;
    case ATH_CUDA_KIND_CONTEXT:
    case ATH_CUDA_KIND_GREEN_CTX:
        return CUDA_ERROR_INVALID_CONTEXT;
    case ATH_CUDA_KIND_GRAPH:
    case ATH_CUDA_KIND_GRAPH_CONDITIONAL_HANDLE:
    case ATH_CUDA_KIND_GRAPH_EXEC:
    case ATH_CUDA_KIND_GRAPH_NODE:
    case ATH_CUDA_KIND_MEM_GENERIC_ALLOCATION_HANDLE:
    case ATH_CUDA_KIND_MEMORY_POOL:
    case ATH_CUDA_KIND_SURF_OBJECT:
    case ATH_CUDA_KIND_TEX_OBJECT:
    case ATH_CUDA_KIND_USER_OBJECT:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        return CUDA_ERROR_INVALID_HANDLE;
    }
}

/* Two objects may have the same number if their handles are numbers. */
static uint64_t key_of(enum ath_cuda_kind kind, uint64_t handle)
{
    return handle ^ (uint64_t)kind << 56;
}

static uint64_t handle_of(const struct object *object)
{
    return object->entry.key ^ (uint64_t)object->kind << 56;
}

/* The object, or the promised handle. The caller holds the lock. */
static struct object *find_name(const struct ath_cuda_object_table *table,
                                struct ath_cuda_object_name name)
{
    uint64_t key = key_of(name.kind, name.handle);
    struct ath_map_entry **at = ath_map_at(&table->map, key);
    while (name.handle && *at && ((struct object *)*at)->kind != name.kind)
        at = ath_map_same(&(*at)->next, key);
    return name.handle ? (struct object *)*at : NULL;
}

static struct object *find_object(const struct ath_cuda_object_table *table,
                                  struct ath_cuda_object_name name)
{
    struct object *found = find_name(table, name);
    return found && found->target ? found->target : found;
}

static void leave_parent(struct object *object)
{
    if (!object->at)
        return;
    *object->at = object->next;
    if (object->next)
        object->next->at = object->at;
    object->next = NULL;
    object->at = NULL;
}

static void join_parent(struct object *object, struct object *parent)
{
    leave_parent(object);
    if (!parent || parent == object)
        return;
    object->next = parent->children;
    object->at = &parent->children;
    if (object->next)
        object->next->at = &object->next;
    parent->children = object;
}

static void drop_object(struct ath_cuda_object_table *table, struct object *object);

static void drop_children(struct ath_cuda_object_table *table, struct object *object)
{
    while (object->children)
        drop_object(table, object->children);
}

/* As deep as the kinds are: library, kernel, function. A child graph is in a node of its parent
 * graph. NOLINTNEXTLINE(misc-no-recursion) */
static void drop_object(struct ath_cuda_object_table *table, struct object *object)
{
    leave_parent(object);
    drop_children(table, object);
    struct ath_map_entry **at = ath_map_bucket(&table->map, object->entry.key);
    while (*at != &object->entry)
        at = &(*at)->next;
    free(ath_map_take(at));
}

/* The promised handle named an object that has ended. */
static void end_promise(struct ath_cuda_object_table *table, struct object *object)
{
    struct object *name =
        find_name(table, (struct ath_cuda_object_name){ object->kind, object->promised });
    if (name)
        drop_object(table, name);
    object->promised = 0;
}

void ath_cuda_object_note(struct ath_cuda_object_table *table, struct ath_cuda_object_name name,
                          struct ath_cuda_object_name parent, bool is_new)
{
    if (!name.handle || !table->map.buckets)
        return;
    pthread_rwlock_wrlock(&table->lock);
    struct object *found = find_object(table, name);
    bool is_added = !found;
    if (is_added && (found = calloc(1, sizeof *found))) {
        found->kind = name.kind;
        found->device = NO_DEVICE;
        ath_map_add(&table->map, &found->entry, key_of(name.kind, name.handle));
    }
    if (found && is_new && !is_added)
        end_promise(table, found);
    if (found && (is_added || is_new)) {
        found->serial = ++table->last_serial;
        found->references++;
    }
    if (found && (is_added || is_new || !found->at))
        join_parent(found, find_object(table, parent));
    pthread_rwlock_unlock(&table->lock);
}

void ath_cuda_object_note_primary(struct ath_cuda_object_table *table, uint64_t context, int device)
{
    if (!table->map.buckets)
        return;
    pthread_rwlock_wrlock(&table->lock);
    struct object *found =
        find_object(table, (struct ath_cuda_object_name){ ATH_CUDA_KIND_CONTEXT, context });
    if (found)
        found->device = device;
    pthread_rwlock_unlock(&table->lock);
}

int ath_cuda_object_primary_device(struct ath_cuda_object_table *table, uint64_t context)
{
    if (!table->map.buckets)
        return NO_DEVICE;
    pthread_rwlock_rdlock(&table->lock);
    const struct object *found =
        find_object(table, (struct ath_cuda_object_name){ ATH_CUDA_KIND_CONTEXT, context });
    int device = found ? found->device : NO_DEVICE;
    pthread_rwlock_unlock(&table->lock);
    return device;
}

uint64_t ath_cuda_object_serial(struct ath_cuda_object_table *table,
                                struct ath_cuda_object_name name, uint64_t *own)
{
    if (!table->map.buckets)
        return 1;
    pthread_rwlock_rdlock(&table->lock);
    const struct object *found = find_object(table, name);
    if (!found && name.kind == ATH_CUDA_KIND_FUNCTION)
        found =
            find_object(table, (struct ath_cuda_object_name){ ATH_CUDA_KIND_KERNEL, name.handle });
    uint64_t serial = found ? found->serial : 0;
    if (found && own)
        *own = handle_of(found);
    pthread_rwlock_unlock(&table->lock);
    return serial;
}

/* Makes a promised handle lead to an object. The caller holds the lock. Returns false without
 * memory. */
static bool bind_promise(struct ath_cuda_object_table *table, struct object *object,
                         uint64_t promised)
{
    struct object *name = find_name(table, (struct ath_cuda_object_name){ object->kind, promised });
    if (!name && (name = calloc(1, sizeof *name))) {
        name->kind = object->kind;
        name->device = NO_DEVICE;
        ath_map_add(&table->map, &name->entry, key_of(object->kind, promised));
    } else if (!name || !name->target) {
        return false; /* a driver's handle has this value */
    } else {
        name->target->promised = 0;
    }
    join_parent(name, object);
    name->target = object;
    object->promised = promised;
    return true;
}

uint64_t ath_cuda_object_promise(struct ath_cuda_object_table *table,
                                 struct ath_cuda_object_name name, uint64_t promised)
{
    if (!table->map.buckets)
        return name.handle;
    pthread_rwlock_wrlock(&table->lock);
    struct object *found = find_name(table, name);
    if (!found && name.kind == ATH_CUDA_KIND_FUNCTION)
        found =
            find_name(table, (struct ath_cuda_object_name){ ATH_CUDA_KIND_KERNEL, name.handle });
    if (found && promised && found->kind == name.kind && !found->promised && !found->target)
        (void)bind_promise(table, found, promised);
    uint64_t handle = found && found->promised ? found->promised : name.handle;
    pthread_rwlock_unlock(&table->lock);
    return handle;
}

void ath_cuda_object_end(struct ath_cuda_object_table *table, struct ath_cuda_object_name name,
                         uint64_t serial)
{
    if (!table->map.buckets)
        return;
    pthread_rwlock_wrlock(&table->lock);
    struct object *found = find_object(table, name);
    bool is_shared =
        name.kind == ATH_CUDA_KIND_MEM_GENERIC_ALLOCATION_HANDLE && found && --found->references;
    if (found && !is_shared && found->serial == serial)
        drop_object(table, found);
    pthread_rwlock_unlock(&table->lock);
}

void ath_cuda_object_end_primary(struct ath_cuda_object_table *table, int device)
{
    if (!table->map.buckets)
        return;
    struct object *primary = NULL;
    pthread_rwlock_wrlock(&table->lock);
    ATH_MAP_EACH(&table->map, at)
    if (((struct object *)*at)->kind == ATH_CUDA_KIND_CONTEXT &&
        ((struct object *)*at)->device == device)
        primary = (struct object *)*at;
    if (primary)
        drop_children(table, primary);
    pthread_rwlock_unlock(&table->lock);
}
