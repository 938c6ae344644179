/* Shows how `aitherion run` would start a program: its environment and its command line. */
#pragma once
#include <stddef.h>

#include "base/pci.h"
#include "cli/output/output.h"
#include "config/schema.h"

enum { ATH_RUN_VARIABLES = 14 };

/* A GPU that --gpus chose. Owns nothing. */
struct ath_run_gpu {
    size_t index; /* among all GPUs of the runtimes that the key may use */
    const char *server, *name;
    const char *uuid;       /* NULL if unknown */
    char pci[ATH_PCI_TEXT]; /* empty if unknown */
};

/* Owns its array and the lines; ath_run_choice_free() frees them. */
struct ath_run_choice {
    struct ath_run_gpu *gpus;
    size_t count;
    int64_t ring_bandwidth; /* bytes per second; ATH_UNKNOWN */
    struct ath_texts why;   /* the reasons, in words */
    char *visible;          /* the value of CUDA_VISIBLE_DEVICES */
};

void ath_run_choice_free(struct ath_run_choice *choice);

/* Owns nothing. */
struct ath_run_report {
    struct {
        const char *name, *value;
    } environment[ATH_RUN_VARIABLES]; /* added variables; the first NULL name, or the end of the
                                         array, ends the list */
    const char *const *words;         /* the program and its arguments */
    size_t word_count;
    const struct ath_run_choice *choice; /* NULL without --gpus */
};

/* The transports that a user can choose, up to a NULL. */
extern const char *const ath_run_transports[];

/* The values of --encrypt, up to a NULL. */
extern const char *const ath_run_encryptions[];

extern const struct ath_view ath_run_view; /* of a struct ath_run_report */
