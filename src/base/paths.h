/*
 * Paths of our own data files (translations, profiles, captures), programs and libraries.
 *
 * The data folder has the same layout in the build tree (BUILD/share, beside the binary) and
 * installed (PREFIX/share, beside PREFIX/bin). A build therefore runs in place, and an installation
 * can be moved.
 */
#pragma once

/*
 * Returns the path of a data file, the first that exists of: share/ beside the running binary,
 * ../share from it, the configured data folder. Returns NULL if none of them has it. The caller
 * frees it.
 */
char *ath_path_share(const char *name);

/*
 * Returns the path of one of our other programs ("aitherion-runtime"), the first that exists of:
 * beside the running binary (a build, or an installation in one folder), ../libexec/aitherion from
 * it. Returns NULL if neither has it. The caller frees it.
 */
char *ath_path_program(const char *name);

/*
 * Returns the path of a shared library that we provide to other programs ("libcuda.so.1",
 * "sim/libcuda.so.1"), the first that exists of: lib/aitherion beside the running binary (a build),
 * ../lib/aitherion from it, the configured library folder. Returns NULL if none of them has it. The
 * caller frees it.
 */
char *ath_path_library(const char *name);
