/*
 * Where our own data files are (translations, profiles, captures), and our other programs.
 *
 * They lie in one folder laid out the same in the build tree (BUILD/share, beside the binary) and
 * installed (PREFIX/share, beside PREFIX/bin), so that a build runs in place and an installation
 * may be moved.
 */
#pragma once

/*
 * "SHARE/name", the first that exists of: share/ beside the running binary, ../share from it, the
 * configured data folder; NULL where none has it. The caller frees it.
 */
char *ath_path_share(const char *name);

/*
 * One of our other programs ("aitherion-runtime"), the first that exists of: beside the running
 * binary (a build, or one folder for all), ../libexec/aitherion from it; NULL where there is none.
 * The caller frees it.
 */
char *ath_path_program(const char *name);

/*
 * One of our shared libraries for other programs ("libcuda.so.1", "sim/libcuda.so.1"), the first
 * that exists of: lib/aitherion beside the running binary (a build), ../lib/aitherion from it, the
 * configured library folder; NULL where there is none. The caller frees it.
 */
char *ath_path_library(const char *name);
