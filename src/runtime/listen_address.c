/* Default addresses from the environment that a container gets. */
#include "config.h"

#include "runtime/listen_address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

#define KEY_FILE "/etc/aitherion/key"
#define PORT "50051"

static void free_interfaces(struct ifaddrs **interfaces)
{
    if (*interfaces)
        freeifaddrs(*interfaces);
}

/* Returns whether an address can be written with a port alone. A link-local address cannot: it
 * needs its interface. */
static bool needs_no_scope(const struct ifaddrs *one)
{
    const struct sockaddr_in6 *address = (const void *)one->ifa_addr;
    return one->ifa_addr->sa_family == AF_INET ||
           (one->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr));
}

/* The address of an interface; IPv4 is preferred over IPv6. */
static const struct ifaddrs *address_of(const struct ifaddrs *interfaces, const char *name)
{
    const struct ifaddrs *found = NULL;
    for (const struct ifaddrs *one = interfaces; one; one = one->ifa_next)
        if (one->ifa_addr && !strcmp(one->ifa_name, name) && needs_no_scope(one) &&
            (!found ||
             (found->ifa_addr->sa_family == AF_INET6 && one->ifa_addr->sa_family == AF_INET)))
            found = one;
    return found;
}

int ath_listen_address_of_link(const char *name, const char *port, const char *what,
                               struct ath_endpoint *out, struct ath_err *err)
{
    __attribute__((cleanup(free_interfaces))) struct ifaddrs *interfaces = NULL;
    bool is_data = !strcmp(what, "data");
    *out = (struct ath_endpoint){ 0 };
    snprintf(out->port, sizeof out->port, "%s", port);
    if (getifaddrs(&interfaces))
        return ath_err_system(err, -errno, "%s", _("cannot read the links here"));
    const struct ifaddrs *found = address_of(interfaces, name);
    if (!found) {
        ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND,
                    is_data ? _("the data interface '%s' is not here, or has no address")
                            : _("the control interface '%s' is not here, or has no address"),
                    name);
        return is_data ? ath_err_hint(err, -ENODEV,
                                      "aitherion-runtime serve --data-listen ADDRESS:%s", out->port)
                       : ath_err_hint(err, -ENODEV, "aitherion-runtime serve --listen 0.0.0.0:%s",
                                      out->port);
    }
    socklen_t length = found->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                             : sizeof(struct sockaddr_in6);
    getnameinfo(found->ifa_addr, length, out->host, sizeof out->host, NULL, 0, NI_NUMERICHOST);
    return 0;
}

int ath_listen_address_find(const char *listen, struct ath_endpoint *out, struct ath_err *err)
{
    const char *interface = getenv("CONTROL_IFACE"), *port = getenv("CAPNP_PORT");
    char text[8];
    int number;

    if (listen)
        return ath_endpoint_parse(listen, out, err);
    if (!port || !*port)
        port = PORT;
    if (ath_parse_int(port, 0, 65535, &number))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("CAPNP_PORT is '%s', which is no port"),
                           port);
    *out = (struct ath_endpoint){ .host = "127.0.0.1" };
    snprintf(text, sizeof text, "%d", number);
    snprintf(out->port, sizeof out->port, "%s", text);
    return interface && *interface ? ath_listen_address_of_link(interface, text, "control", out,
                                                                err)
                                   : 0;
}

int ath_listen_address_to_ask(const struct ath_runtime_options *options, struct ath_endpoint *out,
                              struct ath_err *err)
{
    if (options->socket)
        return ath_endpoint_of_path(options->socket, out, err);
    return ath_listen_address_find(options->server, out, err);
}

const char *ath_listen_address_key_path(const struct ath_runtime_options *options)
{
    return options->key ? options->key : KEY_FILE;
}

int ath_listen_address_key(const struct ath_runtime_options *options, struct ath_secret *out,
                           struct ath_err *err)
{
    if (options->is_no_auth)
        return 0;
    int status = ath_secret_load(ath_listen_address_key_path(options), out, err);
    if (!status)
        return 0;
    return ath_err_hint(err, status, "%s",
                        _("name the shared key with --key FILE, or use --no-auth"));
}
