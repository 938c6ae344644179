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
#include <stdint.h>

#include "base/err.h"

#define ATH_LATE_MEMBER(function) __typeof__(function) *function;
#define ATH_LATE_NAME(function) #function,

/*
 * Says in the program's own file that it loads a library late, for whoever packs it (UAPI group,
 * "ELF Dlopen Metadata": a note of the owner "FDO"; container/elf.h reads it). At file level,
 * beside what loads the library.
 *
 * id        names the note among those of this file
 * priority  "required", or "suggested" for what the program does without
 */
#define ATH_LATE_NOTE(id, soname, priority)                                                        \
    static const struct {                                                                          \
        uint32_t owner_bytes, text_bytes, type;                                                    \
        char owner[4];                                                                             \
        char text[sizeof ATH_LATE_TEXT(soname, priority)];                                         \
    } id __attribute__((used, section(".note.dlopen"), aligned(4)))                                \
    ATH_LATE_BARE = { 4, sizeof ATH_LATE_TEXT(soname, priority), 0x407c0c0a, "FDO",                \
                      ATH_LATE_TEXT(soname, priority) }
/* A sanitizer would put a gap behind each, and readers find no second one. */
#ifdef __clang__
#define ATH_LATE_BARE __attribute__((no_sanitize("address")))
#else
#define ATH_LATE_BARE
#endif
#define ATH_LATE_TEXT(soname, priority)                                                            \
    "[{\"soname\":[\"" soname "\"],\"priority\":\"" priority "\"}]"

/*
 * soname    "libexpat.so.1"
 * package   Debian's name of the package that has it, for the hint
 * names     the functions, ended by NULL
 * out       array of as many function pointers, filled in the order of names
 * Returns 0, or -ENOENT "library-missing" with err (library or function missing).
 */
int ath_late_load(const char *soname, const char *package, const char *const *names, void *out,
                  struct ath_err *err);
