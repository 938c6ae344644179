/* One request on its way: its handle of libcurl, what has come back, what became of it. Private to
 * container. */
#pragma once
#include <stdint.h>

#include "base/text.h"
#include "container/curl.h"
#include "container/docker.h"

enum { ATH_DOCKER_API_TEXT = 16 };

struct ath_docker_transfer {
    struct ath_docker_transfer *next; /* in its batch */
    struct ath_docker_request *request;
    ath_docker_done *done; /* NULL for none */
    void *context;
    uint64_t due_ms; /* when to send, by ath_now_ms() */

    const struct ath_curl *curl; /* from here on: of one that was begun */
    const struct ath_docker_host *host;
    CURL *easy;
    struct curl_slist *headers;
    char *body; /* the JSON that is sent */
    char curl_words[CURL_ERROR_SIZE];
    int64_t uploaded_bytes;

    size_t header_bytes;
    bool has_headers;              /* all of them: the blank line has come */
    char api[ATH_DOCKER_API_TEXT]; /* what the daemon says it knows */
    struct ath_text answer;        /* the whole of it, or of an error's message */
    struct ath_docker_lines lines;
    struct ath_docker_frames frames;

    int status; /* why one of our callbacks ended it, with err */
    bool is_enough;
    struct ath_err err;
};

/* Takes the request over. */
struct ath_docker_transfer *ath_docker_transfer_new(struct ath_docker_request *request,
                                                    ath_docker_done *done, void *context);
void ath_docker_transfer_free(struct ath_docker_transfer *transfer); /* of no multi handle */

/* Makes the handle, for the version api; libcurl and host outlive it. */
void ath_docker_transfer_begin(struct ath_docker_transfer *transfer, const struct ath_curl *curl,
                               const struct ath_docker_host *host, const char *api);

/* What became of it. *out points into the transfer but for json, which the caller drops. */
void ath_docker_transfer_end(struct ath_docker_transfer *transfer, CURLcode code,
                             struct ath_docker_answer *out);
