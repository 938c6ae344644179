/* Answers to orders: to end a session, and to change its limits, its claim, and those of the
 * server. */
#include "config.h"

#include "runtime/control_answer_parts.h"

#include <time.h>

#include "base/clock.h"
#include "runtime/session_report.h"

enum { END_WAIT_MS = 8000 }; /* the driver takes seconds for a GPU full of memory */

/* Asks the listening process to end the session. Only that process knows whether a process id
 * still belongs to a session. */
void ath_control_answer_end(const struct ath_server *server, int fd,
                            struct ath_control_message question,
                            struct ath_control_message_builder answer)
{
    uint64_t id = ath_control_message_end_session(question);
    uint64_t end_ms = ath_now_ms() + END_WAIT_MS;
    struct ath_session_board_entry entry;

    if (!ath_control_find_session(server, fd, id, &entry)) {
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                                   "there is no such session");
        return;
    }
    const struct ath_session_report order = { .ends = id };
    if (server->report_fd < 0 || ath_session_report_send(server->report_fd, &order)) {
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                                   "this server cannot end sessions");
        return;
    }
    while (ath_session_board_find(server->board, id) && ath_now_ms() < end_ms)
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    if (ath_session_board_find(server->board, id))
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                                   "the session did not end in time");
    else
        ath_control_message_set_done(answer);
}

/* The listening process sets limits, because it knows who asks. */
static bool set_limit(const struct ath_server *server, uint64_t session, uint32_t device,
                      int64_t bytes)
{
    const struct ath_session_report question = {
        .asks = ATH_ASK_LIMIT, .object = session, .device = device, .bytes = bytes
    };
    uint64_t answer;
    return !ath_session_report_ask(server->report_fd, &question, &answer) && answer;
}

static bool set_fraction(const struct ath_server *server, double fraction)
{
    const struct ath_session_report question = { .asks = ATH_ASK_FRACTION, .fraction = fraction };
    uint64_t answer;
    if (server->report_fd < 0) /* in tests this is the process that listens */
        atomic_store(&server->board->vram_fraction, fraction);
    return server->report_fd < 0 ||
           (!ath_session_report_ask(server->report_fd, &question, &answer) && answer);
}

static bool change_claim(const struct ath_server *server, struct ath_gpu_claim_change change)
{
    const struct ath_session_report question = {
        .asks = ATH_ASK_CLAIM,
        .object = ath_gpu_claim_change_id(change),
        .share = ath_gpu_claim_change_share_percent(change),
        .cap =
            ath_gpu_claim_change_changes_cap(change) ? ath_gpu_claim_change_is_capped(change) : -1,
        .priority = (int32_t)ath_gpu_claim_change_priority(change),
    };
    uint64_t answer;
    return !ath_session_report_ask(server->report_fd, &question, &answer) && answer;
}

/* Returns whether the client may reach a session of this number, and the session is a program's. */
static bool is_program(const struct ath_server *server, int fd, uint64_t id)
{
    struct ath_session_board_entry entry;
    return ath_control_find_session(server, fd, id, &entry) && entry.is_proven &&
           entry.purpose == ATH_GPU_PURPOSE_CUDA;
}

/* Memory that the session has already stays. Requests beyond the limit are refused from now on. */
void ath_control_answer_limit(const struct ath_server *server, int fd,
                              struct ath_control_message question,
                              struct ath_control_message_builder answer)
{
    struct ath_gpu_session_limit limit = ath_control_message_limit_session(question);
    uint32_t device = ath_gpu_session_limit_device(limit);
    int64_t bytes = ath_gpu_session_limit_memory_limit_bytes(limit);

    if (!is_program(server, fd, ath_gpu_session_limit_id(limit)))
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                                   "there is no such session of a program");
    else if (device >= server->devices.count)
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                                   "there is no such device");
    else if (!set_limit(server, ath_gpu_session_limit_id(limit), device, bytes))
        ath_control_answer_failure(
            answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
            "only an administrator may limit the sessions of another identity");
    else
        ath_control_message_set_done(answer);
}

/* The row of the session's identity bounds what comes of it. */
void ath_control_answer_claim(const struct ath_server *server, int fd,
                              struct ath_control_message question,
                              struct ath_control_message_builder answer)
{
    struct ath_gpu_claim_change change = ath_control_message_change_claim(question);
    int priority = (int)ath_gpu_claim_change_priority(change);

    if (!is_program(server, fd, ath_gpu_claim_change_id(change)))
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                                   "there is no such session of a program");
    else if (ath_gpu_claim_change_share_percent(change) > ATH_SHARE_PERCENT_MAX)
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                                   "the share is above 100 percent");
    else if (priority && !ath_time_priority_word(priority))
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                                   "this server does not know that priority");
    else if (!change_claim(server, change))
        ath_control_answer_failure(
            answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
            "only an administrator may limit the sessions of another identity");
    else
        ath_control_message_set_done(answer);
}

/* Programs that begin at the same moment choose different GPUs. */
void ath_control_answer_reserve(const struct ath_server *server, int fd,
                                struct ath_control_message question,
                                struct ath_control_message_builder answer)
{
    const struct ath_session_report asked = { .asks = ATH_ASK_RESERVE,
                                              .object = ath_control_message_reserve(question) };
    uint64_t is_reserved = 0;

    (void)fd;
    if (!ath_session_report_ask(server->report_fd, &asked, &is_reserved) && is_reserved)
        ath_control_message_set_done(answer);
    else
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                                   "a session uses one of these GPUs, or it is reserved");
}

/* Memory that sessions have already stays, as for the limit of a session. */
void ath_control_answer_server_limit(const struct ath_server *server, int fd,
                                     struct ath_control_message question,
                                     struct ath_control_message_builder answer)
{
    double fraction = ath_control_message_limit_server(question);

    if (!ath_control_is_owner(server, fd)) {
        ath_control_answer_failure(
            answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
            "only the user who runs this server may change its share, by its socket");
    } else if (!(fraction > 0 && fraction <= 1)) {
        ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                                   "the share is not above 0 and at most 1");
    } else {
        if (set_fraction(server, fraction))
            ath_control_message_set_done(answer);
        else
            ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                                       "this server cannot change its share");
    }
}
