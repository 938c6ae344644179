/*
 * A question to a server: a function of NVML with its arguments.
 *
 * The arguments are those of the program, or a target that is never written (client.c, pose()). A
 * question points into the program's memory, so it lasts as long as the program's call.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvml/client/client.h"
#include "proto/nvml-wire.h"

/* An argument on its way to the server. */
struct ath_nvml_given {
    bool is_there, is_bytes;
    uint64_t number;
    struct ath_wire_bytes bytes;
    size_t room; /* for the result */
};

struct ath_nvml_question {
    size_t server; /* its index in AITHERION_SERVER */
    enum ath_nvml_function function;
    struct ath_nvml_given given[ATH_NVML_PARAMETERS_MAX];
};

/* Reads the arguments into the question. Returns an error for a handle of another server, a text
 * or a list that is too long, and a version of a structure that is not known. */
nvmlReturn_t ath_nvml_question_give(struct ath_nvml_question *question,
                                    const union ath_nvml_argument *arguments);

/* Writes the question into a message. */
void ath_nvml_question_put(const struct ath_nvml_question *question,
                           struct ath_nvml_call_builder to);

/* Writes the results of an answer where the arguments point. Returns the answer's status. */
nvmlReturn_t ath_nvml_question_take(const struct ath_nvml_question *question,
                                    const union ath_nvml_argument *arguments,
                                    struct ath_nvml_answer answer);

/* Copies bytes of an answer: at most `room` of them. */
void ath_nvml_take_bytes(void *to, size_t room, struct ath_wire_bytes from);
