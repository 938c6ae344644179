/*
 * Facts about a process from /proc of this machine (proc(5)): its CPUs and memory nodes, its
 * listening sockets, its network. Private to container.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

struct ath_process {
    int pid, parent, session;
    char state;           /* 'R', 'S', 'Z'... */
    uint64_t start_ticks; /* after boot; with the boot id and the pid it identifies the process */
    int64_t started_s;    /* since 1970; ATH_UNKNOWN */
    char *cpus, *memory_nodes; /* Cpus_allowed_list, Mems_allowed_list; NULL: unknown */
    int64_t memlock_bytes;     /* soft limit; INT64_MAX: none; ATH_UNKNOWN */
    uint64_t capabilities;     /* effective */
    uint64_t netns;            /* inode of its network namespace; 0: no right to look */
};

/* Returns 0, or -ESRCH if there is no such process; a zombie counts as none. *out is released with
 * the function below. */
int ath_process_read(int pid, struct ath_process *out);
void ath_process_free(struct ath_process *process);

/* Returns true while the pid belongs to the process that started at start_ticks. */
bool ath_process_is(int pid, uint64_t start_ticks);

/* Returns true if the process has the name (prctl(2), PR_SET_NAME), of which the kernel keeps 15
 * bytes. */
bool ath_process_is_named(int pid, const char *name);

/* Returns this boot's id (random_id(4)), or "" if unknown. The caller frees it. */
char *ath_boot_id(void);

/* Returns true if the path of the process's control group contains the container's id. So a pid
 * from a daemon of another machine is not taken for a local process. */
bool ath_process_is_in_container(int pid, const char *container_id);

/* Returns true if the process's environment contains NAME=value ("AITHERION_SOCKET=/run/..."). */
bool ath_process_has_variable(int pid, const char *pair);

/* Returns the value of a variable of the process's environment; NULL if it is not set, or without
 * the right to look. The caller frees it. */
char *ath_process_variable(int pid, const char *name);

/* Returns true if one word of the process's command line is the text. */
bool ath_process_has_argument(int pid, const char *text);

/* Adds the addresses on which the process listens: "0.0.0.0:50051", "[::1]:50051"; where it takes
 * datagrams of all peers: "0.0.0.0:5555/udp". */
void ath_process_listening(int pid, struct ath_texts *out);

/* Returns the number of processes that the main thread of a server has started and that it has not
 * reaped, without the sampler: its sessions. ATH_UNKNOWN if the kernel does not say
 * (CONFIG_PROC_CHILDREN). */
int ath_process_sessions(int pid);

/* Lists the ids of all processes, ascending; the caller frees *out. */
void ath_process_ids(int **out, size_t *out_count);

/* Returns the process that listens on a port of this network namespace, by TCP or UDP: "python3
 * (process 123)", or "another user's process" without the right to look. Returns NULL if no process
 * listens, or only processes with except_pair in their environment (NULL: no exception). The caller
 * frees it. */
char *ath_port_owner(int port, bool is_udp, const char *except_pair);

/* Returns true if the process listens on the unix socket. Without the right to look at its open
 * files, true if any process of its network namespace does. Makes no connection, which the listener
 * would have to serve. */
bool ath_process_is_listener(int pid, const char *path);

/* Returns "2025-01-02T03:04:05Z", which the caller frees, or NULL for ATH_UNKNOWN. */
char *ath_time_text(int64_t seconds);
