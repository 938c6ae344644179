/*
 * What the kernel says of a process: where it may run, what it listens on, which network it is in.
 * Read from /proc of this machine (proc(5)). Private to container.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

struct ath_process {
    int pid, parent, session;
    char state;           /* 'R', 'S', 'Z'... */
    uint64_t start_ticks; /* after boot; with the boot's id and the pid it names one process ever */
    int64_t started_s;    /* since 1970; ATH_UNKNOWN */
    char *cpus, *memory_nodes; /* Cpus_allowed_list, Mems_allowed_list; NULL unknown */
    int64_t memlock_bytes;     /* soft limit; INT64_MAX: none; ATH_UNKNOWN */
    uint64_t capabilities;     /* effective */
    uint64_t netns;            /* inode of its network namespace; 0: may not be looked at */
};

/* Returns 0, or -ESRCH where there is no such process (a zombie counts as none). */
int ath_process_read(int pid, struct ath_process *out);
void ath_process_free(struct ath_process *process);

/* True while the process of that pid is the one that was started at start_ticks. */
bool ath_process_is(int pid, uint64_t start_ticks);

/* True where it bears the name (prctl(2), PR_SET_NAME), of which the kernel keeps 15 bytes. */
bool ath_process_is_named(int pid, const char *name);

/* This boot's id (random_id(4)); "" unknown. The caller frees it. */
char *ath_boot_id(void);

/* Whether the process is in a control group whose path names the container: so that a pid which a
 * daemon of another machine said is not taken for one of ours. */
bool ath_process_is_in_container(int pid, const char *container_id);

/* True where its environment has NAME=value ("AITHERION_SOCKET=/run/..."). */
bool ath_process_has_variable(int pid, const char *pair);

/* Adds "0.0.0.0:50051", "[::1]:50051": the TCP sockets that it listens on. */
void ath_process_listening(int pid, struct ath_texts *out);

/* All processes' ids, ascending; the caller frees *out. */
void ath_process_ids(int **out, size_t *out_count);

/* Who listens on a TCP port of this network namespace: "python3 (process 123)", "somebody" where
 * that may not be seen; NULL: nobody, or a process with this pair in its environment (NULL: none is
 * passed over). The caller frees it. */
char *ath_port_owner(int port, const char *except_pair);

/* Whether somebody listens on a unix socket in the network namespace of the process; without
 * troubling who listens by a connection. */
bool ath_process_sees_listener(int pid, const char *path);

/* "2025-01-02T03:04:05Z"; NULL for ATH_UNKNOWN. The caller frees it. */
char *ath_time_text(int64_t seconds);
