/*
 * A few threads that do the parts of one job together with whoever has it: one processor moves
 * bytes more slowly than a network or a GPU's link does.
 *
 * The threads begin with the first job, and between two jobs look for a while before they sleep
 * (look.h). They take no signals. Where there are too few of them, or they have another job, the
 * caller does what is left by itself: whatever the parts are, they must come right one after the
 * other too.
 */
#pragma once
#include <stddef.h>

enum { ATH_TEAM_MAX = 8 };

struct ath_team;

/* For jobs of so many parts (at most ATH_TEAM_MAX). NULL without memory. */
struct ath_team *ath_team_make(size_t parts);

/* Four that copy and compare, where there are processors enough and helpers are not switched off:
 * else NULL. */
struct ath_team *ath_team_make_helpers(void);

/* Waits for its threads; nobody may be in another function. NULL is fine. */
void ath_team_free(struct ath_team *team);

/* Has do_part() done once for each part, by several threads at once, and returns when all are. team
 * NULL: the caller does it alone. Any thread. */
void ath_team_do(struct ath_team *team, size_t parts, void (*do_part)(void *job, size_t part),
                 void *job);

/* As memcpy(), together where there is much. */
void ath_team_copy(struct ath_team *team, void *to, const void *from, size_t bytes);

/* Where two memories differ first: at that offset, which is a multiple of ATH_TEAM_STRIDE, begins a
 * stride with a byte that differs. bytes: they are the same. Together where there is much. */
enum { ATH_TEAM_STRIDE = 64 * 1024 };
size_t ath_team_compare(struct ath_team *team, const void *one, const void *other, size_t bytes);
