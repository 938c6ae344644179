/* Reading limits of GPU memory. */
#include "config.h"

#include "base/memory_limit.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static int parse_percent(const char *text, size_t length, struct ath_memory_limit *out)
{
    char number[32];
    double percent;
    if (length >= sizeof number)
        return -ERANGE;
    memcpy(number, text, length);
    number[length] = '\0';
    int status = ath_parse_double(number, &percent);
    if (status)
        return status;
    if (!(percent > 0 && percent <= 100))
        return -ERANGE;
    *out = (struct ath_memory_limit){ .fraction = percent / 100 };
    return 0;
}

int ath_memory_limit_parse(const char *text, struct ath_memory_limit *out)
{
    size_t length = strlen(text);
    uint64_t bytes;
    if (!strcmp(text, "none")) {
        *out = (struct ath_memory_limit){ 0 };
        return 0;
    }
    if (length && text[length - 1] == '%')
        return parse_percent(text, length - 1, out);
    int status = ath_parse_size(text, &bytes);
    if (status)
        return status;
    if (!bytes || bytes > INT64_MAX)
        return -ERANGE;
    *out = (struct ath_memory_limit){ .bytes = (int64_t)bytes };
    return 0;
}

int64_t ath_memory_limit_bytes(const struct ath_memory_limit *limit, int64_t total_bytes)
{
    if (limit->bytes > 0)
        return limit->bytes;
    if (!(limit->fraction > 0) || total_bytes == ATH_UNKNOWN)
        return ATH_UNKNOWN;
    return limit->fraction < 1 ? (int64_t)((double)total_bytes * limit->fraction) : total_bytes;
}
