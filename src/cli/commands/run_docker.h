/*
 * `aitherion run --local --docker`: the program is docker, which begins the user's program in a
 * container with aitherion's library, the runtime's socket, the key and the limits.
 *
 * The paths inside are those of the containers of `start`: the image of the runtime has the
 * library, and the plan mounts socket and key (container/plan/runtime.c). So `docker exec` in such
 * a container needs variables only.
 */
#pragma once
#include "cli/commands/run_work.h"

extern const char *const ath_run_docker_words[]; /* of --docker, up to a NULL */

/* Makes the command line of docker from the variables and words of a report. Returns 0, or a
 * negative errno with err. */
int ath_run_docker(const struct ath_run_work *work, const struct ath_run_report *report,
                   struct ath_texts *out, struct ath_err *err);
