/*
 * libcurl, loaded on first use.
 *
 * curl_easy_setopt() accepts any argument. An int instead of a long is undefined, and fails only on
 * some machines. The functions below fix the type, and check it against the option's number
 * (CURLOPTTYPE_*). Names that are macros in the library's header are called in parentheses:
 * (curl->curl_easy_getinfo)(...).
 */
#pragma once
#include <curl/curl.h>

#include "base/err.h"
#include "base/late.h"

#define ATH_CURL_FUNCTIONS(F)                                                                      \
    F(curl_global_init)                                                                            \
    F(curl_easy_init)                                                                              \
    F(curl_easy_cleanup)                                                                           \
    F(curl_easy_reset)                                                                             \
    F(curl_easy_perform)                                                                           \
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

/* Returns the library, or NULL with err "library-missing". The first call loads and initialises
 * it, and must come from the main thread before other threads exist. It is never unloaded. */
const struct ath_curl *ath_curl_load(struct ath_err *err);

/* Set an option of a handle; libcurl copies texts. A wrong type or an option that the library does
 * not know is a bug of ours and ends the program. */
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

/* Returns CURLINFO_RESPONSE_CODE, CURLINFO_OS_ERRNO and the like, or 0 if unknown. */
long ath_curl_number(const struct ath_curl *curl, CURL *easy, CURLINFO info);
