/* Releases the facts about runtimes. */
#include "config.h"

#include "health/runtimes.h"

#include <stdlib.h>

static void runtime_free(struct ath_health_runtime *runtime)
{
    free(runtime->drift);
    free(runtime->local.server);
    free(runtime->network.server);
    for (size_t i = 0; i < runtime->problem_count; i++) {
        free(runtime->problems[i].code);
        free(runtime->problems[i].object);
        free(runtime->problems[i].message);
    }
    free(runtime->problems);
}

void ath_health_runtimes_free(struct ath_health_runtimes *runtimes)
{
    if (!runtimes)
        return;
    for (size_t i = 0; i < runtimes->count; i++)
        runtime_free(&runtimes->items[i]);
    free(runtimes->items);
    free(runtimes->open_key);
    ath_plan_free(&runtimes->plan);
    ath_faults_free(&runtimes->plan_faults);
    ath_node_statuses_free(&runtimes->statuses);
    *runtimes = (struct ath_health_runtimes){ 0 };
}
