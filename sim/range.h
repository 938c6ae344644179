/*
 * The ranges of the address space that the driver knows, sorted by address.
 *
 * The table owns the ranges. sim_range_end() frees a range with its memory.
 */
#pragma once
#include "sim/sim.h"

struct sim_allocation;
struct sim_context;
struct sim_pool;

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
/* Returns a range that has some of these bytes, or NULL. */
const struct sim_range *sim_range_of(uint64_t base, size_t bytes);
CUresult sim_range_add(const struct sim_range *range, struct sim_range **out);
/* Removes a range from the address space and frees its memory. */
void sim_range_end(struct sim_range *range);
/* Ends all ranges of a context, except those of graphs. */
void sim_context_end_memory(struct sim_context *context);
/* Returns the n-th range by address, or NULL. */
struct sim_range *sim_range_number(size_t number);

/*
 * Returns the host address at which the device reaches an address, and through out_bytes how many
 * bytes follow; NULL if the device may not read (or write) there. Takes the lock itself.
 */
unsigned char *sim_reach(uint64_t address, bool is_write, size_t *out_bytes);
/* Returns true if all bytes are known memory. */
bool sim_is_known(uint64_t address, size_t bytes);
