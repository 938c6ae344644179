/* Owned locals that release themselves, and macros that move ownership out of them. */
#pragma once
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void ath_free_p(void *pointer)
{
    free(*(void **)pointer);
}

static inline void ath_close_p(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void ath_fclose_p(FILE **file)
{
    if (*file)
        fclose(*file);
}

static inline void ath_closedir_p(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

#define ath_auto_free __attribute__((cleanup(ath_free_p)))
#define ath_auto_close __attribute__((cleanup(ath_close_p)))
#define ath_auto_fclose __attribute__((cleanup(ath_fclose_p)))
#define ath_auto_closedir __attribute__((cleanup(ath_closedir_p)))

/*
 * ATH_AUTO(ath_machine) machine = { 0 }; calls ath_machine_free(&machine) when it leaves scope. Our
 * _free functions take the address of a struct and release its contents. They accept NULL, a zeroed
 * struct and a half-built one.
 */
#define ATH_AUTO(noun) __attribute__((cleanup(noun##_free))) struct noun

/* Returns the descriptor of an owned local and sets the local to -1: *out_fd = ath_steal_fd(&fd);
 * */
static inline int ath_steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

/* Returns the value of an owned pointer and sets the pointer to NULL: return ath_steal(&text); */
#define ath_steal(pointer)                                                                         \
    ({                                                                                             \
        __typeof__(*(pointer)) ath_stolen_ = *(pointer);                                           \
        *(pointer) = NULL;                                                                         \
        ath_stolen_;                                                                               \
    })
