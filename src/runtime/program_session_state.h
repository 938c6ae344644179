/*
 * The session of a program: its state, and what program_session.c and program_session_*.c share.
 * Private to them. One thread, except ath_program_session_end().
 */
#pragma once
#include <pthread.h>

#include "cuda/server/call_threads.h"
#include "proto/control.h"
#include "runtime/program_session.h"
#include "runtime/program_stripes.h"

struct ath_program_session {
    struct ath_calls calls; /* first */
    struct ath_cuda_shared shared;
    struct ath_socket socket;
    const struct ath_server *server;
    struct ath_session_board_entry *entry;
    struct ath_ticket ticket;
    enum ath_control_transport transport;
    bool is_net_test; /* it has no driver, no devices and no calls */
    int sm_percent;   /* of each GPU's multiprocessors, that the program gets; 0: all */
    struct ath_program_stripes stripes;
    struct ath_program_stripes_wanted wanted; /* of the stripes */
    struct ath_frame question;
    struct ath_wire_builder answer;
    size_t devices[ATH_DEVICES_MAX];
    size_t device_count;
    struct ath_cuda_driver driver, ungated;
    struct ath_cuda_session session;
    struct ath_stream *stream;
    bool is_open;             /* the client has the answer to openChannel */
    pthread_mutex_t end_lock; /* taken once, by the thread that ends the process */
};

/* ---- program_session.c ---- */

/* Spreads large frames over the connections that joined. */
void ath_program_session_spread(struct ath_program_session *program);

/* Starts the thread that watches for the client's end and looks after the connections. */
void ath_program_session_begin_watch(struct ath_program_session *program);

/* ---- net_test_session.c ---- */

/* Serves a test of the network until the client is done, and ends the process. */
void ath_program_session_serve_net_test(struct ath_program_session *program)
    __attribute__((noreturn));

/* ---- program_session_end.c ---- */

/* Logs the end of the session and ends the process. Any thread; the first one logs its reason.
 * status: -ENODATA if the program is done, else why the session breaks. */
void ath_program_session_end(struct ath_program_session *program, int status)
    __attribute__((noreturn));

/* Refuses the program's request with a reason, and ends the process. */
void ath_program_session_refuse(struct ath_program_session *program, const char *reason)
    __attribute__((noreturn));

/* ---- program_session_request.c ---- */

/* Reads the request for a channel; another message ends the session. *out points into the program's
 * `question`. */
void ath_program_session_read_request(struct ath_program_session *program,
                                      struct ath_control_open_channel *out);

/* Takes what the request says about the program: its transport, its variables that the driver must
 * see, its devices, its limit of memory, and its share of the GPUs' time. */
void ath_program_session_take_request(struct ath_program_session *program,
                                      struct ath_control_open_channel question);

/* Returns the value of a variable of the program; NULL if it is not set. */
const char *ath_program_session_variable(struct ath_control_open_channel question,
                                         const char *name);

/* ---- program_session_driver.c ---- */

/* Loads the driver, with the program's part, turns and quota before its functions. */
void ath_program_session_load_driver(struct ath_program_session *program);

/* ---- program_session_answer.c ---- */

/* Answers the request. memory: a descriptor that goes with the answer; -1: none. */
void ath_program_session_answer(struct ath_program_session *program, int memory);

/* Logs that the session has been opened. */
void ath_program_session_log_open(const struct ath_program_session *program,
                                  struct ath_control_open_channel question);
