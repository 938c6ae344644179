/* The life of the sampler's process (gpu_sampler.h): the listening process starts it, and replaces
 * one that hangs or ends. There is at most one. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ath_listener;

/* {} is a sampler that has not been started. */
struct ath_sampler {
    pid_t pid; /* 0: none runs */
    uint64_t started_ms;
    uint64_t next_ms;      /* when another one may be started */
    unsigned int failures; /* ends in a row, soon after the start */
    bool is_killed;        /* it hung, and its end has not come yet */
    bool is_useless;       /* this host has no NVML, so none is started */
};

/* Starts the sampler if one is due, and kills one that hangs. */
void ath_sampler_look(struct ath_listener *listener);

/* Takes the end of a process. Returns false if it was not the sampler. */
bool ath_sampler_take_end(struct ath_listener *listener, pid_t pid, int status);

/* Returns how many milliseconds it may take until the next ath_sampler_look(); -1: any number. */
int ath_sampler_patience_ms(const struct ath_listener *listener);

/* Ends the sampler. */
void ath_sampler_end(const struct ath_sampler *sampler);
