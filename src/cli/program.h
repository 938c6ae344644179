/*
 * Whether a program will look for its CUDA library where `aitherion run` says (LD_LIBRARY_PATH):
 * ld.so(8) and execve(2) tell when it does not.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/*
 * Why the program would not find our libraries, as an error with message and hint: it is of 32
 * bits, loads no library, gets other rights as it starts, or names a folder of its own that has a
 * libcuda.so.1. word is looked for as execvp(3) does. Returns true, and fills *out, for the first
 * such reason; false where there is none, or the file is no ELF file or cannot be read.
 */
bool ath_program_doubt(const char *word, struct ath_err *out);

/*
 * Why execvp(3) could not run word, by the error number that it gave, with what mends it where
 * that can be told. Fills *out and returns whether the program is there: it cannot be run then,
 * else it is not found.
 */
bool ath_program_refused(const char *word, int error, struct ath_err *out);
