/*
 * Nodes without Docker. Each has a supervisor (supervisor.h) that writes its state
 * (process_state.h) into a folder that no container gets (run_folder.h).
 */
#include "config.h"

#include "container/engine/process_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "container/engine/cgroup.h"
#include "container/engine/process_log.h"

/* Searches PATH as a shell does. Returns a path that the caller frees, or NULL. */
static char *find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *part = path; part && *part;) {
        size_t length = strcspn(part, ":");
        ath_auto_free char *file = ath_xasprintf("%.*s/%s", (int)length, part, name);
        if (length && !access(file, X_OK))
            return ath_steal(&file);
        part += length + (part[length] == ':');
    }
    return NULL;
}

static int open_process(struct ath_engine *engine, struct ath_err *err)
{
    (void)err;
    char *program = engine->options.runtime ? ath_xstrdup(engine->options.runtime)
                                            : ath_path_program(ATH_PLAN_RUNTIME);
    engine->own = program ? program : find_in_path(ATH_PLAN_RUNTIME);
    engine->where = ath_xstrdup(engine->folder);
    return 0;
}

static void close_process(struct ath_engine *engine)
{
    free(engine->own);
}

int ath_process_check_program(struct ath_engine *engine, const char *image, struct ath_err *err)
{
    const char *program = engine->own;
    (void)image;
    if (program && !access(program, X_OK))
        return 0;
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("cannot run '%s': the program does not exist"),
                program ? program : ATH_PLAN_RUNTIME);
    return ath_err_hint(err, -ENOENT, _("install all of aitherion: make install"));
}

char *ath_process_cgroup_suffix(const struct ath_engine *engine)
{
    unsigned int sum = 5381;
    if (!strcmp(engine->folder, ATH_PLAN_RUN_FOLDER))
        return ath_xstrdup("");
    for (const char *c = engine->folder; *c; c++)
        sum = sum * 33 ^ (unsigned char)*c;
    return ath_xasprintf("-%08x", sum);
}

void ath_process_remove_cgroups(const struct ath_texts *folders)
{
    for (size_t i = folders->count; i-- > 0;)
        ath_cgroup_remove(folders->items[i], NULL);
}

const struct ath_engine_ops ath_engine_process = {
    .name = "process",
    .is_process = true,
    .open = open_process,
    .close = close_process,
    .check_image = ath_process_check_program,
    .survey = ath_process_survey,
    .find_logs = ath_process_find_logs,
    .read_log = ath_process_read_log,
    .start = ath_process_start,
    .stop = ath_process_stop,
    .clean_plan = ath_process_clean_plan,
    .clean_step = ath_process_clean_step,
};
