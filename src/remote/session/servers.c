/* Reads a list of servers. */
#include "config.h"

#include "remote/session/servers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/text.h"

static int add(struct ath_servers *servers, const char *text, struct ath_err *err)
{
    struct ath_endpoint endpoint;
    char *item = servers->items[servers->count];
    int status = *text == '/' ? ath_endpoint_of_path(text, &endpoint, err)
                              : ath_endpoint_parse(text, &endpoint, err);
    if (status)
        return status;
    ath_endpoint_format(&endpoint, item);
    for (size_t i = 0; i < servers->count; i++)
        if (!strcmp(servers->items[i], item))
            return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is named twice"), text);
    servers->count++;
    return 0;
}

int ath_servers_read(const char *list, struct ath_servers *out, struct ath_err *err)
{
    struct ath_servers found = { 0 };
    size_t length;
    for (const char *at; (at = ath_text_next_part(&list, &length));) {
        char text[ATH_ENDPOINT_TEXT];
        if (found.count == ATH_SERVERS_MAX)
            return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("more than %d servers"),
                               ATH_SERVERS_MAX);
        snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text), at);
        int status = add(&found, text, err);
        if (status)
            return status;
    }
    *out = found;
    return 0;
}
