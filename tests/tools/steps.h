/* Functions of the programs that tests drive by words: JSON on standard output, and SIGINT. */
#pragma once
#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"

static volatile sig_atomic_t stop_signal;

/* A handler of signals. */
static inline void note_signal(int number)
{
    stop_signal = number;
}

/* Whether a signal came. */
static inline bool is_stopped(void *context)
{
    (void)context;
    return stop_signal != 0;
}

/* Prints JSON as a line, and releases it. */
static inline void print(json_t *json)
{
    ath_auto_free char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    printf("%s\n", text ? text : "no JSON");
    fflush(stdout);
    json_decref(json);
}

/* An error as JSON. The caller releases it. */
static inline json_t *failure(int status, const struct ath_err *err)
{
    return json_pack("{s:s, s:i, s:s, s:s}", "error", ath_error_word(err->code), "status", status,
                     "message", err->message, "hint", err->hint);
}
