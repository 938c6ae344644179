/* Functions and types that the files supervisor*.c share. Private to them. */
#pragma once
#include <sys/types.h>

#include "container/engine/supervisor.h"

/* ---- supervisor_child.c ---- */

/* A failure, sent through a pipe that a successful exec closes. */
struct ath_supervisor_report {
    int status;
    struct ath_err err;
};

/* Runs in the new process: enters the runtime's place (network, control group, CPUs, user), gives
 * up rights, and executes the runtime. Reports a failure to report_fd. parent: the supervisor. */
void ath_supervisor_be_runtime(const struct ath_supervisor_job *job, int log, int report_fd,
                               pid_t parent) __attribute__((noreturn));

/* ---- supervisor_log.c ---- */

/* Opens FOLDER/runtime.log for appending. Returns a descriptor, or -1 with errno. */
int ath_supervisor_open_log(const char *folder);

/* Logs the end, because a killed runtime cannot. Uses the runtime's format
 * (src/runtime/event_log.h). */
void ath_supervisor_log_end(const char *folder, const struct ath_process_state *state, int wait_ms);

/* Truncates a large log and keeps its end in runtime.log.old, because /run is memory. The runtime
 * opened the log with O_APPEND and goes on at the new end. */
void ath_supervisor_trim_log(const char *folder);
