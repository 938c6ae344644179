/* Explains why a request to the Docker Engine failed. Private to container. */
#pragma once
#include <stddef.h>

#include "base/curl.h"
#include "container/docker/host.h"
#include "container/docker/request.h"

/* Sets err for a transfer that libcurl gave up. text: libcurl's message, may be empty; os_errno: of
 * connecting, or 0. Returns a negative errno from the list in docker.h. */
int ath_docker_fault_transfer(const struct ath_docker_host *host,
                              const struct ath_docker_request *request, CURLcode code,
                              const char *text, int os_errno, struct ath_err *err);

/* Sets err for an answer with a status of 300 or above, except 304. Returns as above. */
int ath_docker_fault_http(const struct ath_docker_request *request, int http_status,
                          const char *body, size_t length, struct ath_err *err);
