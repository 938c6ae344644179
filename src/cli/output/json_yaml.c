/* JSON to YAML through libyaml's event emitter. */
#include "config.h"

#include "cli/output/json_yaml.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/yaml.h"

/* Objects of integers only (distances) are written on one line. */
static bool is_number_table(const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) if (!json_is_integer(value)) return false;
    return true;
}

static bool emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    return yaml_emitter_emit(emitter, event);
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                        (int)strlen(text), 1, 1, style) &&
           emit(emitter, &event);
}

/* Strings that begin without a letter are always quoted, so that they do not look like numbers. */
static bool emit_string(yaml_emitter_t *emitter, const char *text)
{
    bool is_plain = isalpha((unsigned char)*text) && ath_yaml_is_plain(text, " +()");
    return emit_scalar(emitter, text,
                       is_plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static bool emit_value(yaml_emitter_t *emitter, const json_t *value);

static bool emit_array(yaml_emitter_t *emitter, const json_t *array)
{
    yaml_event_t event;
    size_t i;
    json_t *item;

    if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) ||
        !emit(emitter, &event))
        return false;
    json_array_foreach(array, i, item)
    {
        if (!emit_value(emitter, item))
            return false;
    }
    return yaml_sequence_end_event_initialize(&event) && emit(emitter, &event);
}

static bool emit_object(yaml_emitter_t *emitter, const json_t *object)
{
    yaml_mapping_style_t style =
        is_number_table(object) ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
    yaml_event_t event;
    const char *key;
    json_t *value;

    if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style) ||
        !emit(emitter, &event))
        return false;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!emit_string(emitter, key) || !emit_value(emitter, value))
            return false;
    }
    return yaml_mapping_end_event_initialize(&event) && emit(emitter, &event);
}

/* Numbers, true, false and null look the same in YAML and JSON. */
static bool emit_plain(yaml_emitter_t *emitter, const json_t *value)
{
    ath_auto_free char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    return text && emit_scalar(emitter, text, YAML_PLAIN_SCALAR_STYLE);
}

static bool emit_value(yaml_emitter_t *emitter, const json_t *value)
{
    if (json_is_object(value))
        return emit_object(emitter, value);
    if (json_is_array(value))
        return emit_array(emitter, value);
    if (json_is_string(value))
        return emit_string(emitter, json_string_value(value));
    return emit_plain(emitter, value);
}

static bool emit_document(yaml_emitter_t *emitter, const json_t *value)
{
    yaml_event_t event;

    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
           emit(emitter, &event) &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
           emit(emitter, &event) && emit_value(emitter, value) &&
           yaml_document_end_event_initialize(&event, 1) && emit(emitter, &event) &&
           yaml_stream_end_event_initialize(&event) && emit(emitter, &event);
}

int ath_json_write_yaml(const json_t *value, FILE *out, struct ath_err *err)
{
    yaml_emitter_t emitter;

    if (!yaml_emitter_initialize(&emitter))
        return ath_err_system(err, -ENOMEM, _("cannot write YAML"));
    yaml_emitter_set_output_file(&emitter, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    bool is_done = emit_document(&emitter, value);
    const char *problem = emitter.problem ? emitter.problem : "?";
    int status =
        is_done ? 0 : ath_err_set(err, -EIO, ATH_E_IO, _("cannot write YAML: %s"), problem);
    yaml_emitter_delete(&emitter);
    return status;
}
