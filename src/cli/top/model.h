/*
 * The content of `aitherion top`, without a screen: answers of servers and counts of this host go
 * in, rows with rates and histories come out.
 *
 * A rate is the difference of two counts over the time that really passed between them. A count
 * that fell began again, so it makes no rate. Unknown values are ATH_UNKNOWN. A row lives as long
 * as what it shows: a session that is missing in an answer has ended, and its row goes with it. A
 * server that stops answering keeps its rows and its error until it answers again. One thread.
 */
#pragma once
#include "cli/output/session.h"
#include "cli/top/history.h"
#include "cli/top/host_counts.h"
#include "remote/session/figures.h"

/* The answer of a server. */
struct ath_top_answer {
    struct ath_session_group group; /* its status says whether the rest is valid */
    struct ath_figures figures;
    bool has_figures; /* false: the server is too old for them */
    uint64_t at_ms;   /* ath_now_ms() of the answer */
};
void ath_top_answer_free(struct ath_top_answer *answer);

struct ath_top_gpu {
    size_t server;                           /* index in the model */
    const char *runtime;                     /* name of that server, not owned */
    int number;                              /* in the server's list */
    const struct ath_runtime_device *device; /* of the server's answer */
    struct ath_device_figures figures;       /* all unknown if the server has none */
    int64_t nvlink_received_bytes_s, nvlink_sent_bytes_s;
    int64_t traffic_bytes_s;                  /* PCIe and NVLink, both directions */
    struct ath_history busy, memory, traffic; /* percent, percent, bytes per second */
};

struct ath_top_session {
    size_t server;
    const char *runtime; /* name of that server, not owned */
    uint64_t id;
    const struct ath_runtime_session *facts; /* of the server's answer */
    int64_t memory_bytes;                    /* on all GPUs; ATH_UNKNOWN if any part is unknown */
    int64_t limit_bytes;                     /* of all GPUs with a limit; ATH_UNKNOWN: none */
    int gpu;               /* the GPU with most of its memory; ATH_UNKNOWN: none */
    bool is_on_several;    /* has memory on more than one GPU */
    const char *transport; /* of the server's answer; NULL if unknown */
    int64_t busy_percent;
    int64_t gpu_time_us;
    int64_t calls, calls_s;
    int64_t received_bytes_s, sent_bytes_s; /* by the server */
    int64_t traffic_bytes_s;                /* both together */
    int64_t wait_us;                        /* mean of the waits of the last interval */
    int64_t share_percent;  /* that it claims of its GPUs' time; ATH_UNKNOWN: none */
    int64_t held_percent;   /* of the last interval in which it had its GPUs */
    int64_t queued_percent; /* of the last interval in which it waited for its turn */
    struct ath_history busy;

    struct {
        uint64_t at_ms;
        int64_t calls, received, sent, gpu_time_us, waits, waited_us, held_us, queued_us;
    } before;
};

struct ath_top_server {
    struct ath_top_answer answer; /* the last good one; at_ms 0: none yet */
    char *name;                   /* "NUMA0", else the address */
    int status;                   /* of the last answer */
    struct ath_err err;
    uint64_t lost_ms;     /* since when it does not answer; 0: it answers */
    bool is_waiting;      /* has not been heard of yet */
    unsigned int answers; /* and failures, since the beginning */
};

struct ath_top_port {
    struct ath_port_counts facts;
    int64_t received_bytes_s, sent_bytes_s;           /* of both kinds */
    int64_t rdma_received_bytes_s, rdma_sent_bytes_s; /* the RDMA part */
    struct ath_history received, sent;
};

/* Owns its members. A zeroed struct is empty; ath_top_free() releases it. */
struct ath_top {
    struct ath_top_server *servers;
    size_t server_count;
    struct ath_top_gpu *gpus; /* by server, then number */
    size_t gpu_count;
    struct ath_top_session *sessions; /* by server, then id */
    size_t session_count;
    struct ath_top_port *ports;
    size_t port_count;
    struct ath_host_counts host;
    int64_t cpu_percent;
    unsigned int host_answers; /* since the beginning */
    uint64_t now_ms;           /* of the last change */
};
void ath_top_free(struct ath_top *top);

/* Adds a server that has not answered yet. address: copied; id: ATH_UNSET if not known. */
void ath_top_add_server(struct ath_top *top, int id, const char *address);

/* Takes the answer of server `index`, and leaves *answer empty. */
void ath_top_take(struct ath_top *top, size_t index, struct ath_top_answer *answer);

/* Takes the counts of this host, and leaves *host empty. */
void ath_top_take_host(struct ath_top *top, struct ath_host_counts *host);

/* Returns the session, or NULL. */
const struct ath_top_session *ath_top_find(const struct ath_top *top, size_t server, uint64_t id);

/* Returns the memory that a session has on a GPU; 0 if none is known. */
int64_t ath_top_memory_on(const struct ath_top_session *session, int gpu);
