/*
 * Calls to the API server, as an ops table: the program has api_curl.h, tests answer with
 * recorded bodies.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* A line of a streamed answer, without its end. Another value than 0 ends the call. */
typedef int ath_kube_line(void *context, const char *line, size_t length);

struct ath_kube_call {
    const char *method, *path; /* the path with its query */
    const char *body;          /* JSON; NULL: none */
    const char *body_type;     /* of its content; NULL: application/json */
    size_t answer_max;         /* bytes of the body, or of one line */
    int timeout_ms;            /* of the whole call */
    ath_kube_line *on_line; /* NULL: the body is kept. Else lines go there if the status is 200 */
    bool (*is_over)(void *context); /* asked many times a second; true ends the call. NULL: no */
    void *context;                  /* of both */
};

struct ath_kube_reply {
    long status;       /* of HTTP */
    int retry_after_s; /* 0: the server does not say */
    struct ath_text body;
};

void ath_kube_reply_free(struct ath_kube_reply *reply);

struct ath_kube_api {
    /* Returns 0 if an answer of HTTP came, whatever its status, or if on_line or is_over ended the
     * call; else a negative errno with err. *out is empty before; the caller frees it in any case.
     * Any thread. */
    int (*call)(void *self, const struct ath_kube_call *call, struct ath_kube_reply *out,
                struct ath_err *err);
    void *self;
};

/* Returns the message in a body of kind Status, cut to a line, or "HTTP 500". The caller frees
 * it. */
char *ath_kube_reply_message(const struct ath_kube_reply *reply);

/* Adds a text with %XX for each byte that is no letter, digit, '-', '.', '_' or '~'. */
void ath_kube_add_escaped(struct ath_text *url, const char *text);
