/* JSON values. jansson rejects strings that are not UTF-8, so texts are cleaned first. */
#include "config.h"

#include "cli/output/json.h"

#include "base/clean.h"
#include "base/cleanup.h"

json_t *ath_json_text(const char *text)
{
    ath_auto_free char *clean = ath_clean(text, true);
    return clean ? json_string(clean) : json_null();
}

json_t *ath_json_lines(const char *text)
{
    ath_auto_free char *clean = ath_clean_lines(text);
    return clean ? json_string(clean) : json_null();
}

json_t *ath_json_texts(const struct ath_texts *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new(list, ath_json_text(texts->items[i]));
    return list;
}

json_t *ath_json_number(int64_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

json_t *ath_json_ids(const struct ath_idset *ids)
{
    json_t *list = json_array();
    for (int id = ath_idset_next(ids, -1); id >= 0; id = ath_idset_next(ids, id))
        json_array_append_new(list, json_integer(id));
    return list;
}
