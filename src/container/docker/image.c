/* Requests about images (Engine API, "Images") and their answers. */
#include "config.h"

#include "container/docker/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/json.h"

enum { LOAD_IDLE_MS = 300 * 1000, REMOVE_TIMEOUT_MS = 300 * 1000 };

/* ---- requests ---- */

struct ath_docker_request *ath_docker_image_load(ath_docker_upload *upload, int64_t upload_bytes,
                                                 ath_docker_on_json *on_json, void *context)
{
    struct ath_docker_request *request =
        ath_docker_request_new("POST", ATH_DOCKER_PROGRESS, _("cannot load the image into Docker"));
    ath_docker_path(request, "/images/load", "", "");
    ath_docker_query(request, "quiet", "0");
    request->upload = upload;
    request->upload_bytes = upload_bytes;
    request->on_json = on_json;
    request->context = context;
    request->timeout_ms = 0;
    request->idle_timeout_ms = LOAD_IDLE_MS;
    return request;
}

struct ath_docker_request *ath_docker_image_inspect(const char *image)
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_OBJECT, _("cannot inspect the image '%s'"), image);
    ath_docker_path_image(request, "/images/", image, "/json");
    return request;
}

struct ath_docker_request *ath_docker_image_list(const char *label)
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_ARRAY, _("cannot list Docker's images"));
    ath_docker_path(request, "/images/json", "", "");
    ath_docker_query_filters(request, ath_docker_filter_label(label));
    return request;
}

struct ath_docker_request *ath_docker_image_tag(const char *image, const char *name)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_NOTHING, _("cannot give the image '%s' the name '%s'"), image, name);
    /* The tag follows the last colon, unless that colon precedes a registry's port. */
    const char *colon = strrchr(name, ':');
    size_t length = colon && !strchr(colon, '/') ? (size_t)(colon - name) : strlen(name);
    ath_auto_free char *repository = ath_xstrdup(name);
    repository[length] = '\0';
    ath_docker_path_image(request, "/images/", image, "/tag");
    ath_docker_query(request, "repo", repository);
    ath_docker_query(request, "tag", name[length] ? name + length + 1 : NULL);
    return request;
}

struct ath_docker_request *ath_docker_image_remove(const char *image, bool force)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "DELETE", ATH_DOCKER_ARRAY, _("cannot remove the image '%s'"), image);
    ath_docker_path_image(request, "/images/", image, "");
    ath_docker_query(request, "force", force ? "1" : NULL);
    request->timeout_ms = REMOVE_TIMEOUT_MS;
    return request;
}

/* ---- answers ---- */

/* The daemon writes "Loaded image: NAME\n" or "Loaded image ID: sha256:...\n" (moby,
 * image/tarexport/load.go). */
static void read_loaded(const char *stream, struct ath_docker_progress *out)
{
    static const char *const starts[] = { "Loaded image: ", "Loaded image ID: " };
    for (size_t i = 0; i < ATH_COUNT(starts); i++) {
        if (!ath_starts_with(stream, starts[i]))
            continue;
        out->loaded = stream + strlen(starts[i]);
        out->loaded_length = strcspn(out->loaded, "\r\n");
    }
}

void ath_docker_progress_read(const json_t *line, struct ath_docker_progress *out)
{
    *out = (struct ath_docker_progress){
        .id = ath_docker_json_text(line, "id"),
        .status = ath_docker_json_text(line, "status"),
        .done_bytes = ath_docker_json_number(line, "progressDetail.current", ATH_UNKNOWN),
        .total_bytes = ath_docker_json_number(line, "progressDetail.total", ATH_UNKNOWN),
    };
    const char *stream = ath_docker_json_text(line, "stream");
    if (stream)
        read_loaded(stream, out);
}

void ath_docker_image_free(struct ath_docker_image *image)
{
    if (!image)
        return;
    free(image->id);
    ath_texts_free(&image->names);
    free(image->architecture);
    free(image->created_at);
    json_decref(image->labels);
    json_decref(image->json);
    *image = (struct ath_docker_image){ 0 };
}

void ath_docker_images_free(struct ath_docker_images *images)
{
    if (!images)
        return;
    for (size_t i = 0; i < images->count; i++)
        ath_docker_image_free(&images->items[i]);
    free(images->items);
    *images = (struct ath_docker_images){ 0 };
}

bool ath_docker_image_is_named(const struct ath_docker_image *image, const char *name)
{
    static const char local[] = "localhost/";
    for (size_t i = 0; i < image->names.count; i++) {
        const char *its = image->names.items[i];
        if (!strcmp(its, name) ||
            (ath_starts_with(its, local) && !strcmp(its + sizeof local - 1, name)))
            return true;
    }
    return false;
}

/* Old daemons list an image without names as "<none>:<none>". */
static void read_names(const json_t *list, struct ath_texts *out)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && !ath_starts_with(json_string_value(item), "<none>"))
            ath_texts_add(out, json_string_value(item));
    }
}

int ath_docker_image_read(json_t *json, struct ath_docker_image *out, struct ath_err *err)
{
    if (!ath_docker_json_text(json, "Id"))
        return ath_docker_json_lacks(_("an image"), "Id", err);
    json_t *labels = ath_docker_json_at(json, "Config.Labels");
    if (!labels)
        labels = ath_docker_json_at(json, "Labels"); /* in a list */
    *out = (struct ath_docker_image){
        .id = ath_docker_json_copy(json, "Id"),
        .size_bytes = ath_docker_json_number(json, "Size", ATH_UNKNOWN),
        .architecture = ath_docker_json_copy(json, "Architecture"),
        .created_at = ath_docker_json_copy(json, "Created"),
        .labels = json_is_object(labels) ? json_incref(labels) : json_object(),
        .json = json_incref(json),
    };
    read_names(ath_docker_json_at(json, "RepoTags"), &out->names);
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct ath_docker_image *one = a, *other = b;
    return strcmp(one->id, other->id);
}

int ath_docker_images_read(const json_t *json, struct ath_docker_images *out, struct ath_err *err)
{
    struct ath_docker_images list = { 0 };
    size_t i;
    json_t *item;
    json_array_foreach(json, i, item)
    {
        struct ath_docker_image one;
        int status = ath_docker_image_read(item, &one, err);
        if (status) {
            ath_docker_images_free(&list);
            return status;
        }
        *(struct ath_docker_image *)ath_push(&list.items, &list.count, sizeof one) = one;
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_id);
    *out = list;
    return 0;
}
