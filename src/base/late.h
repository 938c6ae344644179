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
 * the process ends.
 */
#pragma once
#include <stdint.h>

#include "base/err.h"

#define ATH_LATE_MEMBER(function) __typeof__(function) *function;
#define ATH_LATE_NAME(function) #function,

/*
 * Records in the ELF file that the program loads a library late, for tools that pack the program
 * (UAPI group, "ELF Dlopen Metadata": a note of the owner "FDO"; container/linker/elf.h reads it).
 * Used at file level, beside the code that loads the library.
 *
 * id        C name of the note, unique in its file
 * priority  "required", or "suggested" if the program also works without the library
 */
#define ATH_LATE_NOTE(id, soname, priority)                                                        \
    static const struct {                                                                          \
        uint32_t owner_bytes, text_bytes, type;                                                    \
        char owner[4];                                                                             \
        char text[sizeof ATH_LATE_TEXT(soname, priority)];                                         \
    } id __attribute__((used, section(".note.dlopen"), aligned(4)))                                \
    ATH_LATE_BARE = { 4, sizeof ATH_LATE_TEXT(soname, priority), 0x407c0c0a, "FDO",                \
                      ATH_LATE_TEXT(soname, priority) }
/* AddressSanitizer would put a gap after each note, and readers would not find the next one. */
#ifdef __clang__
#define ATH_LATE_BARE __attribute__((no_sanitize("address")))
#else
#define ATH_LATE_BARE
#endif
#define ATH_LATE_TEXT(soname, priority)                                                            \
    "[{\"soname\":[\"" soname "\"],\"priority\":\"" priority "\"}]"

/*
 * Loads a library and looks up its functions.
 *
 * soname    "libexpat.so.1"
 * package   Debian's name of the library's package, for the hint
 * names     the functions, ended by NULL
 * out       array of function pointers, filled in the order of names
 * Returns 0, or -ENOENT "library-missing" with err (library or function missing).
 */
int ath_late_load(const char *soname, const char *package, const char *const *names, void *out,
                  struct ath_err *err);
