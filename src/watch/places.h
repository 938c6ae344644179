/*
 * The places of a server of metrics: how many connections it has at once, in all and from one
 * source (remote/wire/source.h). Safe for threads.
 */
#pragma once

enum { ATH_METRICS_PLACES = 16, ATH_METRICS_PLACES_OF_SOURCE = 4 };

/* Never freed: a server of metrics lives as long as its process. */
struct ath_metrics_places;
struct ath_metrics_places *ath_metrics_places_make(void);

/* Takes a place for an accepted connection. Returns its number, or -1 if all places are taken or
 * the source has enough. */
int ath_metrics_places_take(struct ath_metrics_places *places, int fd);

void ath_metrics_places_give(struct ath_metrics_places *places, int number);
