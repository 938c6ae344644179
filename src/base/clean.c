/*
 * Harmful characters: control characters (Unicode's Cc: ECMA-48 sequences start with them), line
 * and paragraph separators, the bidirectional controls (CVE-2021-42574), the byte order mark and
 * language tags, and the noncharacters that XML 1.0 forbids.
 */
#include "config.h"

#include "base/clean.h"

#include <langinfo.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/alloc.h"
#include "base/text.h"

static const struct {
    uint32_t first, last;
} harmful[] = {
    { 0x0000, 0x001f }, { 0x007f, 0x009f },   { 0x061c, 0x061c }, { 0x200e, 0x200f },
    { 0x2028, 0x202e }, { 0x2066, 0x2069 },   { 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff },
    { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

bool ath_is_harmless(uint32_t point)
{
    for (size_t i = 0; i < ATH_COUNT(harmful); i++)
        if (point >= harmful[i].first && point <= harmful[i].last)
            return false;
    return (point & 0xfffe) != 0xfffe;
}

bool ath_locale_is_utf8(void)
{
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* kept: control characters that are not replaced. */
static char *clean_utf8(const char *text, const char *kept)
{
    struct ath_text clean = { 0 };

    for (size_t left = strlen(text), step; left; text += step, left -= step) {
        uint32_t point;
        size_t length = ath_utf8_decode(text, left, &point);
        step = length ? length : 1;
        if (length && (ath_is_harmless(point) || strchr(kept, *text)))
            ath_text_add_bytes(&clean, text, length);
        else
            ath_text_add(&clean, "\xef\xbf\xbd");
    }
    return ath_text_take(&clean);
}

static char *clean_locale(const char *text)
{
    struct ath_text clean = { 0 };
    mbstate_t state = { 0 };

    for (const char *end = text + strlen(text); text < end;) {
        wchar_t wide;
        size_t length = mbrtowc(&wide, text, (size_t)(end - text), &state);
        bool is_text = length > 0 && length <= (size_t)(end - text);
        if (is_text && iswprint((wint_t)wide) && ath_is_harmless((uint32_t)wide)) {
            ath_text_add_bytes(&clean, text, length);
        } else {
            ath_text_add(&clean, "?");
            memset(&state, 0, sizeof state);
        }
        text += is_text ? length : 1;
    }
    return ath_text_take(&clean);
}

char *ath_clean(const char *text, bool is_utf8)
{
    if (!text)
        return NULL;
    return is_utf8 ? clean_utf8(text, "") : clean_locale(text);
}

char *ath_clean_lines(const char *text)
{
    return text ? clean_utf8(text, "\n\t") : NULL;
}
