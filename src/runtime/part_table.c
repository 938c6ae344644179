/* Finds groups that no other session has, and notes them on the board. */
#include "config.h"

#include "runtime/part_table.h"

#include "runtime/part/part.h"
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

/* The most groups that a session may have by its identity's row. */
static int64_t most_of(const struct ath_session_board *board, size_t slot, uint64_t groups)
{
    int percent = atomic_load(&board->known[slot].identity_part);
    return ath_part_groups(percent < 1 ? 100 : percent, (unsigned int)groups);
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
