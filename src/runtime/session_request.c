/* A table of questions. */
#include "config.h"

#include "runtime/session_request.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time_claim.h"
#include "proto/gpu-control.h"
#include "runtime/part_table.h"

/* A question, its asker, and the tables that it may change. */
struct request {
    struct ath_process_table *processes;
    struct ath_share_table *shares;
    struct ath_sandbox_users *users;
    const struct ath_process *asker;
    const struct ath_session_report *question;
    size_t slot; /* of the asker */
};

bool ath_session_request_may_change(const struct ath_process *asker,
                                    const struct ath_process *other)
{
    return asker->is_proven && asker->purpose == ATH_GPU_PURPOSE_CONTROL &&
           (asker->is_admin || (other->is_proven && !strcmp(asker->identity, other->identity)));
}

static uint64_t find_user(const struct request *request)
{
    /* No key has the name of those without one: metrics, before it reads a request. */
    return ath_sandbox_users_find(
        request->users, request->asker->is_proven ? request->asker->identity : ".unproven");
}

static uint64_t judge(const struct request *request)
{
    return ath_process_table_judge(request->processes, request->asker);
}

/* Returns a program's session that the asker may change; NULL if there is none. */
static const struct ath_process *find_program(const struct request *request)
{
    uint64_t session = request->question->object;
    const struct ath_process *other =
        session ? ath_process_table_find(request->processes, session) : NULL;
    return other && other->purpose == ATH_GPU_PURPOSE_CUDA &&
                   ath_session_request_may_change(request->asker, other)
               ? other
               : NULL;
}

static uint64_t set_limit(const struct request *request)
{
    const struct ath_session_report *question = request->question;
    struct ath_process_table *processes = request->processes;
    const struct ath_process *other = find_program(request);
    if (!other || question->device >= ATH_DEVICES_MAX)
        return 0;
    struct ath_session_board_entry *entry =
        ath_session_board_at(processes->board, ath_process_table_slot(processes, other));
    bool has_limit = question->bytes >= 0;
    ath_session_board_limit(entry, question->device, has_limit ? question->bytes : -1,
                            has_limit ? ATH_GPU_LIMIT_SOURCE_SET : ATH_GPU_LIMIT_SOURCE_NONE);
    return 1;
}

/* The row of the session's identity bounds the claim (claims.h). */
static uint64_t set_claim(const struct request *request)
{
    const struct ath_session_report *question = request->question;
    const struct ath_process *other = find_program(request);
    if (!other || question->share > ATH_SHARE_PERCENT_MAX || question->cap > 1 ||
        (question->priority && !ath_time_priority_word(question->priority)))
        return 0;
    struct ath_session_board_known *known =
        &request->processes->board->known[ath_process_table_slot(request->processes, other)];
    if (question->share >= 0)
        atomic_store(&known->set_share, question->share);
    if (question->cap >= 0)
        atomic_store(&known->set_cap, question->cap);
    if (question->priority)
        atomic_store(&known->set_priority, question->priority);
    return 1;
}

static uint64_t set_fraction(const struct request *request)
{
    double fraction = request->question->fraction;
    if (!request->asker->is_trusted || request->asker->purpose != ATH_GPU_PURPOSE_CONTROL ||
        !(fraction > 0 && fraction <= 1))
        return 0;
    atomic_store(&request->processes->board->vram_fraction, fraction);
    return 1;
}

static uint64_t make_share(const struct request *request)
{
    return ath_share_table_make(request->shares, request->slot, request->asker->identity,
                                request->question->device, request->question->bytes);
}

static uint64_t name_share(const struct request *request)
{
    ath_share_table_name(request->shares, request->slot, request->question->object,
                         request->question->name);
    return 1;
}

static uint64_t find_share(const struct request *request)
{
    return ath_share_table_find(request->shares, request->asker->identity, request->question->name);
}

static uint64_t hold_share(const struct request *request)
{
    return ath_share_table_hold(request->shares, request->slot, request->asker->identity,
                                request->question->object);
}

static uint64_t drop_share(const struct request *request)
{
    ath_share_table_drop(request->shares, request->slot, request->question->object);
    return 1;
}

/* An identity reserves no device that it may not use. */
static uint64_t reserve(const struct request *request)
{
    struct ath_session_board *board = request->processes->board;
    uint64_t devices = request->question->object;
    uint64_t allowed = atomic_load(&board->known[request->slot].allowed_devices);
    return devices && !(devices & ~allowed) && ath_session_board_reserve(board, devices);
}

static uint64_t take_part(const struct request *request)
{
    return ath_part_table_take(request->processes->board, request->slot, request->question->device,
                               request->question->object, request->question->bytes);
}

static uint64_t (*const answers[])(const struct request *request) = {
    [ATH_ASK_USER] = find_user,        [ATH_ASK_PLACE] = judge,
    [ATH_ASK_LIMIT] = set_limit,       [ATH_ASK_CLAIM] = set_claim,
    [ATH_ASK_FRACTION] = set_fraction, [ATH_ASK_SHARE] = make_share,
    [ATH_ASK_SHARE_NAME] = name_share, [ATH_ASK_SHARE_FIND] = find_share,
    [ATH_ASK_SHARE_HOLD] = hold_share, [ATH_ASK_SHARE_DROP] = drop_share,
    [ATH_ASK_RESERVE] = reserve,       [ATH_ASK_PART] = take_part,
};

uint64_t ath_session_request_answer(struct ath_process_table *processes,
                                    struct ath_share_table *shares, struct ath_sandbox_users *users,
                                    const struct ath_process *asker,
                                    const struct ath_session_report *question)
{
    const struct request request = { .processes = processes,
                                     .shares = shares,
                                     .users = users,
                                     .asker = asker,
                                     .question = question,
                                     .slot = ath_process_table_slot(processes, asker) };
    uint32_t asks = question->asks;
    bool may_ask = asker->is_proven || asks == ATH_ASK_USER;
    return may_ask && asks < ATH_COUNT(answers) && answers[asks] ? answers[asks](&request) : 0;
}
