/*
 * Making strange text harmless before anybody shows it.
 *
 * A capture may hold anything: a network device called "\033[2J", a host name that is no UTF-8, a
 * model with an override that turns the line around. What would steer a terminal, hide text or
 * break JSON, YAML, XML or Graphviz is replaced by U+FFFD (by '?' without UTF-8). Every sink of
 * this folder calls this.
 */
#pragma once
#include <stdbool.h>

/*
 * A harmless copy; NULL stays NULL. With is_utf8 the result is valid UTF-8, otherwise it is
 * printable in the current locale. The caller frees it.
 */
char *ath_clean(const char *text, bool is_utf8);

/* The same in UTF-8 for text of many lines: newlines and tabs stay. */
char *ath_clean_lines(const char *text);
