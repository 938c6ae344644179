/* Reads members of JSON values by dotted paths. */
#include "config.h"

#include "container/docker/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"

json_t *ath_docker_json_at(const json_t *json, const char *path)
{
    char key[64];
    json_t *found = NULL;
    for (const char *end; json && *path; path = *end ? end + 1 : end) {
        end = path + strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)(end - path), path);
        json = found = json_object_get(json, key);
    }
    return found;
}

const char *ath_docker_json_text(const json_t *json, const char *path)
{
    const char *text = json_string_value(ath_docker_json_at(json, path));
    return text && *text ? text : NULL;
}

char *ath_docker_json_copy(const json_t *json, const char *path)
{
    return ath_xstrdup(ath_docker_json_text(json, path));
}

int64_t ath_docker_json_number(const json_t *json, const char *path, int64_t missing)
{
    const json_t *number = ath_docker_json_at(json, path);
    return json_is_integer(number) ? json_integer_value(number) : missing;
}

bool ath_docker_json_is_true(const json_t *json, const char *path)
{
    return json_is_true(ath_docker_json_at(json, path));
}

void ath_docker_json_texts(const json_t *list, struct ath_texts *out)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item))
            ath_texts_add(out, json_string_value(item));
    }
}

int ath_docker_json_lacks(const char *answer, const char *path, struct ath_err *err)
{
    return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                       _("Docker's description of %s has no '%s'"), answer, path);
}
