/* Reads the keys of the file by a table, and checks passwords by bcrypt. */
#include "config.h"

#include "watch/web.h"

#include <crypt.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/late.h"
#include "base/text.h"
#include "config/yaml.h"

enum { FILE_BYTES_MAX = 1 << 20, HASH_BYTES = 60 };

#define CRYPT_FUNCTIONS(F) F(crypt_r)

ATH_LATE_NOTE(crypt_note, "libcrypt.so.1", "suggested");

static struct {
    CRYPT_FUNCTIONS(ATH_LATE_MEMBER)
} library;

/* The file while it is read. */
struct source {
    const char *path, *text;
    struct ath_metrics_web *out;
    bool has_client_type, wants_client; /* client_auth_type */
};

static int refuse(const struct source *source, size_t offset, struct ath_err *err,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Reports a fault with its line. */
static int refuse(const struct source *source, size_t offset, struct ath_err *err,
                  const char *format, ...)
{
    int line = 1;
    char message[256];
    va_list arguments;
    for (size_t i = 0; i < offset; i++)
        line += source->text[i] == '\n';
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return ath_err_set(err, -EINVAL, ATH_E_WEB, "%s:%d: %s", source->path, line, message);
}

/* ---- values ---- */

/* Reads the file that a value names, relative to the folder of the source. */
static int read_file(const struct source *source, const struct ath_yaml *value, char **out,
                     struct ath_err *err)
{
    const char *slash = strrchr(source->path, '/');
    size_t length;
    ath_auto_free char *path =
        *value->text == '/' || !slash
            ? ath_xstrdup(value->text)
            : ath_xasprintf("%.*s/%s", (int)(slash - source->path), source->path, value->text);
    free(*out);
    *out = NULL;
    return ath_file_read(path, FILE_BYTES_MAX, out, &length, err);
}

static int set_certificate(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    return read_file(source, value, &source->out->certificate, err);
}

static int set_key(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    return read_file(source, value, &source->out->key, err);
}

static int set_authorities(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    return read_file(source, value, &source->out->authorities, err);
}

static int set_client_type(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    source->wants_client = !strcmp(value->text, "RequireAndVerifyClientCert");
    if (source->wants_client || !strcmp(value->text, "NoClientCert"))
        return 0;
    return refuse(source, value->begin, err,
                  _("client_auth_type can be NoClientCert or RequireAndVerifyClientCert, not '%s'"),
                  value->text);
}

static int set_version(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    source->out->needs_tls13 = !strcmp(value->text, "TLS13");
    if (source->out->needs_tls13 || !strcmp(value->text, "TLS12"))
        return 0;
    return refuse(source, value->begin, err, _("min_version can be TLS12 or TLS13, not '%s'"),
                  value->text);
}

static const struct {
    const char *name;
    int (*set)(struct source *source, const struct ath_yaml *value, struct ath_err *err);
} tls_keys[] = {
    { "cert_file", set_certificate },      { "key_file", set_key },
    { "client_ca_file", set_authorities }, { "client_auth_type", set_client_type },
    { "min_version", set_version },
};

static int check_scalar(const struct source *source, const struct ath_yaml *value,
                        struct ath_err *err)
{
    return value->kind == ATH_YAML_SCALAR && *value->text
               ? 0
               : refuse(source, value->key_begin, err, _("'%s' must be a text"), value->key);
}

static int read_tls_key(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    int status = check_scalar(source, value, err);
    for (size_t i = 0; !status && i < ATH_COUNT(tls_keys); i++)
        if (!strcmp(tls_keys[i].name, value->key))
            return tls_keys[i].set(source, value, err);
    return status ? status
                  : refuse(source, value->key_begin, err, _("tls_server_config has no key '%s'"),
                           value->key);
}

static int read_tls(struct source *source, const struct ath_yaml *mapping, struct ath_err *err)
{
    const struct ath_metrics_web *out = source->out;
    int status = 0;
    for (size_t i = 0; !status && i < mapping->child_count; i++)
        status = read_tls_key(source, &mapping->children[i], err);
    if (status)
        return status;
    if (!out->certificate || !out->key)
        return refuse(source, mapping->key_begin, err,
                      _("tls_server_config needs cert_file and key_file"));
    if (source->wants_client != (out->authorities != NULL))
        return refuse(source, mapping->key_begin, err,
                      _("client_ca_file and client_auth_type: RequireAndVerifyClientCert need each "
                        "other"));
    return 0;
}

static bool is_bcrypt(const char *hash)
{
    return strlen(hash) == HASH_BYTES && hash[0] == '$' && hash[1] == '2' &&
           strchr("aby", hash[2]) && hash[3] == '$' && hash[6] == '$';
}

static int read_users(struct source *source, const struct ath_yaml *mapping, struct ath_err *err)
{
    struct ath_metrics_web *out = source->out;
    int status = 0;
    for (size_t i = 0; !status && i < mapping->child_count; i++) {
        const struct ath_yaml *value = &mapping->children[i];
        status = check_scalar(source, value, err);
        if (!status && !is_bcrypt(value->text))
            status = refuse(source, value->key_begin, err,
                            _("the password of '%s' must be a bcrypt hash such as $2y$10$..."),
                            value->key);
        if (!status)
            *(struct ath_metrics_user *)ath_push(&out->users, &out->user_count,
                                                 sizeof *out->users) =
                (struct ath_metrics_user){ ath_xstrdup(value->key), ath_xstrdup(value->text) };
    }
    return status;
}

static const struct {
    const char *name;
    int (*read)(struct source *source, const struct ath_yaml *mapping, struct ath_err *err);
} sections[] = {
    { "tls_server_config", read_tls },
    { "basic_auth_users", read_users },
};

static int read_section(struct source *source, const struct ath_yaml *value, struct ath_err *err)
{
    for (size_t i = 0; i < ATH_COUNT(sections); i++)
        if (!strcmp(sections[i].name, value->key))
            return value->kind == ATH_YAML_MAPPING
                       ? sections[i].read(source, value, err)
                       : refuse(source, value->key_begin, err, _("'%s' must be a mapping"),
                                value->key);
    return refuse(source, value->key_begin, err, _("there is no key '%s' here"), value->key);
}

/* ---- the file ---- */

/* With users, libcrypt checks passwords. The soname differs by distribution. */
static int load_library(struct ath_err *err)
{
    static const char *const names[] = { CRYPT_FUNCTIONS(ATH_LATE_NAME) NULL };
    struct ath_err ignored;
    if (library.crypt_r || !ath_late_load("libcrypt.so.2", "libcrypt2", names, &library, &ignored))
        return 0;
    return ath_late_load("libcrypt.so.1", "libcrypt1", names, &library, err);
}

static int parse(struct source *source, size_t length, struct ath_err *err)
{
    ATH_AUTO(ath_yaml) tree = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    bool is_whole = ath_yaml_parse(source->text, length, &tree, &faults);
    int status = 0;
    if (faults.count)
        return refuse(source, faults.items[0].offset, err, "%s", faults.items[0].message);
    if (!is_whole || tree.kind != ATH_YAML_MAPPING)
        return refuse(source, 0, err, _("the file must be a mapping"));
    for (size_t i = 0; !status && i < tree.child_count; i++)
        status = read_section(source, &tree.children[i], err);
    return status;
}

int ath_metrics_web_load(const char *path, struct ath_metrics_web *out, struct ath_err *err)
{
    ATH_AUTO(ath_metrics_web) web = { 0 };
    ath_auto_free char *text = NULL;
    struct source source = { .path = path, .out = &web };
    size_t length;
    int status = ath_file_read(path, FILE_BYTES_MAX, &text, &length, err);
    source.text = text;
    if (!status)
        status = parse(&source, length, err);
    if (text)
        explicit_bzero(text, length);
    if (!status && web.user_count)
        status = load_library(err);
    if (status)
        return status;
    *out = web;
    web = (struct ath_metrics_web){ 0 };
    return 0;
}

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void ath_metrics_web_free(struct ath_metrics_web *web)
{
    wipe(web->certificate);
    wipe(web->key);
    wipe(web->authorities);
    for (size_t i = 0; i < web->user_count; i++) {
        wipe(web->users[i].name);
        wipe(web->users[i].hash);
    }
    free(web->users);
    *web = (struct ath_metrics_web){ 0 };
}

/* ---- passwords ---- */

/* Compares two hashes in a time that does not depend on where they differ. */
static bool is_equal(const char *a, const char *b)
{
    unsigned int difference = 0;
    if (strlen(a) != HASH_BYTES || strlen(b) != HASH_BYTES)
        return false;
    for (size_t i = 0; i < HASH_BYTES; i++)
        difference |= (unsigned int)((unsigned char)a[i] ^ (unsigned char)b[i]);
    return !difference;
}

bool ath_metrics_web_knows(const struct ath_metrics_web *web, const char *user,
                           const char *password)
{
    const char *hash = NULL;
    for (size_t i = 0; i < web->user_count; i++)
        if (!strcmp(web->users[i].name, user))
            hash = web->users[i].hash;
    struct crypt_data *data = ath_xalloc(sizeof *data);
    const char *made = library.crypt_r(password, hash ? hash : web->users[0].hash, data);
    bool is_known = hash && made && is_equal(made, hash);
    explicit_bzero(data, sizeof *data);
    free(data);
    return is_known;
}
