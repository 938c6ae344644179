/* The books of this process, which the node's runtime keeps (runtime/quota/books.h). A runtime that
 * is gone gives no more memory; what it said last about a device stays true. */
#pragma once
#include "runtime/quota/books.h"

const struct ath_books *ath_local_books(bool only_counts);
