/* The end of a program's session, which is the end of its process. */
#include "config.h"

#include "runtime/program_session_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "runtime/event_log.h"

static const char *reason_of(int status, bool is_open)
{
    switch (status) {
    case -EBADMSG:
        return "no call of this version";
    case -EPROTO:
        return "its bytes were changed on the way";
    case -EMSGSIZE:
        return "a call too large";
    case -ETIMEDOUT:
        return is_open ? "its host does not answer" : "it was silent for too long";
    case -ECONNRESET:
        return "it went away";
    default:
        return strerror(-status);
    }
}

void ath_program_session_end(struct ath_program_session *program, int status)
{
    bool is_done = status == -ENODATA;
    pthread_mutex_lock(&program->end_lock);
    ath_auto_free char *calls =
        ath_xasprintf("%llu", (unsigned long long)atomic_load(&program->entry->counts.calls));
    /* The call had no answer, so only the log can tell which call failed. */
    const char *failed = program->session.failed;
    ath_auto_free char *error =
        failed ? ath_xasprintf("%d", (int)program->session.failed_status) : NULL;
    if (!is_done)
        atomic_fetch_add(&program->entry->broken, 1);
    ath_event_log(is_done ? ATH_EVENT_INFO : ATH_EVENT_WARNING,
                  is_done ? "session-closed" : "session-broken", "peer", program->entry->peer,
                  "identity", *program->server->identity ? program->server->identity : NULL,
                  "during",
                  is_done            ? NULL
                  : program->is_open ? "calls"
                                     : "opening the channel",
                  "reason", is_done ? NULL : reason_of(status, program->is_open), "calls", calls,
                  "failed", failed, "error", error, NULL);
    _exit(0);
}

void ath_program_session_refuse(struct ath_program_session *program, const char *reason)
{
    struct ath_common_failure_builder failure =
        ath_control_message_init_failure(ath_control_message_start(&program->answer));
    size_t length;
    int status;
    struct ath_err err;

    ath_common_failure_set_code(failure, ATH_COMMON_FAILURE_CODE_INTERNAL);
    ath_common_failure_set_message(failure, reason);
    ath_event_log(ATH_EVENT_ERROR, "session-failed", "peer", program->entry->peer, "reason", reason,
                  NULL);
    const uint8_t *bytes = ath_wire_finish(&program->answer, &length, &status);
    if (bytes)
        (void)ath_frame_send(program->socket, bytes, length,
                             ath_now_ms() + (uint64_t)program->server->answer_ms, &err);
    _exit(0);
}
