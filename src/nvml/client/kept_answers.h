/*
 * Answers to static questions. An answer is kept until nvmlShutdown(), or until there are too many.
 *
 * Threads: the caller has client.c's lock.
 */
#pragma once
#include "nvml/client/question.h"
#include "remote/wire/frame.h"

/* Finds the answer to a question that was asked before. The answer is valid until an answer is
 * added. */
bool ath_nvml_kept_find(const struct ath_nvml_question *question, struct ath_nvml_answer *out);

/* Keeps the good answers to those of the questions that are static. frame: the message with the
 * answers of one server, in the order of the questions; it is copied. The answers are not
 * kept if memory runs out. */
void ath_nvml_kept_add(const struct ath_nvml_question *questions, uint32_t count,
                       const struct ath_frame *frame);

/* Forgets all answers. */
void ath_nvml_kept_forget(void);
