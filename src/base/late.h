/*
 * Shared libraries that only some commands need, loaded when those commands run.
 *
 * `aitherion --version` must not pay for hwloc. A module lists the functions it uses once:
 *
 *     #define EXPAT_FUNCTIONS(F) F(XML_ParserCreate) F(XML_Parse) ...
 *     struct expat { EXPAT_FUNCTIONS(ATH_LATE_MEMBER) };
 *     static const char *const expat_names[] = { EXPAT_FUNCTIONS(ATH_LATE_NAME) NULL };
 *
 * and calls expat->XML_Parse(...), typed by the library's own header. Libraries stay loaded until
 * the end.
 */
#pragma once
#include "base/err.h"

#define ATH_LATE_MEMBER(function) __typeof__(function) *function;
#define ATH_LATE_NAME(function) #function,

/*
 * soname    "libexpat.so.1"
 * package   Debian's name of the package that has it, for the hint
 * names     the functions, ended by NULL
 * out       array of as many function pointers, filled in the order of names
 * Returns 0, or -ENOENT "library-missing" with err (library or function missing).
 */
int ath_late_load(const char *soname, const char *package, const char *const *names, void *out,
                  struct ath_err *err);
