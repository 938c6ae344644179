/*
 * A few threads that do the parts of a job together with the caller, because one processor moves
 * bytes more slowly than a network or a GPU's link.
 *
 * The threads start with the first job. Between two jobs they poll for a while before they sleep
 * (poll_briefly.h). They take no signals. If there are too few threads, or they are busy with
 * another job, the caller does the remaining parts itself. So the parts must also be right when
 * they run one after the other.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { ATH_TEAM_MAX = 10 };

struct ath_team;

/* Makes a team for jobs of up to this many parts (at most ATH_TEAM_MAX). Returns NULL if
 * memory runs out. */
struct ath_team *ath_team_make(size_t parts);

/* Makes a team of four that copies and compares. Returns NULL if there are too few processors or
 * helpers are switched off. */
struct ath_team *ath_team_make_helpers(void);

/* Waits for the threads and frees the team. No thread may be in another function. NULL is
 * allowed. */
void ath_team_free(struct ath_team *team);

/* Calls do_part() once for each part, in several threads at the same time, and returns when all
 * parts are done. With team NULL the caller does all parts. Any thread. */
void ath_team_do(struct ath_team *team, size_t parts, void (*do_part)(void *job, size_t part),
                 void *job);

/* Calls do_share() for shares of 0..bytes that do not overlap. All begin at multiples of
 * ATH_TEAM_STRIDE. A large memory has several shares, each in a thread of its own; a small one has
 * one share. Returns when all are done. Any thread. */
enum { ATH_TEAM_STRIDE = 64 * 1024 };
void ath_team_divide(struct ath_team *team, size_t bytes,
                     void (*do_share)(void *job, size_t begin, size_t end), void *job);

/* The same, but the other threads do all shares while the caller goes on. The caller must call
 * ath_team_finish(), which waits for them; job must last until then. Returns false if nothing was
 * begun: there are no other threads, they are busy, or the memory is small. */
bool ath_team_begin(struct ath_team *team, size_t bytes,
                    void (*do_share)(void *job, size_t begin, size_t end), void *job);
void ath_team_finish(struct ath_team *team);

/* As memcpy(); large copies are done by the team. */
void ath_team_copy(struct ath_team *team, void *to, const void *from, size_t bytes);

/* Finds the first difference of two memories. Returns the offset, a multiple of ATH_TEAM_STRIDE,
 * of the first stride with a byte that differs; bytes if there is none. Large memories are compared
 * by the team. */
size_t ath_team_compare(struct ath_team *team, const void *one, const void *other, size_t bytes);
