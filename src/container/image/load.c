/* Saves, loads and removes images. */
#include "config.h"

#include "container/image/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/json.h"
#include "container/docker/system.h"

/* An archive that is being sent. */
struct shipment {
    struct ath_tar_reader reader;
    int64_t total_bytes;
    const struct ath_image_watch *watch;
    bool can_stop;
};

static void report_progress(const struct ath_image_watch *watch, enum ath_image_phase phase,
                            int64_t done_bytes, int64_t total_bytes)
{
    const struct ath_image_progress progress = { phase, done_bytes, total_bytes };
    if (watch && watch->progress)
        watch->progress(watch->context, &progress);
}

static ssize_t next_piece(void *context, char *buffer, size_t size, struct ath_err *err)
{
    struct shipment *shipment = context;
    const struct ath_image_watch *watch = shipment->watch;

    if (shipment->can_stop && watch && watch->is_stopped && watch->is_stopped(watch->context))
        return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("interrupted by a signal"));
    ssize_t got = ath_tar_read(&shipment->reader, buffer, size, err);
    if (got >= 0)
        report_progress(watch, ATH_IMAGE_SENDING, shipment->reader.read_bytes,
                        shipment->total_bytes);
    return got;
}

/* ---- into a file ---- */

static int write_to_output(struct shipment *shipment, struct ath_err *err)
{
    enum { PIECE_BYTES = 256 * 1024 };
    ath_auto_free char *piece = ath_xalloc(PIECE_BYTES);
    ssize_t got;

    while ((got = next_piece(shipment, piece, PIECE_BYTES, err)) > 0) {
        int status = ath_file_write_all(STDOUT_FILENO, piece, (size_t)got);
        if (status)
            return ath_err_system(err, status, _("cannot write to standard output"));
    }
    return (int)got;
}

int ath_image_save(const struct ath_image *image, const char *path,
                   const struct ath_image_watch *watch, struct ath_err *err)
{
    struct shipment shipment = { .reader = { .tar = &image->archive },
                                 .total_bytes = image->archive_bytes,
                                 .watch = watch,
                                 .can_stop = true };
    int status = strcmp(path, "-") ? ath_file_save_stream(path, next_piece, &shipment, err)
                                   : write_to_output(&shipment, err);
    ath_tar_reader_free(&shipment.reader);
    return status;
}

/* ---- images in Docker ---- */

const char *ath_image_label(const struct ath_docker_image *image, const char *label)
{
    return json_string_value(json_object_get(image->labels, label));
}

bool ath_image_is_ours(const struct ath_docker_image *image)
{
    const json_t *created = json_object_get(image->json, "Created"); /* a text; seconds in a list */
    const char *text = json_string_value(created);
    bool is_epoch = text ? ath_starts_with(text, "1970-01-01T00:00:00")
                         : json_is_integer(created) && !json_integer_value(created);
    return is_epoch && ath_image_label(image, ATH_IMAGE_LABEL_BUILD);
}

/* *out is empty if the image does not exist. */
static int inspect(struct ath_docker *docker, const char *name, struct ath_docker_image *out,
                   struct ath_err *err)
{
    json_auto_t *json = NULL;

    *out = (struct ath_docker_image){ 0 };
    int status = ath_docker_do(docker, ath_docker_image_inspect(name), &json, err);
    if (status == -ENOENT)
        return 0;
    return status ? status : ath_docker_image_read(json, out, err);
}

/*
 * Normally the ids are equal: the digest of the configuration. containerd's image store uses the
 * digest of the manifest instead; there the label and the single layer decide. Images that are made
 * from ours inherit the label, but have more layers.
 */
static bool is_same(const struct ath_docker_image *present, const struct ath_image *image)
{
    const char *build = present->id ? ath_image_label(present, ATH_IMAGE_LABEL_BUILD) : NULL;
    const json_t *layers =
        present->json ? ath_docker_json_at(present->json, "RootFS.Layers") : NULL;
    const char *layer = json_string_value(json_array_get(layers, 0));

    if (!present->id)
        return false;
    return !strcmp(present->id, image->id) ||
           (build && !strcmp(build, image->build_id) && json_array_size(layers) == 1 && layer &&
            !strcmp(layer, image->layer_id));
}

int ath_image_is_current(struct ath_docker *docker, const struct ath_image *image,
                         bool *out_is_current, struct ath_err *err)
{
    ATH_AUTO(ath_docker_image) present;
    int status = inspect(docker, image->tag, &present, err);
    if (!status)
        *out_is_current = is_same(&present, image);
    return status;
}

int ath_image_list(struct ath_docker *docker, struct ath_docker_images *out, struct ath_err *err)
{
    json_auto_t *json = NULL;
    size_t kept = 0;

    int status = ath_docker_do(docker, ath_docker_image_list(ATH_IMAGE_LABEL_BUILD), &json, err);
    if (!status)
        status = ath_docker_images_read(json, out, err);
    for (size_t i = 0; i < out->count; i++)
        if (ath_image_is_ours(&out->items[i]))
            out->items[kept++] = out->items[i];
        else
            ath_docker_image_free(&out->items[i]);
    out->count = kept;
    return status;
}

/* ---- into Docker ---- */

static int check_architecture(struct ath_docker *docker, const struct ath_image *image,
                              struct ath_err *err)
{
    ATH_AUTO(ath_docker_facts) facts = { 0 };
    int status = ath_docker_facts_read(docker, &facts, err);

    if (status || !facts.architecture || !strcmp(facts.architecture, image->architecture))
        return status;
    ath_err_set(err, -EOPNOTSUPP, ATH_E_UNSUPPORTED,
                _("the image is for '%s', but Docker's machine is '%s'"), image->architecture,
                facts.architecture);
    return ath_err_hint(err, -EOPNOTSUPP,
                        _("write it to a file with -o FILE, and on the other machine: docker load "
                          "-i FILE"));
}

static int follow(void *context, json_t *line, struct ath_err *err)
{
    const struct shipment *shipment = context;
    struct ath_docker_progress progress;

    (void)err;
    ath_docker_progress_read(line, &progress);
    if (progress.done_bytes != ATH_UNKNOWN)
        report_progress(shipment->watch, ATH_IMAGE_UNPACKING, progress.done_bytes,
                        progress.total_bytes);
    return ATH_DOCKER_GO_ON;
}

static int send(struct ath_docker *docker, const struct ath_image *image,
                const struct ath_image_watch *watch, struct ath_err *err)
{
    struct shipment shipment = { .reader = { .tar = &image->archive },
                                 .total_bytes = image->archive_bytes,
                                 .watch = watch };
    int status = ath_docker_do(
        docker, ath_docker_image_load(next_piece, image->archive_bytes, follow, &shipment), NULL,
        err);
    ath_tar_reader_free(&shipment.reader);
    return status;
}

static int verify(struct ath_docker *docker, const struct ath_image *image, struct ath_err *err)
{
    bool is_current = false;
    int status = ath_image_is_current(docker, image, &is_current, err);
    if (status || is_current)
        return status;
    return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                       _("Docker reports that it has loaded the image, but has no image '%s'"),
                       image->tag);
}

void ath_image_drop_nameless(struct ath_docker *docker, const char *id)
{
    ATH_AUTO(ath_docker_image) now = { 0 };
    struct ath_err err;

    if (inspect(docker, id, &now, &err) || !now.id || now.names.count || !ath_image_is_ours(&now))
        return;
    if (ath_docker_do(docker, ath_docker_image_remove(id, false), NULL, &err))
        ath_log(ATH_LOG_VERBOSE, _("the old image was not removed: %s"), err.message);
}

int ath_image_load(struct ath_docker *docker, const struct ath_image *image,
                   const struct ath_image_watch *watch, struct ath_err *err)
{
    ATH_AUTO(ath_docker_image) old = { 0 };
    int status = check_architecture(docker, image, err);

    if (!status)
        status = inspect(docker, image->tag, &old, err);
    if (!status)
        status = send(docker, image, watch, err);
    if (!status)
        status = verify(docker, image, err);
    if (!status && old.id && !is_same(&old, image))
        ath_image_drop_nameless(docker, old.id);
    return status;
}

int ath_image_remove(struct ath_docker *docker, const char *name, bool is_dry_run,
                     bool *out_is_there, struct ath_err *err)
{
    ATH_AUTO(ath_docker_image) present = { 0 };
    int status = inspect(docker, name, &present, err);

    if (status)
        return status;
    if (present.id && !ath_image_is_ours(&present))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                           _("the image '%s' was not made by aitherion, and is not removed"), name);
    if (present.id && !is_dry_run)
        status = ath_docker_do(docker, ath_docker_image_remove(name, false), NULL, err);
    if (status == -EBUSY)
        ath_err_hint(err, status, "aitherion clean");
    if (!status)
        *out_is_there = present.id;
    return status;
}
