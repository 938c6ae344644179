/* A flow: made, freed, and its sender as the program sees it. */
#include "config.h"

#include "remote/udp/flow.h"

#include <stdlib.h>

#include "remote/udp/flow_state.h"

struct ath_flow *ath_flow_make(const struct ath_flow_settings *settings, int64_t now_ns)
{
    struct ath_flow *flow = calloc(1, sizeof *flow + 2 * settings->buffer_bytes);
    if (!flow)
        return NULL;
    flow->settings = *settings;
    flow->heard_ns = flow->spoken_ns = now_ns;
    ath_path_mtu_begin(&flow->path, settings->most_bytes);
    ath_congestion_begin(&flow->congestion, flow->path.size, settings->fixed_rate, now_ns);
    flow->sender.bytes = (uint8_t *)(flow + 1);
    flow->sender.limit = ath_flow_first_room(settings);
    flow->sender.reordering = FLOW_REORDERING_FIRST;
    flow->sender.lost_at_ns = INT64_MAX;
    flow->receiver.bytes = flow->sender.bytes + settings->buffer_bytes;
    flow->receiver.limit = ath_flow_first_room(settings);
    flow->receiver.end = UINT64_MAX;
    return flow;
}

void ath_flow_free(struct ath_flow *flow)
{
    free(flow);
}

int ath_flow_failure(const struct ath_flow *flow)
{
    return flow->failure;
}

struct ath_flow_counters ath_flow_counters(const struct ath_flow *flow)
{
    struct ath_flow_counters counters = flow->counters;
    counters.trip_ns = flow->sender.trip_ns;
    counters.datagram_bytes = flow->path.size;
    return counters;
}

size_t ath_flow_room(const struct ath_flow *flow, struct iovec parts[2])
{
    const struct flow_sender *sender = &flow->sender;
    size_t used = (size_t)(sender->end - sender->acknowledged);
    size_t room = sender->is_finished ? 0 : flow->settings.buffer_bytes - used;
    if (flow->settings.unsent_most) {
        size_t unsent = (size_t)(sender->end - sender->begun);
        size_t most = flow->settings.unsent_most;
        room = ath_flow_lesser(room, unsent < most ? most - unsent : 0);
    }
    ath_flow_parts(flow, sender->bytes, sender->end, room, parts);
    return room;
}

void ath_flow_written(struct ath_flow *flow, size_t bytes)
{
    flow->sender.end += bytes;
}

uint64_t ath_flow_waiting(const struct ath_flow *flow)
{
    return flow->sender.end - flow->sender.acknowledged;
}

void ath_flow_finish(struct ath_flow *flow)
{
    flow->sender.is_finished = true;
}

bool ath_flow_is_delivered(const struct ath_flow *flow)
{
    return flow->sender.is_end_acknowledged;
}
