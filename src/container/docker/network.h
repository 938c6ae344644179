/* Networks of the Docker Engine: makes the requests and reads the answers. `network` is a name or
 * an id. */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "container/docker/request.h"

/* body (taken over) is the API's: Driver, Options, IPAM, Labels; this function adds the name.
 * Answer: an object with Id. Error "exists": the name is taken. */
struct ath_docker_request *ath_docker_network_create(const char *name, json_t *body);

/* Answer: see ath_docker_network_read(). */
struct ath_docker_request *ath_docker_network_inspect(const char *network);

/* Lists all networks with the label ("key", "key=value"); NULL: all networks. Answer: see
 * ath_docker_networks_read(). */
struct ath_docker_request *ath_docker_network_list(const char *label);

/* Error "conflict" ("engine-denied" before Engine 24): a container uses the network. */
struct ath_docker_request *ath_docker_network_remove(const char *network);

/* endpoint (taken over, may be NULL) is the API's EndpointConfig: IPAMConfig, Aliases. */
struct ath_docker_request *ath_docker_network_connect(const char *network, const char *container,
                                                      json_t *endpoint);
struct ath_docker_request *ath_docker_network_disconnect(const char *network,
                                                         const char *container);

struct ath_docker_network {
    char *id, *name, *driver;
    size_t container_count; /* 0 in a list, which does not tell */
    json_t *labels;         /* an object */
    json_t *json;           /* the whole answer */
};

struct ath_docker_networks {
    struct ath_docker_network *items; /* by name */
    size_t count;
};

void ath_docker_network_free(struct ath_docker_network *network);
void ath_docker_networks_free(struct ath_docker_networks *networks);

/* Return 0, or -EBADMSG with err "engine-invalid". *out owns its texts and references. */
int ath_docker_network_read(json_t *json, struct ath_docker_network *out, struct ath_err *err);
int ath_docker_networks_read(const json_t *json, struct ath_docker_networks *out,
                             struct ath_err *err);
