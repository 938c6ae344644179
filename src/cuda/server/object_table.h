/*
 * The driver's objects whose handles the session's client has received.
 *
 * A driver reads through a handle without a check: a wrong handle ends the process with SIGSEGV. So
 * every handle that goes to the client is noted here, and a handle that comes from the client
 * reaches the driver only if it is noted. Objects that end with another object are its children: a
 * module's functions, a graph's nodes, a context's streams.
 *
 * The client may choose the handle of code that it loads: a promised handle (common/promise.h). It
 * is another name of the object, which the client alone uses. Any thread.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "base/map.h"
#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"

struct ath_cuda_object_table {
    pthread_rwlock_t lock; /* a leaf */
    struct ath_map map;
    uint64_t last_serial;
};

/* A handle of an object. */
struct ath_cuda_object_name {
    enum ath_cuda_kind kind;
    uint64_t handle; /* 0: none */
};

/* If memory runs out, the table stays empty and knows every handle. */
void ath_cuda_object_table_init(struct ath_cuda_object_table *table);
void ath_cuda_object_table_free(struct ath_cuda_object_table *table);

/* Returns whether the table has objects of a kind. Devices and addresses are not objects. */
bool ath_cuda_is_object(enum ath_cuda_kind kind);

/* Notes an object. is_new: a call made it, and an earlier object of this handle has ended. parent:
 * the object that it ends with, if that object is noted. */
void ath_cuda_object_note(struct ath_cuda_object_table *table, struct ath_cuda_object_name name,
                          struct ath_cuda_object_name parent, bool is_new);

/* Notes the device whose primary context this is. */
void ath_cuda_object_note_primary(struct ath_cuda_object_table *table, uint64_t context,
                                  int device);

/* Returns the device whose primary context this is, or -1. */
int ath_cuda_object_primary_device(struct ath_cuda_object_table *table, uint64_t context);

/* Returns the object's serial number, which no later object of the same handle has; 0: there is no
 * such object. A kernel is a function as well. *own becomes the driver's handle; own may be
 * NULL. */
uint64_t ath_cuda_object_serial(struct ath_cuda_object_table *table,
                                struct ath_cuda_object_name name, uint64_t *own);

/* Gives a noted object a promised handle; a promised handle that was another object's of this kind
 * becomes this one's. promised 0: looks up. Returns the handle by which the client has the object:
 * the promised one, or the driver's if there is no memory or the object has another promised
 * one. */
uint64_t ath_cuda_object_promise(struct ath_cuda_object_table *table,
                                 struct ath_cuda_object_name name, uint64_t promised);

/* Removes one reference to the object with this serial number, and with the last one the object and
 * its children. */
void ath_cuda_object_end(struct ath_cuda_object_table *table, struct ath_cuda_object_name name,
                         uint64_t serial);

/* Removes the children of a device's primary context. The context keeps its handle. */
void ath_cuda_object_end_primary(struct ath_cuda_object_table *table, int device);

/* The kinds of objects that end with an object of a kind, for the parent of a result. */
bool ath_cuda_object_ends_with(enum ath_cuda_kind kind, enum ath_cuda_kind parent);

/* The error that a call returns for a handle of this kind that is wrong. */
CUresult ath_cuda_wrong_handle(enum ath_cuda_kind kind);
