/* Messages through gettext: _() translates here and now, N_() marks a table's text for whoever
 * prints it. */
#pragma once
#include <libintl.h>

#define _(text) gettext(text)
#define N_(text) text
