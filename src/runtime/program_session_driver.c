/* The driver of a program's session, and what comes before its functions: part, turns and quota. */
#include "config.h"

#include "runtime/program_session_state.h"

#include <stdio.h>
#include <string.h>

#include "cuda/server/kernel_output.h"
#include "cuda/turns/gate.h"
#include "runtime/board_books.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"
#include "runtime/part/part.h"
#include "runtime/quota/ledger.h"
#include "runtime/quota/quota.h"

static void log_free_passing(void *argument)
{
    const struct ath_program_session *program = argument;
    ath_event_log(ATH_EVENT_WARNING, "turns-silent", "peer", program->entry->peer, "reason",
                  "the arbiter does not answer", NULL);
}

/* Lets calls that occupy a GPU wait for the session's turn. A client that goes away meanwhile is
 * the watch's concern, which ends the process. */
static void begin_turns(struct ath_program_session *program)
{
    const struct ath_server *server = program->server;
    struct ath_session_board *board = server->board;
    const struct ath_turn_gate_setup setup = {
        .wish = &program->entry->turn,
        .grant = &board->turns.grants[ath_session_board_slot_of(board, program->entry)],
        .beat_ms = &board->turns.beat_ms,
        .pipe_fd = server->turns_fd,
        .session = atomic_load(&program->entry->id),
        .devices = program->devices,
        .device_count = program->device_count,
        .passes_freely = log_free_passing,
        .context = program,
    };
    if (server->turns_fd >= 0)
        ath_turn_gate_begin(&setup, &program->driver);
}

/* The program's user reads it on the program's standard error, and the log has it, too. */
static void say_part(const char *text)
{
    ath_event_log(ATH_EVENT_WARNING, "part-refused", "reason", text, NULL);
    fprintf(stderr, "aitherion: %s\n", text);
    fflush(stderr);
}

static void tell_part(const char *text)
{
    ath_event_log(ATH_EVENT_INFO, "part-given", "text", text, NULL);
}

/* Leaves the program a part of each GPU's multiprocessors. */
static void begin_part(struct ath_program_session *program)
{
    const struct ath_part_setup setup = { .percent = program->sm_percent,
                                          .devices = program->devices,
                                          .device_count = program->device_count,
                                          .books = ath_board_books(program->server),
                                          .say = say_part,
                                          .tell = tell_part };
    const char *lacking = program->sm_percent ? ath_part_lacks(&program->driver) : NULL;
    if (lacking)
        ath_program_session_refuse(
            program, "a part of the multiprocessors (--sm-share) needs a driver for CUDA "
                     "12.4 or newer, which the server does not have");
    ath_part_begin(&setup, &program->driver);
}

void ath_program_session_load_driver(struct ath_program_session *program)
{
    static const struct ath_cuda_books books = { .exported = ath_quota_exported,
                                                 .forgotten = ath_ledger_drop_share,
                                                 .imported = ath_quota_imported };
    void *library;
    struct ath_err err;
    int log_fd;
    int status = ath_kernel_output_catch(&log_fd);
    if (!status)
        ath_event_log_to(log_fd);
    else
        ath_event_log(ATH_EVENT_WARNING, "output-not-caught", "peer", program->entry->peer,
                      "reason", strerror(-status), NULL);
    if (ath_driver_library_open(program->server->is_simulated, "libcuda.so.1", &library, &err))
        ath_program_session_refuse(program, err.message);
    ath_cuda_driver_load(library, &program->driver);
    ath_cuda_session_init(&program->session, &program->driver);
    begin_part(program); /* first, so that nothing passes beside it */
    program->ungated = program->driver;
    program->session.ungated = &program->ungated;
    begin_turns(program); /* before the quota's functions, so that nothing passes beside the gate */
    ath_quota_set_devices(ath_board_books(program->server), program->devices,
                          program->device_count);
    program->session.uncounted = ath_quota_wrap(&program->session.captures.count, &program->driver);
    program->session.books = &books;
    ath_part_show(&program->driver);
    ath_event_log(ATH_EVENT_DEBUG, "driver-loaded", "peer", program->entry->peer, "simulated",
                  program->server->is_simulated ? "true" : "false", NULL);
}
