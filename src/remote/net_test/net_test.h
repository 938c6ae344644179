/*
 * Measures what the paths between this host and a server can do, by a session for tests: each path
 * alone, then all together as large frames of a program go. The session needs a key as those of
 * programs do, and no GPU.
 */
#pragma once
#include "remote/session/session.h"

struct ath_net_speed {
    bool is_known; /* false: not measured, or there were too few bytes */
    double bytes_per_s;
    uint64_t bytes, time_ns; /* that it was measured by, as the receiver saw them */
    int64_t sent_again; /* TCP segments or datagrams that were sent again; negative: not known */
};

/* The times of echoes, from one side to the other and back. */
struct ath_net_trips {
    bool is_known;
    size_t count, bytes; /* bytes of each */
    uint64_t least_ns, median_ns, p99_ns;
};

struct ath_net_path {
    size_t number;                /* from 1 on */
    bool is_calls;                /* of the calls; else of large copies */
    bool is_udp;                  /* else TCP */
    char from[ATH_ENDPOINT_TEXT]; /* an address of this host, without a port; empty: not known */
    char to[ATH_ENDPOINT_TEXT];
    char link[IF_NAMESIZE]; /* of this host, that the path is bound to; empty: the kernel chooses */
    size_t connections;
    int left_out; /* why the path is not used: a negative errno, -ENOKEY if the session is plain and
                     must not leave this host; 0: the path is used */
    struct ath_net_trips trips; /* of one connection */
    struct ath_net_speed to_server, from_server;
};

enum { ATH_NET_PATHS_MAX = 1 + 2 * ATH_DATA_PATHS_MAX, ATH_NET_TRIP_BYTES = 64 };

struct ath_net_test {
    uint64_t session;
    bool is_encrypted;
    bool has_data_addresses; /* large copies go to them, and not to the address of the calls */
    char why_tcp[ATH_PATH_REASON_BYTES]; /* why UDP was wanted and is not used; empty: it is, or was
                                            not wanted */
    struct ath_net_path paths[ATH_NET_PATHS_MAX]; /* that of the calls first, those left out last */
    size_t count;
    struct ath_net_together {
        /* of large copies, with that of the calls if it carries a share; 0: it carries all */
        size_t connections;
        struct ath_net_speed to_server, from_server;
    } together;
};

/* A measurement that begins, of so many. path NULL: all together. */
struct ath_net_step {
    size_t number, count;
    const struct ath_net_path *path;
};

struct ath_net_plan {
    uint64_t time_ms; /* about how long each speed is measured */
    uint64_t bytes;   /* in place of the time: what each speed is measured by; 0: the time counts */
    bool only_finds;  /* the paths, and measures nothing */
    void (*step)(void *context, const struct ath_net_step *step); /* NULL: nothing is called */
    void *context;
};

/* Fills in what opens such a session with ath_session_open(). */
void ath_net_test_first(bool wants_udp, struct ath_session_first *out);

/*
 * Measures by a session that was opened so, which is of no more use afterwards. server is its name
 * in errors. Returns 0, or a negative errno with err: -ENOTSUP "not-supported" if the server is too
 * old, "peer-failed" if a path breaks, or the errors of ath_program_channel_await().
 */
int ath_net_test_run(struct ath_session *session, const char *server,
                     const struct ath_net_plan *plan, struct ath_net_test *out,
                     struct ath_err *err);
