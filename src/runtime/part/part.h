/*
 * A session's part of each GPU's multiprocessors (`run --sm-share`): the driver has a green context
 * with them on each GPU that the program uses.
 *
 * The program keeps the primary context. Its streams are made inside the green context, and so run
 * on the part alone. Work for the null stream goes to the green context's one: that context is
 * current during the call, in one thread at a time, as the driver wants it. docs/sharing.md has
 * what differs for a program. Seen on an H200 (driver 580.159):
 *
 * - streams that are made inside are apart from each null stream, as if they were non-blocking.
 *   order.h brings them into the order that CUDA promises;
 * - nodes of graphs run where they were added or captured, whatever the stream of the launch;
 * - the null stream of the primary context does not wait for the green context's.
 *
 * The wrappers have CUDA's signatures, which leave no room for a pointer. So the state is global: a
 * process has one session.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-server.h"
#include "runtime/quota/books.h"

struct ath_part_setup {
    int percent; /* of each GPU's multiprocessors, 1 to 100; 0: all, and nothing is wrapped */
    const size_t *devices; /* the server's number of each device of the driver */
    size_t device_count;
    const struct ath_books *books;  /* which give the part */
    void (*say)(const char *text);  /* tells the program's user why it cannot have a part */
    void (*tell)(const char *text); /* tells what it has, where messages are wanted */
};

/* Returns the name of a function that a driver lacks for giving parts; NULL: none. */
const char *ath_part_lacks(const struct ath_cuda_driver *driver);

/* Puts the part into the driver's table. Call it once, before anything else is put there and before
 * the first call; *setup is copied, and what it names must stay. */
void ath_part_begin(const struct ath_part_setup *setup, struct ath_cuda_driver *driver);

/* Shows the program its part as the number of multiprocessors. Call it after all else has been put
 * into the table: the others need the GPU's own number. */
void ath_part_show(struct ath_cuda_driver *driver);

/* How many of a device's groups of multiprocessors a session gets: at least one. So percentages
 * that add up to 100 fit. */
unsigned int ath_part_groups(int percent, unsigned int groups);

/* ---- for proto/cuda-part.c; any thread ---- */

struct ath_part;

void ath_part_wrap(struct ath_cuda_driver *driver);

/*
 * Before and after a call with a stream: NULL is the null stream. *stream becomes the stream that
 * the driver gets. gives_work: the call may be in the stream's order. *out_held is for leave, which
 * follows if the result is 0.
 */
CUresult ath_part_enter(CUstream *stream, bool gives_work, struct ath_part **out_held);
void ath_part_leave(struct ath_part *held);

/* Before a call that depends on the current context's multiprocessors. leave follows, too. */
CUresult ath_part_enter_inside(struct ath_part **out_held);

/* The green context in place of its primary one; other contexts as they are. The call is inside. */
CUcontext ath_part_inside(CUcontext context);
