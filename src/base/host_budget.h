/*
 * The memory and threads of the host that this process may use. Code that serves a client reserves
 * memory or a thread here before it uses it, and returns it afterwards. In a process without a
 * budget, such as a program, every reservation succeeds. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum ath_host_kind {
    ATH_HOST_BYTES, /* of memory, also of a client's that is mapped here */
    ATH_HOST_THREADS,
    ATH_HOST_KINDS
};

struct ath_host_budget {
    bool (*take)(void *context, enum ath_host_kind kind, int64_t amount);
    void (*give)(void *context, enum ath_host_kind kind, int64_t amount);
    void *context;
};

/* Sets the budget, before other threads exist. It must outlive them. */
void ath_host_budget_set(const struct ath_host_budget *budget);

/* Takes an amount. Returns false if there is not so much left. */
bool ath_host_take(enum ath_host_kind kind, uint64_t amount);

/* Gives back what was taken. */
void ath_host_give(enum ath_host_kind kind, uint64_t amount);
