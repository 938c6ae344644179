/* Checks the proof of a further connection, and passes it to the session's process. */
#include "config.h"

#include "runtime/joins.h"

#include <unistd.h>

#include "base/clock.h"

/* Further connections that one session is given: so many, and one more for each second, for those
 * that it has lost. */
enum { JOINS_MOST = 16, SECOND_MS = 1000 };

static void refuse_join(struct ath_listener *listener, int fd, const char *reason)
{
    char peer[ATH_ENDPOINT_TEXT];
    ath_refusal_log(&listener->refusals, "connection-refused",
                    ath_endpoint_of_socket(fd, true, peer), reason, NULL);
}

static bool is_own(const struct ath_process *process, const struct ath_waiting *waiting)
{
    return ath_source_is(process->source, waiting->source);
}

static bool is_right(const struct ath_process *process, const struct ath_joining *joining)
{
    return ath_ticket_check(&process->ticket, joining->number, joining->proof,
                            sizeof joining->proof);
}

static bool has_its_most(const struct ath_process *process)
{
    return process->joins >= JOINS_MOST + (ath_now_ms() - process->started_ms) / SECOND_MS;
}

/* Passes a connection with the right proof to the process of a proven session. A client that has
 * several addresses comes from others than the session's own, and loses no attempt there. */
static void pass_join(struct ath_listener *listener, struct ath_process *process,
                      struct ath_waiting *waiting)
{
    if (!is_right(process, &waiting->joining)) {
        refuse_join(listener, waiting->fd, "its proof for this session is wrong");
        return;
    }
    if (!is_own(process, waiting))
        ath_attempts_give(&listener->attempts, waiting->source, ath_now_ms());
    waiting->joining.is_data = waiting->is_data;
    if (has_its_most(process) ||
        ath_fd_passing_pass(&listener->fd_passing,
                            ath_process_table_slot(&listener->processes, process),
                            &waiting->joining, waiting->fd))
        refuse_join(listener, waiting->fd, "the session takes no connection");
    else
        process->joins++;
}

void ath_joins_let_in(struct ath_listener *listener, struct ath_process *process, bool is_open)
{
    for (size_t i = listener->waiting.count; i-- > 0;) {
        if (listener->waiting.items[i].session != process->session)
            continue;
        struct ath_waiting waiting = ath_waiting_room_take(&listener->waiting, i);
        if (is_open)
            pass_join(listener, process, &waiting);
        else
            refuse_join(listener, waiting.fd, "there is no session to join");
        close(waiting.fd);
    }
}

bool ath_joins_take(struct ath_listener *listener, struct ath_waiting *waiting,
                    const struct ath_first_message *first)
{
    struct ath_process *process =
        first->session ? ath_process_table_find(&listener->processes, first->session) : NULL;
    waiting->joining = first->joining;
    if (!process || process->way != ATH_POLL_TCP || process->is_ending ||
        (process->is_proven && process->purpose != ATH_GPU_PURPOSE_CUDA))
        refuse_join(listener, waiting->fd, "there is no session to join");
    else if (!is_own(process, waiting) &&
             !ath_attempts_take(&listener->attempts, waiting->source, ath_now_ms()))
        refuse_join(listener, waiting->fd, "too many failed attempts from this address");
    else if (process->is_proven)
        pass_join(listener, process, waiting);
    else if (ath_waiting_room_joins(&listener->waiting, waiting->source, first->session) >=
             ATH_WAITING_MOST_JOINS)
        refuse_join(listener, waiting->fd, "too many connections wait for this session");
    else
        waiting->session = first->session;
    return waiting->session;
}
