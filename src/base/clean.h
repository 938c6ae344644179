/*
 * Makes foreign text harmless before it is shown.
 *
 * A capture may hold anything: a network device called "\033[2J", a host name that is not UTF-8, a
 * model with an override that reverses the line. Characters that would control a terminal, hide
 * text or break JSON, YAML, XML or Graphviz are replaced by U+FFFD (by '?' without UTF-8). All
 * outputs and logs clean their texts with these functions, and the texts of a peer are cleaned when
 * they arrive.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Returns whether a character has none of these effects. */
bool ath_is_harmless(uint32_t point);

/* Returns whether the current locale is UTF-8. */
bool ath_locale_is_utf8(void);

/*
 * Returns a harmless copy, which the caller frees; NULL for NULL. With is_utf8 the copy is valid
 * UTF-8, otherwise it is printable in the current locale.
 */
char *ath_clean(const char *text, bool is_utf8);

/* The same as UTF-8 for text of several lines: newlines and tabs are kept. */
char *ath_clean_lines(const char *text);
