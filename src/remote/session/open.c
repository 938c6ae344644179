/* Opens a session as the environment says, with retries. */
#include "config.h"

#include "remote/session/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "remote/switches.h"

enum {
    CONNECT_TIMEOUT_S = 10,
    TRY_TIMEOUT_MS = 5000, /* of one attempt */
    PAUSE_FIRST_MS = 50,
    PAUSE_MAX_MS = 1000,
    SILENCE_MS = 1000,      /* after it a message tells what the program waits for */
    LOSS_TIMEOUT_MS = 1000, /* to learn why a session has ended */
    ANSWER_TIMEOUT_MS = 2000,
    PATH_BYTES = 4096,
};

#define MACHINE_KEY "/etc/aitherion/key"

const char *ath_client_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool ath_client_logs_calls(void)
{
    return ath_log_has(ATH_LOG_DEBUG) || ath_client_variable("AITHERION_CUDA_LOG");
}

bool ath_client_is_disabled(void)
{
    uint32_t off;
    return !ath_switches_read(getenv("AITHERION_DISABLE"), &off, NULL) &&
           off >> ATH_SWITCH_GPU & 1u;
}

void ath_client_complain(const struct ath_err *err)
{
    fprintf(stderr, "aitherion: %s%s%s%s\n", err->message, *err->hint ? " (" : "", err->hint,
            *err->hint ? ")" : "");
}

/* ---- the server ---- */

/* Switches off what AITHERION_DISABLE names, in this process. */
static int read_switches(struct ath_err *err)
{
    uint32_t off;
    int status = ath_switches_read(getenv("AITHERION_DISABLE"), &off, err);
    if (status)
        return status;
    ath_switches_off = off;
    return ath_is_off(ATH_SWITCH_GPU)
               ? ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND,
                             _("AITHERION_DISABLE says that there is no GPU"))
               : 0;
}

int ath_client_servers(struct ath_servers *out, struct ath_err *err)
{
    const char *servers = ath_client_variable("AITHERION_SERVER");
    int unread = read_switches(err);
    if (unread)
        return unread;
    if (!servers) {
        ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND,
                    _("AITHERION_SERVER does not say which server has the GPU"));
        return ath_err_hint(err, -ENODEV, "aitherion run --server HOST:PORT -- PROGRAM");
    }
    int status = ath_servers_read(servers, out, err);
    return status ? ath_err_wrap(err, status, "AITHERION_SERVER") : 0;
}

int ath_client_local_server(struct ath_servers *out, struct ath_err *err)
{
    const char *server = ath_client_variable("AITHERION_LOCAL");
    int unread = read_switches(err);
    if (unread)
        return unread;
    if (!server) {
        ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND, "%s",
                    _("AITHERION_LOCAL does not name the runtime that keeps this program's books"));
        return ath_err_hint(err, -ENODEV, "aitherion run --local");
    }
    int status = ath_servers_read(server, out, err);
    return status ? ath_err_wrap(err, status, "AITHERION_LOCAL") : 0;
}

/* The one server that AITHERION_SERVER names. */
static int find_server(struct ath_endpoint *out, struct ath_err *err)
{
    struct ath_servers servers = { .count = 0 };
    int status = ath_client_servers(&servers, err);
    if (status)
        return status;
    if (servers.count > 1) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("AITHERION_SERVER names %d servers, but this library speaks with one only"),
                    (int)servers.count);
        return ath_err_hint(err, -EINVAL,
                            _("`aitherion run` finds the one that speaks with several, in "
                              "lib/aitherion/several"));
    }
    return ath_endpoint_parse(servers.items[0], out, err);
}

int ath_client_timeout(uint64_t *out_ms, struct ath_err *err)
{
    const char *text = ath_client_variable("AITHERION_CONNECT_TIMEOUT");
    double seconds = CONNECT_TIMEOUT_S;
    if (text && (ath_parse_double(text, &seconds) || seconds < 0 || seconds > 86400))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("AITHERION_CONNECT_TIMEOUT is '%s', which is no time in seconds"),
                           text);
    *out_ms = (uint64_t)(seconds * 1000);
    return 0;
}

/* Checks AITHERION_TRANSPORT before a server is asked, so that the first caller reports a wrong
 * value. */
static int check_transport(struct ath_err *err)
{
    const char *told = ath_client_variable("AITHERION_TRANSPORT");
    if (!told || !strcmp(told, "auto") || !strcmp(told, "shm") || !strcmp(told, "tcp") ||
        !strcmp(told, "udp"))
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                       _("AITHERION_TRANSPORT is '%s'; it can be auto, shm, tcp or udp"), told);
}

/* The same for the level of messages. */
static int check_log(struct ath_err *err)
{
    enum ath_log_level unused;
    return ath_log_level_of_environment(&unused, err);
}

int ath_client_memory_limit(struct ath_memory_limit *out, struct ath_err *err)
{
    const char *told = ath_client_variable("AITHERION_MEMORY");
    const char *quota = ath_client_variable("HCS_VRAM_QUOTA");
    uint64_t bytes;
    *out = (struct ath_memory_limit){ 0 };
    if (told && ath_memory_limit_parse(told, out)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("AITHERION_MEMORY is '%s', which is no limit of GPU memory"), told);
        return ath_err_hint(err, -EINVAL, _("give a size like 512M or 4G, or a part like 25%%"));
    }
    if (told || !quota)
        return 0;
    if (ath_parse_u64(quota, 10, &bytes) || !bytes || bytes > INT64_MAX)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("HCS_VRAM_QUOTA is '%s', which is no number of bytes"), quota);
    out->bytes = (int64_t)bytes;
    return 0;
}

int ath_client_time_claim(struct ath_time_claim *out, struct ath_err *err)
{
    const char *share = ath_client_variable("AITHERION_SHARE");
    const char *priority = ath_client_variable("AITHERION_PRIORITY");
    const char *part = ath_client_variable("AITHERION_SM_SHARE");
    *out = (struct ath_time_claim){ 0 };
    if (part && ath_sm_share_parse(part, &out->sm_percent)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("AITHERION_SM_SHARE is '%s', which is no part of the multiprocessors"), part);
        return ath_err_hint(err, -EINVAL, _("give a percentage from 1 to 100, such as 25"));
    }
    if (share && ath_time_share_parse(share, out)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("AITHERION_SHARE is '%s', which is no share of the GPUs' time"), share);
        return ath_err_hint(err, -EINVAL, _("give 1 to 100, such as 25, or 25,cap"));
    }
    return priority && ath_time_priority_parse(priority, &out->priority)
               ? ath_err_set(err, -EINVAL, ATH_E_USAGE,
                             _("AITHERION_PRIORITY is '%s'; it can be high, normal or low"),
                             priority)
               : 0;
}

/* The first caller reports a wrong value, as for AITHERION_TRANSPORT. */
static int check_memory(struct ath_err *err)
{
    struct ath_memory_limit unused;
    return ath_client_memory_limit(&unused, err);
}

static int check_claim(struct ath_err *err)
{
    struct ath_time_claim unused;
    return ath_client_time_claim(&unused, err);
}

int ath_client_encryption(struct ath_encryption *out, struct ath_err *err)
{
    const char *told = ath_client_variable("AITHERION_ENCRYPT");
    out->authorities = ath_client_variable("AITHERION_TLS_CA");
    return ath_encrypt_parse(told, &out->policy)
               ? ath_err_set(err, -EINVAL, ATH_E_USAGE,
                             _("AITHERION_ENCRYPT is '%s'; it can be auto, on or off"), told)
               : 0;
}

/* ---- the key ---- */

/* The path of the user's own key, as `aitherion key` has it. */
static bool own_key(char out[PATH_BYTES])
{
    const char *base = ath_client_variable("XDG_CONFIG_HOME"), *home = ath_client_variable("HOME");
    if (base && *base == '/')
        snprintf(out, PATH_BYTES, "%s/aitherion/key", base);
    else if (home && *home == '/')
        snprintf(out, PATH_BYTES, "%s/.config/aitherion/key", home);
    else
        return false;
    return !access(out, F_OK);
}

/* Finds the key. A missing key is no error, because the server may need none. */
static int find_key(struct ath_secret *out, struct ath_err *err)
{
    const char *told = getenv("AITHERION_KEY_FILE");
    char path[PATH_BYTES];
    if (told)
        return *told ? ath_secret_load(told, out, err) : 0;
    if (own_key(path))
        return ath_secret_load(path, out, err);
    return access(MACHINE_KEY, R_OK) ? 0 : ath_secret_load(MACHINE_KEY, out, err);
}

/* ---- opening ---- */

/* Returns whether a failure may pass soon: the server does not listen yet, or has no room. */
static bool may_pass(int status)
{
    static const int passing[] = { -ECONNREFUSED, -ENOENT,     -ETIMEDOUT, -EHOSTUNREACH,
                                   -ENETUNREACH,  -ECONNRESET, -ENODATA,   -EAGAIN };
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (status == passing[i])
            return true;
    return false;
}

static void pause_for(uint64_t ms)
{
    struct timespec left = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static int try_often(const struct ath_endpoint *endpoint, const struct ath_secret *secret,
                     struct ath_encryption encryption, const struct ath_session_first *first,
                     uint64_t timeout_ms, struct ath_session *out, struct ath_err *err)
{
    uint64_t begin_ms = ath_now_ms(), end_ms = begin_ms + timeout_ms, pause_ms = PAUSE_FIRST_MS;
    for (bool is_told = false;;) {
        uint64_t now = ath_now_ms(), left = end_ms > now ? end_ms - now : 1;
        int status =
            ath_session_open(endpoint, secret, encryption, first,
                             (int)(left < TRY_TIMEOUT_MS ? left : TRY_TIMEOUT_MS), out, err);
        if (!status || !may_pass(status) || ath_now_ms() + pause_ms >= end_ms)
            return status;
        if (!is_told && ath_now_ms() - begin_ms >= SILENCE_MS) {
            ath_log(ATH_LOG_NORMAL, _("%s; trying again for %g s (AITHERION_CONNECT_TIMEOUT)"),
                    err->message, (double)timeout_ms / 1000);
            is_told = true;
        }
        pause_for(pause_ms);
        pause_ms = pause_ms < PAUSE_MAX_MS / 2 ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

static int explain(int status, const struct ath_endpoint *endpoint, struct ath_err *err)
{
    char text[ATH_ENDPOINT_TEXT];
    /* errors of connecting name the address themselves */
    if (status && err && err->code != ATH_E_PEER_UNREACHABLE)
        ath_err_wrap(err, status, _("no session with '%s'"), ath_endpoint_format(endpoint, text));
    return status == -EACCES
               ? ath_err_hint(err, status, "%s", _("name the server's key with AITHERION_KEY_FILE"))
               : status;
}

int ath_client_open(const char *server, const struct ath_session_first *first,
                    struct ath_session *out, struct ath_err *err)
{
    struct ath_endpoint endpoint;
    ATH_AUTO(ath_secret) secret = { 0 };
    uint64_t timeout_ms = 0;
    struct ath_encryption encryption = { ATH_ENCRYPT_AUTO, NULL };

    int status = read_switches(err);
    if (!status)
        status = check_transport(err);
    if (!status)
        status = check_log(err);
    if (!status)
        status = check_memory(err);
    if (!status)
        status = check_claim(err);
    if (!status)
        status = ath_client_encryption(&encryption, err);
    if (!status)
        status = server ? ath_endpoint_parse(server, &endpoint, err) : find_server(&endpoint, err);
    if (!status)
        status = ath_client_timeout(&timeout_ms, err);
    if (!status)
        status = find_key(&secret, err);
    if (status)
        return status;
    status = try_often(&endpoint, secret.length ? &secret : NULL, encryption, first, timeout_ms,
                       out, err);
    return status ? explain(status, &endpoint, err) : 0;
}

/* Opens and ends a session that asks nothing. */
static int try_once(const char *server, const struct ath_secret *secret, int timeout_ms,
                    struct ath_err *err)
{
    struct ath_endpoint endpoint;
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_encryption encryption;
    int status = server ? ath_endpoint_parse(server, &endpoint, err) : find_server(&endpoint, err);
    if (!status)
        status = ath_client_encryption(&encryption, err);
    return status ? status
                  : ath_session_open(&endpoint, secret->length ? secret : NULL, encryption, NULL,
                                     timeout_ms, &session, err);
}

bool ath_client_answers(const char *server)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_err err;
    int status = find_key(&secret, &err);
    if (!status)
        status = try_once(server, &secret, ANSWER_TIMEOUT_MS, &err);
    return !status || status == -EACCES;
}

void ath_client_explain_loss(const char *server)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_err err;
    if (!find_key(&secret, &err) && secret.length &&
        try_once(server, &secret, LOSS_TIMEOUT_MS, &err) == -EACCES)
        ath_log(ATH_LOG_NORMAL, _("the server refuses the key now: %s"), err.message);
}
