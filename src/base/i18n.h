/* Messages through gettext: _() translates here and now; N_() marks a table's text, which is
 * translated where it is printed. */
#pragma once
#include <libintl.h>

#define _(text) gettext(text)
#define N_(text) text
