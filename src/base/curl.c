/* Loads libcurl, and sets each option with a value of its type. */
#include "config.h"

#include "base/curl.h"

#include <stdio.h>
#include <stdlib.h>

const struct ath_curl *ath_curl_load(struct ath_err *err)
{
    static const char *const names[] = { ATH_CURL_FUNCTIONS(ATH_LATE_NAME) NULL };
    static struct ath_curl curl;

    if (curl.curl_multi_poll)
        return &curl;
    if (ath_late_load("libcurl.so.4", "libcurl4", names, &curl, err))
        return NULL;
    curl.curl_global_init(CURL_GLOBAL_DEFAULT);
    return &curl;
}

/* An option's number tells its type: numbers from 0, objects from 10000, functions from 20000,
 * sizes from 30000 (curl.h: CURLOPTTYPE_*). */
static void expect(CURLoption option, int type, CURLcode result)
{
    int kind = (int)option / CURLOPTTYPE_OBJECTPOINT * CURLOPTTYPE_OBJECTPOINT;
    if (kind == type && result == CURLE_OK)
        return;
    fprintf(stderr, "aitherion: libcurl's option %d cannot be set (%d)\n", (int)option,
            (int)result);
    abort();
}

void ath_curl_set_number(const struct ath_curl *curl, CURL *easy, CURLoption option, long value)
{
    expect(option, CURLOPTTYPE_LONG, (curl->curl_easy_setopt)(easy, option, value));
}

void ath_curl_set_size(const struct ath_curl *curl, CURL *easy, CURLoption option, curl_off_t value)
{
    expect(option, CURLOPTTYPE_OFF_T, (curl->curl_easy_setopt)(easy, option, value));
}

void ath_curl_set_text(const struct ath_curl *curl, CURL *easy, CURLoption option,
                       const char *value)
{
    expect(option, CURLOPTTYPE_OBJECTPOINT, (curl->curl_easy_setopt)(easy, option, value));
}

void ath_curl_set_data(const struct ath_curl *curl, CURL *easy, CURLoption option, void *value)
{
    expect(option, CURLOPTTYPE_OBJECTPOINT, (curl->curl_easy_setopt)(easy, option, value));
}

void ath_curl_set_transfer(const struct ath_curl *curl, CURL *easy, CURLoption option,
                           size_t (*value)(char *, size_t, size_t, void *))
{
    expect(option, CURLOPTTYPE_FUNCTIONPOINT, (curl->curl_easy_setopt)(easy, option, value));
}

void ath_curl_set_opener(const struct ath_curl *curl, CURL *easy,
                         curl_socket_t (*value)(void *, curlsocktype, struct curl_sockaddr *))
{
    expect(CURLOPT_OPENSOCKETFUNCTION, CURLOPTTYPE_FUNCTIONPOINT,
           (curl->curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, value));
}

long ath_curl_number(const struct ath_curl *curl, CURL *easy, CURLINFO info)
{
    long value = 0;
    return (curl->curl_easy_getinfo)(easy, info, &value) == CURLE_OK ? value : 0;
}
