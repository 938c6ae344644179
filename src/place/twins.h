/* GPUs, and blocks of GPUs, that can stand for each other in a search; for search.c alone. */
#pragma once
#include "place/search.h"

/*
 * Fills search->twins and search->before.
 *
 * Two GPUs are twins if their bandwidths to each other GPU are equal. A block is all twins of a
 * GPU. Two blocks of several GPUs are alike if exchanging them changes no bandwidth: the servers
 * of a rack, for example.
 */
void ath_twins_find(struct ath_search *search);
