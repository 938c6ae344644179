/* Functions that the checks of runtimes share: check_runtime.c, check_answers.c, check_limits.c,
 * check_plan.c and check_engine.c. Private to health. */
#pragma once
#include "health/check.h"

/* Looks at one runtime. */
typedef void ath_health_look_runtime(struct ath_health *health,
                                     const struct ath_health_runtime *runtime);

bool ath_health_is_running(const struct ath_health_runtime *runtime);

/* True if the runtime has failed. After it answers again, Docker calls it unhealthy until Docker's
 * own next check, which takes longer on a busy machine. */
bool ath_health_has_failed(const struct ath_health_runtime *runtime);

/* Looks at every running runtime, except those of another document: only that document says how
 * they should run. Returns true if there is at least one. */
bool ath_health_each_running(struct ath_health *health, ath_health_look_runtime *look);

/* Returns "NUMA0". The caller frees it. */
char *ath_health_runtime_name(const struct ath_health_runtime *runtime);

/* Hints at a command (start, restart, clean) that restarts or ends the runtime, and at the number
 * of programs that would end. */
void ath_health_hint_command(struct ath_health_finding *finding, const char *command,
                             const struct ath_health_runtime *runtime);

/* Sets the hint of an error, if the error has one. */
void ath_health_hint_err(struct ath_health_finding *finding, const struct ath_err *err);
