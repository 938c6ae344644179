#include "config.h"

#include "runtime/part_table.h"

#include "runtime/server.h"
#include "runtime/session_report.h"

enum { GROUPS_MAX = 64 };

/* The groups that other sessions have. */
static uint64_t taken_by_others(const struct ath_session_board *board, size_t slot, size_t device)
{
    uint64_t taken = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (i != slot && atomic_load(&board->known[i].id))
            taken |= atomic_load(&board->known[i].part[device]);
    return taken;
}

/* The most groups that a session may have by its identity's row. The percentage is of all
 * multiprocessors, and up to two groups' worth of them may be in no group. */
static int64_t most_of(const struct ath_session_board *board, size_t slot, uint64_t groups)
{
    enum { BESIDE = 2 };
    int percent = atomic_load(&board->known[slot].identity_part);
    return percent < 1 || percent > 100
               ? (int64_t)groups
               : ((int64_t)groups + BESIDE) * percent / 100 + (percent * (int64_t)groups < 100);
}

uint64_t ath_part_table_take(struct ath_session_board *board, size_t slot, size_t device,
                             uint64_t groups, int64_t wanted)
{
    if (device >= ATH_DEVICES_MAX || groups > GROUPS_MAX || wanted > most_of(board, slot, groups))
        return 0;
    uint64_t taken = taken_by_others(board, slot, device), bits = 0;
    int64_t count = 0;
    for (uint64_t i = 0; i < groups && count < wanted; i++)
        if (!(taken >> i & 1)) {
            bits |= UINT64_C(1) << i;
            count++;
        }
    if (count < wanted)
        bits = 0;
    atomic_store(&board->known[slot].part[device], bits);
    return bits;
}

uint64_t ath_part_request(const struct ath_server *server, size_t device, uint32_t groups,
                          uint32_t wanted)
{
    const struct ath_session_report question = {
        .asks = ATH_ASK_PART, .device = (uint32_t)device, .object = groups, .bytes = wanted
    };
    uint64_t bits;
    return ath_session_report_ask(server->report_fd, &question, &bits) ? 0 : bits;
}
