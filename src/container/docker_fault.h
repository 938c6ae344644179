/* Why a request to the Docker Engine failed, in words. Private to container. */
#pragma once
#include <stddef.h>

#include "container/curl.h"
#include "container/docker_host.h"
#include "container/docker_request.h"

/* Of a transfer that libcurl gave up. text: its own words, may be empty; os_errno: of connecting, 0
 * where there is none. Returns a negative errno as docker.h has them. */
int ath_docker_fault_transfer(const struct ath_docker_host *host,
                              const struct ath_docker_request *request, CURLcode code,
                              const char *text, int os_errno, struct ath_err *err);

/* Of an answer with a status of 300 or above, 304 aside. */
int ath_docker_fault_http(const struct ath_docker_request *request, int http_status,
                          const char *body, size_t length, struct ath_err *err);
