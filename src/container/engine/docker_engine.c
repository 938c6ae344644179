/*
 * The Docker engine: its connection to a daemon, and the logs of its nodes. docker_survey.c,
 * docker_start.c and docker_end.c have the rest.
 */
#include "config.h"

#include "container/engine/docker_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "container/docker/image.h"
#include "container/docker/system.h"
#include "container/engine/process_facts.h"
#include "container/image/load.h"

/* ---- opening ---- */

static void close_docker(struct ath_engine *engine)
{
    struct ath_docker_engine *own = engine->own;
    if (!own)
        return;
    ath_docker_close(own->docker);
    ath_docker_host_free(&own->host);
    free(own);
}

/* Returns true for root without CAP_SYS_RESOURCE (bit 24 of linux/capability.h): aitherion runs in
 * a container, and so does a daemon that it reaches by a socket. Neither may raise limits. */
static bool is_limited(const struct ath_docker_engine *own)
{
    enum { CAP_RESOURCE = 24 };
    ATH_AUTO(ath_process) self = { 0 };
    return own->is_local && geteuid() == 0 && !ath_process_read(getpid(), &self) &&
           !(self.capabilities >> CAP_RESOURCE & 1);
}

static int read_abilities(struct ath_engine *engine, struct ath_docker *docker, struct ath_err *err)
{
    ATH_AUTO(ath_docker_facts) facts = { 0 };
    int status = ath_docker_facts_read(docker, &facts, err);
    if (status)
        return status;
    engine->abilities = (struct ath_plan_engine){
        .has_nvidia_runtime = facts.has_nvidia_runtime,
        .has_cdi = facts.has_cdi == 1,
        .has_bridge = facts.has_bridge,
        .limits_logs = facts.log_driver && (!strcmp(facts.log_driver, "json-file") ||
                                            !strcmp(facts.log_driver, "local")),
        .is_rootless = facts.is_rootless,
        .is_limited = is_limited(engine->own),
    };
    return 0;
}

static int open_docker(struct ath_engine *engine, struct ath_err *err)
{
    const struct ath_engine_options *options = &engine->options;
    const struct ath_docker_stop stop = { options->is_stopped, options->context };
    struct ath_docker_engine *own = ath_xalloc(sizeof *own);

    engine->own = own;
    int status =
        ath_docker_host_find(options->docker_host, options->document_docker_host, &own->host, err);
    if (!status)
        status = ath_docker_open(&own->host, &stop, 0, &own->docker, err);
    if (status)
        return status;
    engine->where = ath_xstrdup(own->host.text);
    own->is_local = own->host.socket != NULL;
    return read_abilities(engine, own->docker, err);
}

struct ath_docker *ath_docker_of(const struct ath_engine *engine)
{
    const struct ath_docker_engine *own = engine->own;
    return own->docker;
}

static int check_image(struct ath_engine *engine, const char *image, struct ath_err *err)
{
    int status = ath_docker_do(ath_docker_of(engine), ath_docker_image_inspect(image), NULL, err);
    return status == -ENOENT ? ath_image_missing(image, err) : status;
}

/* ---- logs ---- */

static int find_logs(struct ath_engine *engine, struct ath_node_logs *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    int status = ath_docker_present_read(ath_docker_of(engine), &present, err);

    for (size_t i = 0; !status && i < present.ours.count; i++) {
        const struct ath_docker_container *container = &present.ours.items[i];
        int id = ath_docker_container_node(container);
        if (id != ATH_UNKNOWN &&
            container == ath_docker_present_find(&present, id, ATH_DOCKER_RUNTIME))
            ath_node_log_add(out, id, engine->ops->name, container->name, container->id);
    }
    return status;
}

struct log_reader {
    ath_log_output *output;
    void *context;
};

static int pass_on(void *context, enum ath_docker_stream stream, const char *bytes, size_t length,
                   struct ath_err *err)
{
    const struct log_reader *reader = context;
    (void)stream;
    (void)err;
    reader->output(reader->context, bytes, length);
    return ATH_DOCKER_GO_ON;
}

static int read_log(struct ath_engine *engine, const struct ath_node_log *log,
                    const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                    struct ath_err *err)
{
    struct log_reader reader = { output, context };
    const struct ath_docker_logs logs = { .follow = wanted->is_followed,
                                          .tail = wanted->lines,
                                          .since_s = wanted->since_s };
    return ath_docker_do(ath_docker_of(engine),
                         ath_docker_container_logs(log->place, &logs, pass_on, &reader), NULL, err);
}

const struct ath_engine_ops ath_engine_docker = {
    .name = "docker",
    .open = open_docker,
    .close = close_docker,
    .check_image = check_image,
    .survey = ath_docker_survey,
    .find_logs = find_logs,
    .read_log = read_log,
    .start = ath_docker_start,
    .stop = ath_docker_stop,
    .clean_plan = ath_docker_clean_plan,
    .clean_step = ath_docker_clean_step,
};
