/*
 * The session at the node's runtime, which keeps the books of this process (proto/control.capnp:
 * the transport `local`). One for the process; it ends with the process, also by SIGKILL, since the
 * connection then closes. A child that forks has none.
 *
 * If the runtime ends, the program goes on with the memory that it has and gets no more. If the
 * runtime has ended this session, the program's further calls fail (ath_local_end()).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/control.h"
#include "remote/session/device_list.h"
#include "runtime/quota/books.h"

struct ath_local_question {
    enum ath_control_books_ask asks;
    size_t device;
    int64_t bytes;
    uint64_t object, name;
    struct ath_books_part part; /* of takePart */
};

/* The runtime's answer to the program. */
struct ath_local_grant {
    char visible[ATH_DEVICES_MAX * 48]; /* CUDA_VISIBLE_DEVICES; empty: as it is */
    size_t devices[ATH_DEVICES_MAX], count;
    bool only_counts;
    int sm_percent; /* of each GPU's multiprocessors; 0: all */
    uint64_t session;
    int turns_memory,
        turns_fd; /* turns/private_page.h, and the pipe's end; -1: there are no turns */
};

/* Opens the session. Returns 0, or a negative errno with err. */
int ath_local_connect(struct ath_local_grant *out, struct ath_err *err);

/* Asks and takes the answer by read(), with the connection locked. Returns false if the session is
 * gone. */
bool ath_local_ask(const struct ath_local_question *question,
                   void (*read)(struct ath_control_books_answer answer, void *context),
                   void *context);

/* Tells what has no answer. */
void ath_local_tell(const struct ath_local_question *question);
