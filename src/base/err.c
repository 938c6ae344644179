/* Filling, wrapping and naming errors. */
#include "config.h"

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"

static const struct {
    const char *word;
    const char *meaning;
} errors[ATH_E_COUNT] = { [ATH_E_NONE] = { "none", N_("nothing went wrong") },
#define X(name, word, meaning) [ATH_E_##name] = { word, meaning },
                          ATH_ERROR_TABLE(X)
#undef X
};

int ath_err_set(struct ath_err *err, int status, enum ath_error code, const char *format, ...)
{
    if (!err)
        return status;

    va_list args;
    va_start(args, format);
    err->code = code;
    err->hint[0] = '\0';
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

static enum ath_error code_of(int status)
{
    switch (-status) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
        return ATH_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ATH_E_NO_ACCESS;
    case ENOSPC:
    case EDQUOT:
        return ATH_E_NO_SPACE;
    case EEXIST:
        return ATH_E_EXISTS;
    case EBUSY:
        return ATH_E_BUSY;
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
        return ATH_E_UNSUPPORTED;
    default:
        return ATH_E_IO;
    }
}

int ath_err_system(struct ath_err *err, int status, const char *format, ...)
{
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ath_err_set(err, status, code_of(status), "%s: %s", text, strerror(-status));
}

int ath_err_hint(struct ath_err *err, int status, const char *format, ...)
{
    if (!err)
        return status;

    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return status;
}

int ath_err_wrap(struct ath_err *err, int status, const char *format, ...)
{
    char context[sizeof err->message];
    if (!err)
        return status;

    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);

    ath_auto_free char *whole = ath_xasprintf("%s: %s", context, err->message);
    size_t length = strnlen(whole, sizeof err->message - 1);
    memcpy(err->message, whole, length);
    err->message[length] = '\0';
    return status;
}

int ath_err_append(struct ath_err *err, int status, const char *format, ...)
{
    if (!err)
        return status;

    size_t length = strlen(err->message);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message + length, sizeof err->message - length, format, args);
    va_end(args);
    return status;
}

void ath_err_copy(struct ath_err *err, const struct ath_err *other)
{
    if (err)
        *err = *other;
}

const char *ath_error_word(enum ath_error code)
{
    return code < ATH_E_COUNT ? errors[code].word : "unknown";
}

const char *ath_error_meaning(enum ath_error code)
{
    return code < ATH_E_COUNT ? errors[code].meaning : "";
}
