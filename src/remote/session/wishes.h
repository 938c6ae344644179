/* The memory and time of the GPUs that a program asks for in its first question, and the variables
 * that it passes on, as the environment says (open.h). */
#pragma once
#include "base/err.h"
#include "proto/control.h"

/* Returns 0, or -EINVAL "usage" with err. */
int ath_wishes_put(struct ath_control_open_channel_builder to, struct ath_err *err);

/* Puts those of these variables that are set. */
void ath_wishes_put_environment(struct ath_control_open_channel_builder to,
                                const char *const *names, size_t count);
