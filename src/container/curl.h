/*
 * libcurl, loaded when it is needed. Private to container.
 *
 * curl_easy_setopt() takes anything: an int where a long is meant is undefined, and nobody notices
 * until it is another machine. So options are set by the functions below, which fix the type, and
 * an option's number says which type it wants (CURLOPTTYPE_*), which they check. Names that are
 * macros in the library's header are called in parentheses: (curl->curl_easy_getinfo)(...).
 */
#pragma once
#include <curl/curl.h>

#include "base/err.h"
#include "base/late.h"

#define ATH_CURL_FUNCTIONS(F)                                                                      \
    F(curl_global_init)                                                                            \
    F(curl_easy_init)                                                                              \
    F(curl_easy_cleanup)                                                                           \
    F(curl_easy_setopt)                                                                            \
    F(curl_easy_getinfo)                                                                           \
    F(curl_easy_strerror)                                                                          \
    F(curl_slist_append)                                                                           \
    F(curl_slist_free_all)                                                                         \
    F(curl_multi_init)                                                                             \
    F(curl_multi_cleanup)                                                                          \
    F(curl_multi_add_handle)                                                                       \
    F(curl_multi_remove_handle)                                                                    \
    F(curl_multi_perform)                                                                          \
    F(curl_multi_info_read)                                                                        \
    F(curl_multi_poll)

struct ath_curl {
    ATH_CURL_FUNCTIONS(ATH_LATE_MEMBER)
};

/* The library, loaded and made ready on the first call (of the main thread, before there are
 * others); NULL with err "library-missing". It stays until the end. */
const struct ath_curl *ath_curl_load(struct ath_err *err);

/* A handle's options, each of its own type; texts are copied by libcurl. A wrong type or an option
 * that the library does not know ends the program: it is a fault of ours. */
void ath_curl_set_number(const struct ath_curl *curl, CURL *easy, CURLoption option, long value);
void ath_curl_set_size(const struct ath_curl *curl, CURL *easy, CURLoption option,
                       curl_off_t value);
void ath_curl_set_text(const struct ath_curl *curl, CURL *easy, CURLoption option,
                       const char *value);
void ath_curl_set_data(const struct ath_curl *curl, CURL *easy, CURLoption option, void *value);
void ath_curl_set_transfer(const struct ath_curl *curl, CURL *easy, CURLoption option,
                           size_t (*value)(char *, size_t, size_t, void *));
void ath_curl_set_opener(const struct ath_curl *curl, CURL *easy,
                         curl_socket_t (*value)(void *, curlsocktype, struct curl_sockaddr *));

/* CURLINFO_RESPONSE_CODE, CURLINFO_OS_ERRNO and the like; 0 where it is not known. */
long ath_curl_number(const struct ath_curl *curl, CURL *easy, CURLINFO info);
