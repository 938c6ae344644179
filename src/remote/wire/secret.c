/* Loads keys, and makes and checks proofs. */
#include "config.h"

#include "remote/wire/secret.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/fingerprint.h"
#include "base/i18n.h"

enum { PATH_BYTES = 4096 };

/* Each label goes with its NUL byte, so no label is the start of another, and no frame looks
 * like a label. */
static const char *const labels[] = {
    [ATH_SIDE_CLIENT] = "aitherion client 1",
    [ATH_SIDE_SERVER] = "aitherion server 1",
};

/* ---- the file and the name ---- */

static int chosen_name(const char **out, struct ath_err *err)
{
    const char *name = getenv("AITHERION_KEY_NAME");
    *out = name && *name ? name : NULL;
    return !*out || ath_key_name_is_valid(*out)
               ? 0
               : ath_err_set(err, -EINVAL, ATH_E_USAGE,
                             _("'%s' is not the name of a key: 1 to %d letters, digits, '.', '-' "
                               "and '_'"),
                             *out, ATH_KEY_NAME_BYTES - 1);
}

/* Returns whether a name comes before another one in the choice among a folder's keys. */
static bool is_before(const char *name, const char *other)
{
    if (!*other || !strcmp(name, ATH_KEY_NAME_DEFAULT))
        return true;
    return strcmp(other, ATH_KEY_NAME_DEFAULT) != 0 && strcmp(name, other) < 0;
}

static int choose_in(const char *folder, char out[ATH_KEY_NAME_BYTES], struct ath_err *err)
{
    ath_auto_closedir DIR *open = opendir(folder);
    if (!open)
        return ath_err_system(err, -errno, _("cannot read the folder of keys '%s'"), folder);
    *out = '\0';
    for (const struct dirent *entry; (entry = readdir(open));)
        if (ath_key_name_is_valid(entry->d_name) && is_before(entry->d_name, out) &&
            !faccessat(dirfd(open), entry->d_name, R_OK, AT_EACCESS))
            memcpy(out, entry->d_name, strlen(entry->d_name) + 1); /* it fits: it is valid */
    if (*out)
        return 0;
    ath_err_set(err, -EACCES, ATH_E_NO_ACCESS,
                _("the folder '%s' has no key that this user may read"), folder);
    return ath_err_hint(err, -EACCES, "aitherion key add NAME --group GROUP");
}

int ath_secret_find(const char *path, char *out, size_t out_size, struct ath_err *err)
{
    char first[ATH_KEY_NAME_BYTES];
    struct stat file;
    const char *name;
    bool is_folder = !stat(path, &file) && S_ISDIR(file.st_mode);
    int status = chosen_name(&name, err);
    if (!status && is_folder && !name) {
        status = choose_in(path, first, err);
        name = first;
    }
    if (status)
        return status;
    if (snprintf(out, out_size, "%s%s%s", path, is_folder ? "/" : "", is_folder ? name : "") >=
        (int)out_size)
        return ath_err_system(err, -ENAMETOOLONG, _("cannot use the key '%s'"), path);
    if (is_folder && access(out, F_OK) && errno == ENOENT)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                           _("the folder of keys '%s' has no key '%s'"), path, name);
    return 0;
}

/* "/home/alice/.config/aitherion/key" has no name, "/etc/aitherion/key/alice" has. */
static void take_name(const char *path, char out[ATH_KEY_NAME_BYTES])
{
    const char *chosen = NULL;
    ath_auto_free char *real = realpath(path, NULL);
    const char *slash = strrchr(real ? real : path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!chosen_name(&chosen, NULL) && chosen)
        name = chosen;
    bool is_name = ath_key_name_is_valid(name) && strcmp(name, "key") != 0;
    snprintf(out, ATH_KEY_NAME_BYTES, "%.*s", ATH_KEY_NAME_BYTES - 1, is_name ? name : "");
}

int ath_secret_load(const char *path, struct ath_secret *out, struct ath_err *err)
{
    char file[PATH_BYTES];
    char *bytes = NULL;
    size_t length = 0;
    int status = ath_secret_find(path, file, sizeof file, err);
    if (status)
        return status;
    status = ath_file_read(file, ATH_SECRET_BYTES_MAX, &bytes, &length, err);
    if (status)
        return ath_err_wrap(err, status, _("cannot use the key"));
    if (!length) {
        free(bytes);
        return ath_err_set(err, -EINVAL, ATH_E_KEY_FILE, _("the key file '%s' is empty"), file);
    }
    *out = (struct ath_secret){ .bytes = (uint8_t *)bytes, .length = length };
    take_name(file, out->name);
    return 0;
}

int ath_secret_check_file(const char *path, const struct ath_secret *secret, struct ath_err *err)
{
    struct stat file;
    if (!stat(path, &file) && file.st_mode & 022) {
        ath_err_set(err, -EPERM, ATH_E_KEY_FILE,
                    _("other users may change the shared key '%s', and so choose it"), path);
        return ath_err_hint(err, -EPERM, "chmod 600 %s", path);
    }
    if (secret->length >= ATH_SECRET_BYTES_MIN)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_KEY_FILE,
                _("the shared key '%s' has %d bytes and can be guessed; %d are needed"), path,
                (int)secret->length, ATH_SECRET_BYTES_MIN);
    return ath_err_hint(err, -EINVAL, "aitherion key --new --yes");
}

void ath_secret_free(struct ath_secret *secret)
{
    if (!secret || !secret->bytes)
        return;
    explicit_bzero(secret->bytes, secret->length);
    free(secret->bytes);
    *secret = (struct ath_secret){ 0 };
}

static void add_frame(struct hmac_sha256_ctx *hmac, const struct ath_frame *frame)
{
    uint64_t length = htole64(frame->length);
    hmac_sha256_update(hmac, sizeof length, (const uint8_t *)&length);
    hmac_sha256_update(hmac, frame->length, frame->bytes);
}

void ath_secret_prove(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, uint8_t out[ATH_PROOF_BYTES])
{
    struct hmac_sha256_ctx hmac;

    hmac_sha256_set_key(&hmac, secret->length, secret->bytes);
    hmac_sha256_update(&hmac, strlen(labels[side]) + 1, (const uint8_t *)labels[side]);
    add_frame(&hmac, transcript->hello);
    add_frame(&hmac, transcript->challenge);
    if (transcript->binding)
        hmac_sha256_update(&hmac, sizeof transcript->binding->channel,
                           transcript->binding->channel);
    if (transcript->client_proof)
        hmac_sha256_update(&hmac, ATH_PROOF_BYTES, transcript->client_proof);
    hmac_sha256_digest(&hmac, ATH_PROOF_BYTES, out);
    explicit_bzero(&hmac, sizeof hmac);
}

bool ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, const uint8_t *proof, size_t length)
{
    uint8_t right[ATH_PROOF_BYTES];

    ath_secret_prove(secret, side, transcript, right);
    bool is_right = length == sizeof right && memeql_sec(right, proof, sizeof right);
    explicit_bzero(right, sizeof right);
    return is_right;
}

int ath_binding_find(struct ath_tls *tls, struct ath_binding *out)
{
    int status = ath_tls_export(tls, "EXPORTER-Channel-Binding", out->channel);
    return status ? status : ath_tls_export(tls, "EXPORTER-aitherion-ticket", out->ticket);
}

/* TLS never gets a key itself, so that nothing it does with its key can help with a proof. */
static void derive_tls_key(const uint8_t *bytes, size_t length, const char *label, uint32_t number,
                           uint8_t out[ATH_TLS_KEY_BYTES])
{
    struct hmac_sha256_ctx hmac;
    uint32_t told = htole32(number);
    hmac_sha256_set_key(&hmac, length, bytes);
    hmac_sha256_update(&hmac, strlen(label) + 1, (const uint8_t *)label);
    hmac_sha256_update(&hmac, sizeof told, (const uint8_t *)&told);
    hmac_sha256_digest(&hmac, ATH_TLS_KEY_BYTES, out);
    explicit_bzero(&hmac, sizeof hmac);
}

void ath_secret_tls_key(const struct ath_secret *secret, struct ath_tls_key *out)
{
    _Static_assert(sizeof out->identity >= sizeof secret->name, "room for each name");
    snprintf(out->identity, sizeof out->identity, "%s",
             *secret->name ? secret->name : ATH_KEY_NAME_DEFAULT);
    derive_tls_key(secret->bytes, secret->length, "aitherion tls 1", 0, out->bytes);
}

void ath_secret_trace(const struct ath_secret *secret, const char *certified, const char *address,
                      struct ath_fingerprint_value *out)
{
    static const char label[] = "aitherion trace 1";
    const char *name = certified ? certified : secret ? "" : address;
    struct hmac_sha256_ctx hmac;
    uint8_t digest[SHA256_DIGEST_SIZE];
    if (secret)
        hmac_sha256_set_key(&hmac, secret->length, secret->bytes);
    else
        hmac_sha256_set_key(&hmac, sizeof label, (const uint8_t *)label);
    hmac_sha256_update(&hmac, sizeof label, (const uint8_t *)label);
    hmac_sha256_update(&hmac, strlen(name) + 1, (const uint8_t *)name);
    hmac_sha256_digest(&hmac, sizeof digest, digest);
    memcpy(out, digest, sizeof *out);
    explicit_bzero(&hmac, sizeof hmac);
}

void ath_ticket_make(const struct ath_secret *secret, const struct ath_frame *hello,
                     const struct ath_frame *challenge, const struct ath_binding *binding,
                     struct ath_ticket *out)
{
    static const char label[] = "aitherion ticket 1";
    static const uint8_t none;
    struct hmac_sha256_ctx hmac;

    hmac_sha256_set_key(&hmac, secret->length, secret->bytes ? secret->bytes : &none);
    hmac_sha256_update(&hmac, sizeof label, (const uint8_t *)label);
    add_frame(&hmac, hello);
    add_frame(&hmac, challenge);
    if (binding)
        hmac_sha256_update(&hmac, sizeof binding->ticket, binding->ticket);
    hmac_sha256_digest(&hmac, sizeof out->bytes, out->bytes);
    explicit_bzero(&hmac, sizeof hmac);
}

void ath_ticket_prove(const struct ath_ticket *ticket, uint32_t number,
                      uint8_t out[ATH_PROOF_BYTES])
{
    struct hmac_sha256_ctx hmac;
    uint32_t told = htole32(number);

    hmac_sha256_set_key(&hmac, sizeof ticket->bytes, ticket->bytes);
    hmac_sha256_update(&hmac, sizeof told, (const uint8_t *)&told);
    hmac_sha256_digest(&hmac, ATH_PROOF_BYTES, out);
    explicit_bzero(&hmac, sizeof hmac);
}

bool ath_ticket_check(const struct ath_ticket *ticket, uint32_t number, const uint8_t *proof,
                      size_t length)
{
    uint8_t right[ATH_PROOF_BYTES];

    ath_ticket_prove(ticket, number, right);
    bool is_right = length == sizeof right && memeql_sec(right, proof, sizeof right);
    explicit_bzero(right, sizeof right);
    return is_right;
}

void ath_ticket_tls_key(const struct ath_ticket *ticket, uint32_t number, struct ath_tls_key *out)
{
    snprintf(out->identity, sizeof out->identity, "connection %u", (unsigned int)number);
    derive_tls_key(ticket->bytes, sizeof ticket->bytes, "aitherion connection tls 1", number,
                   out->bytes);
}

int ath_nonce_make(uint8_t out[ATH_NONCE_BYTES], struct ath_err *err)
{
    size_t done = 0;
    while (done < ATH_NONCE_BYTES) {
        ssize_t got = getrandom(out + done, ATH_NONCE_BYTES - done, 0);
        if (got < 0 && errno != EINTR)
            return ath_err_system(err, -errno, "%s", _("the kernel gives no random bytes"));
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}
