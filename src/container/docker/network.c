/* Requests about networks (Engine API, "Networks") and their answers. */
#include "config.h"

#include "container/docker/network.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "container/docker/json.h"

struct ath_docker_request *ath_docker_network_create(const char *name, json_t *body)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_OBJECT, _("cannot create the network '%s'"), name);
    ath_docker_path(request, "/networks/create", "", "");
    /* Without CheckDuplicate, daemons before API 1.44 make a second network of the same name. */
    json_object_set_new(body, "Name", json_string(name));
    json_object_set_new(body, "CheckDuplicate", json_true());
    request->body = body;
    request->conflict = ATH_E_EXISTS;
    return request;
}

struct ath_docker_request *ath_docker_network_inspect(const char *network)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "GET", ATH_DOCKER_OBJECT, _("cannot inspect the network '%s'"), network);
    ath_docker_path(request, "/networks/", network, "");
    return request;
}

struct ath_docker_request *ath_docker_network_list(const char *label)
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_ARRAY, _("cannot list Docker's networks"));
    ath_docker_path(request, "/networks", "", "");
    ath_docker_query_filters(request, ath_docker_filter_label(label));
    return request;
}

struct ath_docker_request *ath_docker_network_remove(const char *network)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "DELETE", ATH_DOCKER_NOTHING, _("cannot remove the network '%s'"), network);
    ath_docker_path(request, "/networks/", network, "");
    return request;
}

struct ath_docker_request *ath_docker_network_connect(const char *network, const char *container,
                                                      json_t *endpoint)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_NOTHING, _("cannot connect the container '%s' to the network '%s'"),
        container, network);
    ath_docker_path(request, "/networks/", network, "/connect");
    request->body = json_pack("{s:s, s:o*}", "Container", container, "EndpointConfig", endpoint);
    return request;
}

struct ath_docker_request *ath_docker_network_disconnect(const char *network, const char *container)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_NOTHING, _("cannot disconnect the container '%s' from the network '%s'"),
        container, network);
    ath_docker_path(request, "/networks/", network, "/disconnect");
    request->body = json_pack("{s:s, s:b}", "Container", container, "Force", 1);
    return request;
}

void ath_docker_network_free(struct ath_docker_network *network)
{
    if (!network)
        return;
    free(network->id);
    free(network->name);
    free(network->driver);
    json_decref(network->labels);
    json_decref(network->json);
    *network = (struct ath_docker_network){ 0 };
}

void ath_docker_networks_free(struct ath_docker_networks *networks)
{
    if (!networks)
        return;
    for (size_t i = 0; i < networks->count; i++)
        ath_docker_network_free(&networks->items[i]);
    free(networks->items);
    *networks = (struct ath_docker_networks){ 0 };
}

int ath_docker_network_read(json_t *json, struct ath_docker_network *out, struct ath_err *err)
{
    static const char *const needed[] = { "Id", "Name", "Driver" };
    for (size_t i = 0; i < ATH_COUNT(needed); i++)
        if (!ath_docker_json_text(json, needed[i]))
            return ath_docker_json_lacks(_("a network"), needed[i], err);

    json_t *labels = ath_docker_json_at(json, "Labels");
    *out = (struct ath_docker_network){
        .id = ath_docker_json_copy(json, "Id"),
        .name = ath_docker_json_copy(json, "Name"),
        .driver = ath_docker_json_copy(json, "Driver"),
        .container_count = json_object_size(ath_docker_json_at(json, "Containers")),
        .labels = json_is_object(labels) ? json_incref(labels) : json_object(),
        .json = json_incref(json),
    };
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct ath_docker_network *one = a, *other = b;
    return strcmp(one->name, other->name);
}

int ath_docker_networks_read(const json_t *json, struct ath_docker_networks *out,
                             struct ath_err *err)
{
    struct ath_docker_networks list = { 0 };
    size_t i;
    json_t *item;
    json_array_foreach(json, i, item)
    {
        struct ath_docker_network one;
        int status = ath_docker_network_read(item, &one, err);
        if (status) {
            ath_docker_networks_free(&list);
            return status;
        }
        *(struct ath_docker_network *)ath_push(&list.items, &list.count, sizeof one) = one;
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_name);
    *out = list;
    return 0;
}
