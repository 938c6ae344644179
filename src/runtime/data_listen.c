/* Listens at the addresses and links for data, and makes the list of addresses for clients. */
#include "config.h"

#include "runtime/data_listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/i18n.h"
#include "base/text.h"
#include "runtime/listen_address.h"

#define PORT "5555"

/* Calls take() for each value of a list, until one fails. */
static int each(const struct ath_runtime_list *list, const char *option,
                int (*take)(struct ath_listener *listener, const char *text, struct ath_err *err),
                struct ath_listener *listener, struct ath_err *err)
{
    char text[ATH_ENDPOINT_TEXT];
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; i < list->count && i < ATH_RUNTIME_LIST_MAX && !status; i++)
        for (const char *at = list->items[i]; !status && at;) {
            size_t length = strcspn(at, ",");
            snprintf(text, sizeof text, "%.*s", (int)length, at);
            count++;
            if (count <= ATH_DATA_ADDRESSES_MAX)
                status = take(listener, text, err);
            at = at[length] ? at + length + 1 : NULL;
        }
    if (!status && (count > ATH_DATA_ADDRESSES_MAX || list->count > ATH_RUNTIME_LIST_MAX))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--%s' has more than %d addresses"),
                           option, ATH_DATA_ADDRESSES_MAX);
    return status;
}

static size_t listening(const struct ath_listener *listener)
{
    size_t count = 0;
    while (count < ATH_DATA_ADDRESSES_MAX && listener->polls[ATH_POLL_DATA + count].fd >= 0)
        count++;
    return count;
}

static int listen_at(struct ath_listener *listener, const struct ath_endpoint *endpoint,
                     struct ath_err *err)
{
    size_t which = ATH_POLL_DATA + listening(listener);
    return which < ATH_POLL_COUNT
               ? ath_endpoint_listen(endpoint, 0, &listener->polls[which].fd, err)
               : ath_err_set(err, -EINVAL, ATH_E_USAGE, _("there are more than %d data addresses"),
                             ATH_DATA_ADDRESSES_MAX);
}

/* Reads an address of TCP, by number: clients look no name up for it. */
static int read_address(const char *text, struct ath_endpoint *out, struct ath_err *err)
{
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
    struct addrinfo *found = NULL;
    int status = ath_endpoint_parse(text, out, err);
    if (status)
        return status;
    if (out->is_unix || getaddrinfo(out->host, NULL, &wanted, &found))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("the data address '%s' must be an IP address with a port"), text);
    freeaddrinfo(found);
    return 0;
}

static int listen_at_text(struct ath_listener *listener, const char *text, struct ath_err *err)
{
    struct ath_endpoint endpoint;
    int status = read_address(text, &endpoint, err);
    return status ? status : listen_at(listener, &endpoint, err);
}

static int listen_at_link(struct ath_listener *listener, const char *name, struct ath_err *err)
{
    const char *port = getenv("ZMQ_PORT");
    struct ath_endpoint endpoint;
    int number;
    if (!port || !*port)
        port = PORT;
    if (ath_parse_int(port, 1, 65535, &number))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("ZMQ_PORT is '%s', which is no port"),
                           port);
    int status = ath_listen_address_of_link(name, port, "data", &endpoint, err);
    return status ? status : listen_at(listener, &endpoint, err);
}

/* ---- the addresses that clients get ---- */

static void tell(struct ath_listener *listener, const char *text)
{
    char *all = listener->server.data_addresses;
    size_t length = strlen(all);
    snprintf(all + length, sizeof listener->server.data_addresses - length, "%s%s",
             length ? "," : "", text);
}

static int tell_text(struct ath_listener *listener, const char *text, struct ath_err *err)
{
    struct ath_endpoint endpoint;
    char form[ATH_ENDPOINT_TEXT];
    int status = read_address(text, &endpoint, err);
    if (status)
        return status;
    if (!strcmp(endpoint.port, "0"))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the data address '%s' has no port"), text);
    tell(listener, ath_endpoint_format(&endpoint, form));
    return 0;
}

/* Returns whether the address stands for all addresses of this host. */
static bool is_any(const char *text)
{
    return ath_starts_with(text, "0.0.0.0:") || ath_starts_with(text, "[::]:");
}

static int tell_own(struct ath_listener *listener, struct ath_err *err)
{
    for (size_t i = 0; i < listening(listener); i++) {
        char text[ATH_ENDPOINT_TEXT];
        ath_endpoint_of_socket(listener->polls[ATH_POLL_DATA + i].fd, false, text);
        if (is_any(text)) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE,
                        _("clients cannot use the data address '%s', which stands for all"), text);
            return ath_err_hint(err, -EINVAL,
                                _("name those that clients can use: --data-address ADDRESS:PORT"));
        }
        tell(listener, text);
    }
    return 0;
}

int ath_data_listen(struct ath_listener *listener, const struct ath_runtime_options *options,
                    struct ath_err *err)
{
    const char *links = getenv("DATA_IFACE");
    const struct ath_runtime_list of_links = { .items = { links }, .count = links && *links };
    bool is_given = options->data_listen.count > 0;
    if (listener->polls[ATH_POLL_TCP].fd < 0 && is_given)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("'--data-listen' needs an address in --listen"));
    if (listener->polls[ATH_POLL_TCP].fd < 0)
        return 0;
    int status = is_given
                     ? each(&options->data_listen, "data-listen", listen_at_text, listener, err)
                     : each(&of_links, "data-listen", listen_at_link, listener, err);
    if (status)
        return status;
    if (options->data_address.count && !listening(listener))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("'--data-address' needs --data-listen"));
    return options->data_address.count
               ? each(&options->data_address, "data-address", tell_text, listener, err)
               : tell_own(listener, err);
}
