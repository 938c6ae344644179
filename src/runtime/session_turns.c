/* A party's number is its session's slot. A group's number is kept for a while after its last
 * session, because turns.h remembers what the group has used. */
#include "config.h"

#include "runtime/session_turns.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "runtime/claims.h"
#include "runtime/event_log.h"
#include "turns/shares.h"
#include "turns/turns.h"

enum {
    BEAT_US = 1000000, /* between looks at all of the board, while a program has a session */
    SHOW_US = 100000,  /* between what only people read, if something happens */
};

_Static_assert((int)ATH_TURNS_PARTIES_MAX >= (int)ATH_SESSION_BOARD_MAX, "each slot is a party");

struct party {
    uint64_t session; /* 0: none */
    char identity[ATH_KEY_NAME_BYTES];
    uint32_t group;
    struct ath_share_wish wish;
    struct ath_turns_claim claim;
    bool has_claim;
    uint32_t inherited; /* the word from before this arbiter */
    struct ath_turns_used before;
    int64_t recalled_us; /* when it was asked to give its turn back; 0: it is not */
    bool is_told;        /* its delay is in the log */
};

struct group {
    char identity[ATH_KEY_NAME_BYTES];
    uint32_t sessions;
    int64_t left_us; /* when the last one ended; 0: there was none */
    struct ath_share_row row;
};

struct ath_session_turns {
    struct ath_session_board *board;
    struct ath_turns *turns;
    uint64_t device_mask;
    enum ath_sharing sharing;
    uint64_t changes;    /* of the board, when all of it was seen */
    int64_t all_seen_us; /* 0: never */
    int64_t shown_us;    /* when figures and reasons of all were written */
    bool has_new_claims;
    struct party parties[ATH_SESSION_BOARD_MAX];
    struct group groups[ATH_SESSION_BOARD_MAX];
    size_t slots[ATH_SESSION_BOARD_MAX], count; /* of parties that are there, rising */
};

struct ath_session_turns *ath_session_turns_make(struct ath_session_board *board,
                                                 size_t device_count, enum ath_gpu_sharing sharing,
                                                 int64_t now_us)
{
    struct ath_session_turns *turns = calloc(1, sizeof *turns);
    if (!turns)
        return NULL;
    turns->board = board;
    turns->sharing = sharing == ATH_GPU_SHARING_TURNS ? ATH_SHARING_TURNS : ATH_SHARING_AUTO;
    turns->device_mask = device_count < 64 ? (UINT64_C(1) << device_count) - 1 : UINT64_MAX;
    turns->turns = ath_turns_make(now_us);
    if (turns->turns)
        return turns;
    free(turns);
    return NULL;
}

void ath_session_turns_free(struct ath_session_turns *turns)
{
    if (!turns)
        return;
    ath_turns_free(turns->turns);
    free(turns);
}

/* ---- sessions that come and go ---- */

/* Returns the number of an identity's group: the one that it has or had last, or one that was left
 * longest ago. */
static uint32_t find_group(const struct ath_session_turns *turns, const char *identity)
{
    uint32_t found = 0;
    int64_t found_us = INT64_MAX;
    for (uint32_t i = 0; i < ATH_COUNT(turns->groups); i++) {
        const struct group *group = &turns->groups[i];
        bool was_used = group->sessions || group->left_us;
        if (was_used && !strcmp(group->identity, identity))
            return i;
        if (group->sessions || group->left_us >= found_us)
            continue;
        found = i;
        found_us = group->left_us;
    }
    return found;
}

static void join_group(struct ath_session_turns *turns, struct party *party)
{
    party->group = find_group(turns, party->identity);
    struct group *group = &turns->groups[party->group];
    snprintf(group->identity, sizeof group->identity, "%s", party->identity);
    group->sessions++;
}

/* The word's session comes last: its process believes the word from then on. */
static void begin_grant(struct ath_turn_grant *grant, struct ath_turn_shown *shown,
                        uint64_t session, int64_t now_us)
{
    atomic_store(&grant->word, 0);
    atomic_store(&grant->used_us, 0);
    atomic_store(&grant->waited_us, 0);
    atomic_store(&grant->lent_us, 0);
    atomic_store(&grant->turns, 0);
    atomic_store(&shown->waits_for, 0);
    atomic_store(&shown->state, ATH_GPU_TURN_STATE_IDLE);
    atomic_store(&shown->since_ms, (uint64_t)now_us / 1000);
    atomic_store(&shown->share_parts, 0);
    atomic_store(&shown->session, session);
    atomic_store(&grant->session, session);
}

static void inherit(struct party *party, const struct ath_turn_grant *grant)
{
    party->inherited = atomic_load(&grant->word);
    party->before = (struct ath_turns_used){ .used_us = atomic_load(&grant->used_us),
                                             .waited_us = atomic_load(&grant->waited_us),
                                             .lent_us = atomic_load(&grant->lent_us),
                                             .turns = atomic_load(&grant->turns) };
}

static void begin_party(struct ath_session_turns *turns, size_t slot, uint64_t session,
                        int64_t now_us)
{
    struct party *party = &turns->parties[slot];
    struct ath_turn_grant *grant = &turns->board->turns.grants[slot];
    const char *identity = turns->board->known[slot].identity;
    *party = (struct party){ .session = session };
    memcpy(party->identity, identity, sizeof party->identity);
    party->identity[sizeof party->identity - 1] = '\0';
    join_group(turns, party);
    if (atomic_load(&grant->session) == session)
        inherit(party, grant);
    else
        begin_grant(grant, &turns->board->turns.shown[slot], session, now_us);
}

static void end_party(struct ath_session_turns *turns, size_t slot, int64_t now_us)
{
    struct party *party = &turns->parties[slot];
    struct group *group = &turns->groups[party->group];
    ath_turns_leave(turns->turns, slot, now_us);
    if (!--group->sessions)
        group->left_us = now_us;
    party->session = 0;
    begin_grant(&turns->board->turns.grants[slot], &turns->board->turns.shown[slot], 0, now_us);
}

/* The session of a program at a slot; 0: none. */
static uint64_t program_at(const struct ath_session_board_known *known)
{
    uint64_t id = atomic_load(&known->id);
    return id && atomic_load(&known->is_proven) &&
                   atomic_load(&known->purpose) == ATH_GPU_PURPOSE_CUDA
               ? id
               : 0;
}

static void look_at_slot(struct ath_session_turns *turns, size_t slot, int64_t now_us)
{
    uint64_t session = program_at(&turns->board->known[slot]);
    if (session == turns->parties[slot].session)
        return;
    turns->has_new_claims = true;
    if (turns->parties[slot].session)
        end_party(turns, slot, now_us);
    if (session)
        begin_party(turns, slot, session, now_us);
}

static void look_at_all(struct ath_session_turns *turns, int64_t now_us)
{
    turns->changes = atomic_load(&turns->board->changes);
    turns->all_seen_us = now_us;
    turns->count = 0;
    for (size_t slot = 0; slot < ATH_SESSION_BOARD_MAX; slot++) {
        look_at_slot(turns, slot, now_us);
        if (turns->parties[slot].session)
            turns->slots[turns->count++] = slot;
    }
}

/* ---- claims ---- */

static int priority_of(enum ath_gpu_priority priority)
{
    return priority == ATH_GPU_PRIORITY_HIGH  ? ATH_TURNS_HIGH
           : priority == ATH_GPU_PRIORITY_LOW ? ATH_TURNS_LOW
                                              : ATH_TURNS_NORMAL;
}

static bool is_same_wish(const struct ath_share_wish *one, const struct ath_share_wish *other)
{
    return one->devices == other->devices && one->identity == other->identity &&
           one->share_percent == other->share_percent && one->is_capped == other->is_capped &&
           one->priority == other->priority;
}

static bool is_same_row(const struct ath_share_row *one, const struct ath_share_row *other)
{
    return one->share_percent == other->share_percent && one->is_capped == other->is_capped &&
           one->highest_priority == other->highest_priority;
}

static bool is_same_claim(const struct ath_turns_claim *one, const struct ath_turns_claim *other)
{
    return one->devices == other->devices && one->group == other->group &&
           one->weight == other->weight && one->group_weight == other->group_weight &&
           one->priority == other->priority && one->most_percent == other->most_percent &&
           one->group_most_percent == other->group_most_percent && one->is_free == other->is_free;
}

/* Reads what a session asks for and what its identity may have. */
static void look_at_claim(struct ath_session_turns *turns, size_t slot)
{
    const struct ath_session_board_known *known = &turns->board->known[slot];
    const struct ath_session_board_entry *entry = &turns->board->slots[slot].entry;
    struct party *party = &turns->parties[slot];
    struct group *group = &turns->groups[party->group];
    struct ath_session_claim claim;
    ath_session_claim_read(turns->board, slot, &claim);
    const struct ath_share_wish wish = {
        /* Once it has used a GPU it has: else a session could lay its debt there down. */
        .devices =
            party->wish.devices | (atomic_load(&entry->turn.devices) &
                                   atomic_load(&known->allowed_devices) & turns->device_mask),
        .identity = party->group,
        .share_percent = claim.share_percent,
        .is_capped = claim.is_capped,
        .priority = priority_of(claim.priority),
    };
    const struct ath_share_row row = {
        .share_percent = claim.identity_share_percent,
        .is_capped = claim.is_identity_capped,
        .highest_priority = priority_of(claim.highest),
    };
    if (!is_same_wish(&wish, &party->wish) || !is_same_row(&row, &group->row))
        turns->has_new_claims = true;
    party->wish = wish;
    group->row = row;
}

/* A turn goes on when the arbiter before was killed, and the number of one that is over is not
 * used again. */
static void take_over(struct ath_session_turns *turns, size_t slot, int64_t now_us)
{
    struct party *party = &turns->parties[slot];
    uint32_t number = ath_turn_number(party->inherited);
    uint32_t returned = atomic_load(&turns->board->slots[slot].entry.turn.returned);
    if (!number)
        return;
    if (party->inherited & ATH_TURN_GIVEN && returned != number)
        ath_turns_adopt(turns->turns, slot, number, now_us);
    else
        ath_turns_number(turns->turns, slot, number);
}

static void make_claim(struct ath_session_turns *turns, size_t slot,
                       const struct ath_turns_claim *claim, int64_t now_us)
{
    struct party *party = &turns->parties[slot];
    if (party->has_claim && is_same_claim(&party->claim, claim))
        return;
    ath_turns_claim(turns->turns, slot, claim, now_us);
    party->claim = *claim;
    if (!party->has_claim)
        take_over(turns, slot, now_us);
    party->has_claim = true;
}

/* Too little memory leaves the claims as they are until the next look. */
static void make_claims(struct ath_session_turns *turns, int64_t now_us)
{
    static struct ath_share_wish wishes[ATH_SESSION_BOARD_MAX]; /* of this process's one thread */
    static struct ath_share_row rows[ATH_SESSION_BOARD_MAX];
    static struct ath_turns_claim claims[ATH_SESSION_BOARD_MAX];
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        rows[i] = turns->groups[i].row;
    for (size_t i = 0; i < turns->count; i++)
        wishes[i] = turns->parties[turns->slots[i]].wish;
    if (ath_shares_claims(turns->sharing, wishes, turns->count, rows, ATH_COUNT(rows), claims))
        return;
    for (size_t i = 0; i < turns->count; i++)
        make_claim(turns, turns->slots[i], &claims[i], now_us);
    turns->has_new_claims = false;
}

/* ---- turns ---- */

/* The session writes wants before returned. */
static void look_at_wish(struct ath_session_turns *turns, size_t slot, int64_t now_us)
{
    const struct ath_turn_wish *wish = &turns->board->slots[slot].entry.turn;
    uint32_t returned = atomic_load(&wish->returned), left = atomic_load(&wish->left);
    bool wants = atomic_load(&wish->wants) != 0;
    struct ath_turns_state state = ath_turns_state(turns->turns, slot);
    if (state.is_given && returned == state.number)
        ath_turns_give_back(turns->turns, slot, returned, wants, now_us);
    else if (state.is_given && !state.is_overdue && left == state.number)
        ath_turns_let_others(turns->turns, slot, left, wants, now_us);
    else if (wants)
        ath_turns_want(turns->turns, slot, now_us);
}

static uint32_t flag_of(bool is_set, uint32_t flag)
{
    return is_set ? flag : 0;
}

/* A capped session gives an idle turn back at once, since it pays for it. */
static uint32_t word_of(const struct ath_turns_state *state, const struct ath_turns_claim *claim)
{
    bool is_capped = claim->most_percent < 100 || claim->group_most_percent < 100;
    return state->number << ATH_TURN_NUMBER_SHIFT | flag_of(state->is_given, ATH_TURN_GIVEN) |
           flag_of(state->is_wanted_back, ATH_TURN_BACK) |
           flag_of(state->has_others, ATH_TURN_OTHERS) |
           flag_of(state->has_higher, ATH_TURN_SHORT) | flag_of(state->is_owed, ATH_TURN_OWED) |
           flag_of(state->is_waited_for || is_capped, ATH_TURN_WAITED);
}

/* Writes a word that differs, and wakes who waits for it. Returns whether it did. */
static bool write_word(struct ath_turn_grant *grant, uint32_t word)
{
    if (atomic_load(&grant->word) == word)
        return false;
    atomic_store(&grant->word, word);
    syscall(SYS_futex, &grant->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return true;
}

static void write_figures(struct ath_session_turns *turns, size_t slot)
{
    struct ath_turn_grant *grant = &turns->board->turns.grants[slot];
    const struct ath_turns_used *before = &turns->parties[slot].before;
    struct ath_turns_used used = ath_turns_used(turns->turns, slot);
    atomic_store(&grant->used_us, before->used_us + used.used_us);
    atomic_store(&grant->waited_us, before->waited_us + used.waited_us);
    atomic_store(&grant->lent_us, before->lent_us + used.lent_us);
    atomic_store(&grant->turns, before->turns + used.turns);
}

/* Logs once for each session that it has not given a turn back for too long. */
static void note_overdue(struct party *party, const struct ath_turns_state *state, int64_t now_us)
{
    if (!state->is_wanted_back)
        party->recalled_us = 0;
    else if (!party->recalled_us)
        party->recalled_us = now_us;
    if (!state->is_overdue || party->is_told || now_us - party->recalled_us < ATH_TURNS_LATE_US)
        return;
    party->is_told = true;
    ath_auto_free char *session = ath_xasprintf("%llu", (unsigned long long)party->session);
    ath_auto_free char *late =
        ath_xasprintf("%lld", (long long)(now_us - party->recalled_us) / 1000);
    ath_event_log(ATH_EVENT_WARNING, "turn-overdue", "session", session, "identity",
                  *party->identity ? party->identity : NULL, "late_ms", late, NULL);
}

static enum ath_gpu_turn_state shown_state(const struct party *party,
                                           const struct ath_turns_state *state, bool wants)
{
    if (state->is_given)
        return party->claim.is_free ? ATH_GPU_TURN_STATE_FREE : ATH_GPU_TURN_STATE_HOLDS;
    return wants ? ATH_GPU_TURN_STATE_WAITS : ATH_GPU_TURN_STATE_IDLE;
}

/* Shows for whom a party waits. A look for the one among many takes time, so it is rare. */
static void show(struct ath_session_turns *turns, size_t slot, enum ath_gpu_turn_state state,
                 bool shows_all, int64_t now_us)
{
    struct ath_turn_shown *shown = &turns->board->turns.shown[slot];
    bool waits = state == ATH_GPU_TURN_STATE_WAITS;
    bool is_new = atomic_load(&shown->state) != state;
    if (is_new) {
        atomic_store(&shown->since_ms, (uint64_t)now_us / 1000);
        atomic_store(&shown->state, state);
    }
    if (!is_new && !(waits && shows_all))
        return;
    size_t other = waits ? ath_turns_waits_for(turns->turns, slot) : ATH_TURNS_PARTIES_MAX;
    bool is_found = other < ATH_SESSION_BOARD_MAX;
    atomic_store(&shown->waits_for, is_found ? turns->parties[other].session : 0);
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* The part of its GPUs' time that people see; 0: there are no turns. */
static uint32_t parts_of(const struct party *party, const struct ath_turns_state *state)
{
    enum { PARTS_OF_PERCENT = 100 };
    const struct ath_turns_claim *claim = &party->claim;
    uint32_t most_percent = smaller(claim->most_percent, claim->group_most_percent);
    return claim->is_free ? 0 : smaller(state->share_parts, most_percent * PARTS_OF_PERCENT);
}

static void tell(struct ath_session_turns *turns, size_t slot, bool shows_all, int64_t now_us)
{
    struct ath_turns_page *page = &turns->board->turns;
    struct party *party = &turns->parties[slot];
    struct ath_turns_state state = ath_turns_state(turns->turns, slot);
    bool wants = atomic_load(&turns->board->slots[slot].entry.turn.wants) != 0;
    uint32_t parts = parts_of(party, &state);
    show(turns, slot, shown_state(party, &state, wants), shows_all, now_us);
    if (atomic_load(&page->shown[slot].share_parts) != parts)
        atomic_store(&page->shown[slot].share_parts, parts);
    if (write_word(&page->grants[slot], word_of(&state, &party->claim)) || shows_all)
        write_figures(turns, slot);
    note_overdue(party, &state, now_us);
}

/* Turns end before others begin, so at no moment do two words give the same GPU. */
static void tell_all(struct ath_session_turns *turns, bool shows_all, int64_t now_us)
{
    for (int gives = 0; gives < 2; gives++)
        for (size_t i = 0; i < turns->count; i++)
            if (ath_turns_state(turns->turns, turns->slots[i]).is_given == (gives != 0))
                tell(turns, turns->slots[i], shows_all, now_us);
}

int64_t ath_session_turns_look(struct ath_session_turns *turns, int64_t now_us)
{
    bool shows_all = now_us - turns->shown_us >= SHOW_US;
    if (!turns->all_seen_us || now_us - turns->all_seen_us >= BEAT_US ||
        atomic_load(&turns->board->changes) != turns->changes) {
        look_at_all(turns, now_us);
        shows_all = true;
    }
    if (shows_all)
        turns->shown_us = now_us;
    for (size_t i = 0; i < turns->count; i++)
        look_at_claim(turns, turns->slots[i]);
    if (turns->has_new_claims)
        make_claims(turns, now_us);
    for (size_t i = 0; i < turns->count; i++)
        look_at_wish(turns, turns->slots[i], now_us);
    int64_t next_us = ath_turns_decide(turns->turns, now_us);
    tell_all(turns, shows_all, now_us);
    atomic_store(&turns->board->turns.beat_ms, (uint64_t)now_us / 1000);
    if (!turns->count)
        return INT64_MAX;
    int64_t beat_us = turns->all_seen_us + BEAT_US;
    return next_us < beat_us ? next_us : beat_us;
}
