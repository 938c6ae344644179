/* The value of a number that is not known. An unknown text is NULL. */
#pragma once

enum { ATH_UNKNOWN = -1 };
