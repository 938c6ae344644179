/*
 * Reads certificates and keys, and explains what is wrong with them.
 *
 * A server reads its files for each handshake, so that a renewed certificate counts at once, and no
 * process has the private key for longer than a handshake.
 */
#include "config.h"

#include "remote/tls/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"

enum {
    FILE_BYTES_MAX = 4 << 20, /* a machine's file of all authorities has 250 KiB */
    DAY_S = 24 * 60 * 60,
    ANY_TIME = -1
};

static void datum_free(gnutls_datum_t *datum)
{
    if (datum->data)
        explicit_bzero(datum->data, datum->size);
    free(datum->data);
}

static int read_text(const char *path, gnutls_datum_t *out, struct ath_err *err)
{
    char *bytes;
    size_t length;
    int status = ath_file_read(path, FILE_BYTES_MAX, &bytes, &length, err);
    if (status)
        return status;
    *out = (gnutls_datum_t){ (unsigned char *)bytes, (unsigned int)length };
    return 0;
}

/* ---- memory ---- */

/* GnuTLS frees some copies of a private key as they are. */
static void free_overwritten(void *memory)
{
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

static void overwrite_freed(bool is_wanted)
{
    static gnutls_free_function usual;
    if (!usual)
        usual = *ath_gnutls.gnutls_free;
    *ath_gnutls.gnutls_free = is_wanted ? free_overwritten : usual;
}

void ath_tls_certificates_free(gnutls_certificate_credentials_t certificates)
{
    if (!certificates)
        return;
    ath_gnutls.gnutls_certificate_free_credentials(certificates);
    if (*ath_gnutls.gnutls_free == free_overwritten)
        overwrite_freed(false);
}

/* ---- a server's ---- */

/* Refuses a private key that other users may read or change. */
static int check_mode(const char *path, const struct stat *file, struct ath_err *err)
{
    if (!(file->st_mode & (S_IWGRP | S_IRWXO)))
        return 0;
    ath_err_set(err, -EPERM, ATH_E_CERTIFICATE,
                _("other users may read or change the private key '%s'"), path);
    return ath_err_hint(err, -EPERM, "chmod 600 %s", path);
}

/* Reads a private key without leaving copies of it in memory, as ath_file_read() would. */
static int read_private(const char *path, gnutls_datum_t *out, struct ath_err *err)
{
    struct stat file;
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &file))
        return ath_err_system(err, -errno, _("cannot read the private key '%s'"), path);
    if (!S_ISREG(file.st_mode) || file.st_size > FILE_BYTES_MAX)
        return ath_err_set(err, -EINVAL, ATH_E_CERTIFICATE,
                           _("the private key '%s' is no file of a usual size"), path);
    int status = check_mode(path, &file, err);
    if (status)
        return status;
    out->size = (unsigned int)file.st_size;
    out->data = malloc(out->size + 1);
    if (!out->data)
        return ath_err_system(err, -ENOMEM, _("cannot read the private key '%s'"), path);
    return read(fd, out->data, out->size) == (ssize_t)out->size
               ? 0
               : ath_err_system(err, -EIO, _("cannot read the private key '%s'"), path);
}

/* Says when a certificate is valid, in the form of RFC 3339. */
static int refuse_time(const char *file, const char *text, time_t when, struct ath_err *err)
{
    char date[32];
    struct tm parts;
    gmtime_r(&when, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    ath_err_set(err, -EKEYEXPIRED, ATH_E_CERTIFICATE, text, file, date);
    return ath_err_hint(err, -EKEYEXPIRED,
                        _("renew the certificate, or correct this machine's clock"));
}

static int check_time(const char *file, gnutls_x509_crt_t certificate, int days_ahead,
                      struct ath_err *err)
{
    time_t now = time(NULL), later = now + (time_t)days_ahead * DAY_S;
    time_t begin = ath_gnutls.gnutls_x509_crt_get_activation_time(certificate);
    time_t end = ath_gnutls.gnutls_x509_crt_get_expiration_time(certificate);
    if (now > end)
        return refuse_time(file, _("the certificate '%s' was valid until %s"), end, err);
    if (now < begin)
        return refuse_time(file, _("the certificate '%s' is not valid before %s"), begin, err);
    if (later > end)
        return refuse_time(file, _("the certificate '%s' expires soon, at %s"), end, err);
    return 0;
}

/* days_ahead  the certificate must be valid now and for so many days; ANY_TIME: no matter */
static int check_certificate(const char *file, const gnutls_datum_t *text, int days_ahead,
                             struct ath_err *err)
{
    gnutls_x509_crt_t *chain = NULL;
    unsigned int count = 0;
    int code =
        ath_gnutls.gnutls_x509_crt_list_import2(&chain, &count, text, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0 || !count) {
        ath_err_set(err, -EINVAL, ATH_E_CERTIFICATE, _("'%s' holds no certificate: %s"), file,
                    ath_gnutls.gnutls_strerror(code));
        return ath_err_hint(err, -EINVAL,
                            _("name a file in PEM form, with the server's certificate first"));
    }
    int status = days_ahead == ANY_TIME ? 0 : check_time(file, chain[0], days_ahead, err);
    for (unsigned int i = 0; i < count; i++)
        ath_gnutls.gnutls_x509_crt_deinit(chain[i]);
    free(chain); /* GnuTLS allocates with malloc() */
    return status;
}

static int refuse_private(const struct ath_tls_certificate *files, int code, struct ath_err *err)
{
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
        ath_err_set(err, -EINVAL, ATH_E_CERTIFICATE,
                    _("the private key '%s' does not belong to the certificate '%s'"),
                    files->key_file, files->file);
        return ath_err_hint(err, -EINVAL,
                            _("name the key that this certificate was made for, and the server's "
                              "certificate first in its file"));
    }
    ath_err_set(err, -EINVAL, ATH_E_CERTIFICATE, _("'%s' holds no usable private key: %s"),
                files->key_file, ath_gnutls.gnutls_strerror(code));
    return ath_err_hint(err, -EINVAL, _("name a file in PEM form, with a key without a password"));
}

static int make(gnutls_certificate_credentials_t *out, struct ath_err *err)
{
    int status = ath_tls_load(err);
    if (status)
        return status;
    return ath_gnutls.gnutls_certificate_allocate_credentials(out)
               ? ath_err_system(err, -ENOMEM, "%s", _("cannot use certificates"))
               : 0;
}

static int load(const struct ath_tls_certificate *files, int days_ahead,
                gnutls_certificate_credentials_t *out, struct ath_err *err)
{
    __attribute__((cleanup(datum_free))) gnutls_datum_t certificate = { 0 }, key = { 0 };
    gnutls_certificate_credentials_t made;
    int status = ath_tls_load(err);
    if (!status)
        status = read_text(files->file, &certificate, err);
    if (!status)
        status = check_certificate(files->file, &certificate, days_ahead, err);
    if (!status)
        status = read_private(files->key_file, &key, err);
    if (!status)
        status = make(&made, err);
    if (status)
        return status;
    overwrite_freed(true);
    int code = ath_gnutls.gnutls_certificate_set_x509_key_mem2(made, &certificate, &key,
                                                               GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code < 0) {
        ath_tls_certificates_free(made);
        return refuse_private(files, code, err);
    }
    *out = made;
    return 0;
}

/* A certificate that has expired meanwhile is shown all the same: the client says what is wrong. */
int ath_tls_certificate_load(const struct ath_tls_certificate *files,
                             gnutls_certificate_credentials_t *out, struct ath_err *err)
{
    return load(files, ANY_TIME, out, err);
}

int ath_tls_certificate_check(const struct ath_tls_certificate *files, int days_ahead,
                              struct ath_err *err)
{
    gnutls_certificate_credentials_t made = NULL;
    int status = load(files, days_ahead, &made, err);
    ath_tls_certificates_free(made);
    return status;
}

/* ---- a client's ---- */

int ath_tls_authorities_load(const char *file, gnutls_certificate_credentials_t *out,
                             struct ath_err *err)
{
    __attribute__((cleanup(datum_free))) gnutls_datum_t text = { 0 };
    gnutls_certificate_credentials_t made;
    int status = read_text(file, &text, err);
    if (!status)
        status = make(&made, err);
    if (status)
        return ath_err_wrap(err, status, _("cannot check the server's certificate"));
    int code = ath_gnutls.gnutls_certificate_set_x509_trust_mem(made, &text, GNUTLS_X509_FMT_PEM);
    if (code <= 0) {
        ath_tls_certificates_free(made);
        ath_err_set(err, -EINVAL, ATH_E_CERTIFICATE,
                    _("'%s' holds no certificate that could be trusted"), file);
        return ath_err_hint(err, -EINVAL,
                            _("name a file of certificates of authorities in PEM form"));
    }
    *out = made;
    return 0;
}

/* The first reason that applies counts: the gravest comes first. */
static const struct reason {
    unsigned int status;
    const char *text; /* of the server's name */
    const char *hint; /* of the file of authorities */
} reasons[] = {
    { GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA | GNUTLS_CERT_SIGNATURE_FAILURE |
          GNUTLS_CERT_SIGNER_CONSTRAINTS_FAILURE,
      N_("no trusted authority has signed the certificate of '%s'"),
      N_("if '%s' is the wrong file, name the right one with AITHERION_TLS_CA, --tls-ca or the "
         "document's key tls_ca") },
    { GNUTLS_CERT_EXPIRED, N_("the certificate of '%s' has expired"),
      N_("renew the certificate at the server, or correct this machine's clock") },
    { GNUTLS_CERT_NOT_ACTIVATED, N_("the certificate of '%s' is not valid yet"),
      N_("correct this machine's clock, or the server's certificate") },
    { GNUTLS_CERT_UNEXPECTED_OWNER, N_("the server's certificate is not for the name '%s'"),
      N_("name the server as its certificate does, or make a certificate with this name "
         "(subjectAltName)") },
    { GNUTLS_CERT_PURPOSE_MISMATCH, N_("the certificate of '%s' is not meant for servers"),
      N_("make a certificate for servers (extendedKeyUsage serverAuth)") },
    { GNUTLS_CERT_INSECURE_ALGORITHM,
      N_("the certificate of '%s' is signed by a method that is not safe any more"),
      N_("make a certificate with SHA-256 and an RSA key of 2048 bits or more, or an ECDSA key") },
};

int ath_tls_certificate_refuse(unsigned int status, const struct ath_tls_trust *trust,
                               struct ath_err *err)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (!(status & reasons[i].status))
            continue;
        ath_err_set(err, -EKEYREJECTED, ATH_E_CERTIFICATE_REFUSED, _(reasons[i].text), trust->host);
        return ath_err_hint(err, -EKEYREJECTED, _(reasons[i].hint), trust->file);
    }
    return ath_err_set(err, -EKEYREJECTED, ATH_E_CERTIFICATE_REFUSED,
                       _("the certificate of '%s' cannot be trusted"), trust->host);
}
