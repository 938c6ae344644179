/* Events. */
#pragma once
#include "sim/sim.h"

struct sim_capture;
struct sim_context;
struct sim_mark;
struct sim_nodes;
struct sim_signal;
struct sim_stream;
struct sim_work;

struct sim_event {
    struct sim_object object;
    unsigned int flags;
    struct sim_mark *mark;       /* NULL: never recorded */
    struct sim_capture *capture; /* recorded in a capture */
    struct sim_nodes *tips;
    struct sim_signal *signal; /* if other processes may open the event; NULL */
};

CUresult sim_event_record(struct sim_event *event, struct sim_stream *stream, unsigned int flags);
void sim_event_end(struct sim_event *event);
/* Takes the signal over, also on failure. */
CUresult sim_event_of_signal(struct sim_context *context, struct sim_signal *signal, CUevent *out);
CUresult sim_event_work(CUevent handle, bool is_wait, struct sim_work **out);
/* Makes work that waits for a mark; NULL: out of memory. */
struct sim_work *sim_wait_work(struct sim_mark *mark);
