/* Reads JSON of requests within bounds. A few bytes of JSON, as "{},", need a hundred bytes of
 * memory, so that the length of a body bounds the memory badly. */
#pragma once
#include <jansson.h>
#include <stddef.h>

struct ath_kube_json {
    json_t *value;
    size_t taken; /* of the memory for the JSON of all requests */
};
void ath_kube_json_free(struct ath_kube_json *json);

/* Sets the bound for the process. Called once, before other threads use jansson. */
void ath_kube_json_limit(void);

/* Reads a text into out, which the caller frees. Returns 0, -EBADMSG if it is no JSON, or -EAGAIN
 * if the JSON of all requests has no memory left. Any thread. */
int ath_kube_json_read(const char *text, size_t length, struct ath_kube_json *out);
