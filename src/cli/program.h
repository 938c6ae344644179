/*
 * Explains why a program does not find its CUDA library in the folder that `aitherion run` puts
 * into LD_LIBRARY_PATH, or does not run. The rules are those of ld.so(8) and execve(2).
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/*
 * Finds out why a program would not load aitherion's libraries: it is a 32-bit program, loads no
 * libraries, gains privileges when it starts, or names a folder that has its own libcuda.so.1. word
 * is searched for as execvp(3) does. Returns true and fills *out with message and hint for the
 * first such reason. Returns false if there is none, or if the file is not an ELF file or cannot be
 * read.
 */
bool ath_program_doubt(const char *word, struct ath_err *out);

/*
 * Explains why execvp(3) could not run word, from its error number, with a hint if one is known.
 * Fills *out. Returns true if the program exists but cannot be run, false if it was not found.
 */
bool ath_program_refused(const char *word, int error, struct ath_err *out);
