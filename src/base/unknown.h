/* What stands for a number that is not known; an unknown text is NULL. */
#pragma once

enum { ATH_UNKNOWN = -1 };
