/*
 * The table of metrics: what aitherion-runtime and `aitherion metrics` tell Prometheus. The pages
 * (page.h), the documentation, the alert rules and the board for Grafana are made from it.
 *
 * Names follow Prometheus' rules (prometheus.io/docs/practices/naming): base units, and the unit as
 * the last word. Counters get "_total" behind their name in both formats.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/session/figures.h"
#include "remote/session/sessions.h"

enum ath_metric_type { ATH_METRIC_GAUGE, ATH_METRIC_COUNTER, ATH_METRIC_HISTOGRAM };

/* The subject of a metric, which decides its labels and the struct that has its value. */
enum ath_metric_scope {
    ATH_METRIC_OF_SERVER,       /* struct ath_watch_server */
    ATH_METRIC_OF_COUNTS,       /* struct ath_figures */
    ATH_METRIC_OF_REFUSALS,     /* the same, with a label for each reason */
    ATH_METRIC_OF_DEVICE,       /* struct ath_device_figures */
    ATH_METRIC_OF_THROTTLE,     /* the same, with a label for each reason */
    ATH_METRIC_OF_SESSION,      /* struct ath_watch_session_values */
    ATH_METRIC_OF_FIGURES,      /* struct ath_session_figures */
    ATH_METRIC_OF_USE,          /* struct ath_runtime_use, of a session and a device */
    ATH_METRIC_OF_CHANNELS,     /* struct ath_watch_channel_values, of a session */
    ATH_METRIC_OF_DATAGRAMS,    /* struct ath_datagram_figures */
    ATH_METRIC_OF_IDENTITY,     /* struct ath_watch_identity_values */
    ATH_METRIC_OF_IDENTITY_USE, /* the same, for each device */
    ATH_METRIC_OF_HOST,         /* struct ath_watch_host; these have no server */
    ATH_METRIC_OF_PORT,         /* struct ath_watch_port */
    ATH_METRIC_OF_COPIES,       /* struct ath_watch_copies */
    ATH_METRIC_SCOPES
};

struct ath_metric {
    const char *name; /* of the family: without "_total" */
    const char *unit; /* "bytes", the last word of the name; "": a plain number */
    const char *help; /* one English sentence without its full stop */
    enum ath_metric_type type;
    enum ath_metric_scope scope;
    size_t offset;           /* of the int64_t value in the struct of the scope */
    int64_t factor, divisor; /* that make the member's unit a base unit */
};

extern const struct ath_metric ath_metrics[];
extern const size_t ath_metric_count;

/* Reasons for lower clocks; each is a bit of struct ath_device_figures' throttle_reasons. */
struct ath_throttle_reason {
    int64_t bit;
    const char *name;
};
extern const struct ath_throttle_reason ath_throttle_reasons[];
extern const size_t ath_throttle_reason_count;

/* Returns whether the metrics of a scope are of the machine and have no labels "server" and
 * "node". */
bool ath_metric_is_of_host(enum ath_metric_scope scope);

/* The names of the labels that a metric may have beside "server" and "node", separated by ", ". */
extern const char *const ath_metric_labels[ATH_METRIC_SCOPES];

const char *ath_metric_type_word(enum ath_metric_type type);

/* The end of the names of a family's samples: "_total" of a counter, else nothing. */
const char *ath_metric_ending(const struct ath_metric *metric);
