/* Frees and explains replies of the API server, and escapes texts for its URLs. */
#include "config.h"

#include "kubernetes/api.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MESSAGE_MAX = 512 };

void ath_kube_reply_free(struct ath_kube_reply *reply)
{
    if (!reply)
        return;
    ath_text_free(&reply->body);
    *reply = (struct ath_kube_reply){ 0 };
}

char *ath_kube_reply_message(const struct ath_kube_reply *reply)
{
    json_auto_t *status =
        reply->body.length ? json_loadb(reply->body.data, reply->body.length, 0, NULL) : NULL;
    const char *message = json_string_value(json_object_get(status, "message"));

    if (!message || !*message)
        return ath_xasprintf("HTTP %ld", reply->status);
    char *text = ath_xasprintf("%.*s", MESSAGE_MAX, message);
    for (char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = ' ';
    return text;
}

void ath_kube_add_escaped(struct ath_text *url, const char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool is_plain = (byte < 128 && isalnum(byte)) || strchr("-._~", byte);
        ath_text_add(url, is_plain ? "%c" : "%%%02X", byte);
    }
}
