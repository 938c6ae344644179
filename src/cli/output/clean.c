/*
 * What counts as harmful: control characters (Unicode's Cc, as ECMA-48 sequences start with them),
 * line and paragraph separators, the bidirectional controls (CVE-2021-42574), the byte order mark
 * and language tags, and the noncharacters that XML 1.0 forbids.
 */
#include "config.h"

#include "cli/output/clean.h"

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

static bool is_harmless(uint32_t point)
{
    for (size_t i = 0; i < ATH_COUNT(harmful); i++)
        if (point >= harmful[i].first && point <= harmful[i].last)
            return false;
    return (point & 0xfffe) != 0xfffe;
}

/* The bytes of the character at text, or 0 where it is no well-formed UTF-8 (RFC 3629). */
static size_t decode(const unsigned char *text, uint32_t *out)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = text[0] < 0x80             ? 1
                    : (text[0] & 0xe0) == 0xc0 ? 2
                    : (text[0] & 0xf0) == 0xe0 ? 3
                    : (text[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (length < 2) {
        *out = text[0];
        return length;
    }
    uint32_t point = text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *out = point;
    return length;
}

static char *clean_utf8(const char *text)
{
    struct ath_text clean = { 0 };

    while (*text) {
        uint32_t point;
        size_t length = decode((const unsigned char *)text, &point);
        if (length && is_harmless(point))
            ath_text_add_bytes(&clean, text, length);
        else
            ath_text_add(&clean, "\xef\xbf\xbd");
        text += length ? length : 1;
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
        if (is_text && iswprint((wint_t)wide) && is_harmless((uint32_t)wide)) {
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
    return is_utf8 ? clean_utf8(text) : clean_locale(text);
}
