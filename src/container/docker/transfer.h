/* One request while it is sent: its libcurl handle, the answer so far, and the result. Private to
 * container. */
#pragma once
#include <stdint.h>

#include "base/curl.h"
#include "base/text.h"
#include "container/docker/docker.h"

enum { ATH_DOCKER_API_TEXT = 16 };

struct ath_docker_transfer {
    struct ath_docker_transfer *next; /* in its batch */
    struct ath_docker_request *request;
    ath_docker_done *done; /* NULL for none */
    void *context;
    uint64_t due_ms; /* when to send, by ath_now_ms() */

    const struct ath_curl *curl; /* from here on: set by ath_docker_transfer_begin() */
    const struct ath_docker_host *host;
    CURL *easy;
    struct curl_slist *headers;
    char *body; /* the JSON to send */
    char curl_words[CURL_ERROR_SIZE];
    int64_t uploaded_bytes;

    size_t header_bytes;
    bool has_headers;              /* the blank line after the headers has come */
    char api[ATH_DOCKER_API_TEXT]; /* the highest version that the daemon knows */
    struct ath_text answer;        /* the whole answer, or the beginning of an error's body */
    struct ath_docker_lines lines;
    struct ath_docker_frames frames;

    int status; /* of a callback that ended the transfer, with err */
    bool is_enough;
    struct ath_err err;
};

/* Takes the request over. context is passed to done. */
struct ath_docker_transfer *ath_docker_transfer_new(struct ath_docker_request *request,
                                                    ath_docker_done *done, void *context);
void ath_docker_transfer_free(struct ath_docker_transfer *transfer); /* in no multi handle */

/* Makes the libcurl handle for the API version api; curl and host must outlive the transfer. */
void ath_docker_transfer_begin(struct ath_docker_transfer *transfer, const struct ath_curl *curl,
                               const struct ath_docker_host *host, const char *api);

/* Sets *out, which points into the transfer; the caller drops json. */
void ath_docker_transfer_end(struct ath_docker_transfer *transfer, CURLcode code,
                             struct ath_docker_answer *out);
