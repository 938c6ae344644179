/*
 * The list of all commands. The row X(roce_list) is the command at the end of roce_list.c (numa is
 * in ../commands.c); its place in a list is its place in the help.
 */
#pragma once
#include "cli/command.h"
#include "cli/output/output.h"

#define ATH_ROOT_COMMANDS(X)                                                                       \
    X(menu)                                                                                        \
    X(discover)                                                                                    \
    X(place)                                                                                       \
    X(estimate)                                                                                    \
    X(fingerprint)                                                                                 \
    X(cluster)                                                                                     \
    X(export)                                                                                      \
    X(kubernetes)                                                                                  \
    X(numa)                                                                                        \
    X(init)                                                                                        \
    X(configure)                                                                                   \
    X(roce)                                                                                        \
    X(health)                                                                                      \
    X(start)                                                                                       \
    X(stop)                                                                                        \
    X(restart)                                                                                     \
    X(status)                                                                                      \
    X(top)                                                                                         \
    X(logs)                                                                                        \
    X(run)                                                                                         \
    X(session)                                                                                     \
    X(net)                                                                                         \
    X(metrics)                                                                                     \
    X(clean)                                                                                       \
    X(image)                                                                                       \
    X(key)                                                                                         \
    X(help)                                                                                        \
    X(version)                                                                                     \
    X(completion)

#define ATH_CLUSTER_COMMANDS(X)                                                                    \
    X(cluster_show)                                                                                \
    X(cluster_place)                                                                               \
    X(cluster_estimate)                                                                            \
    X(cluster_measure)

#define ATH_KUBERNETES_COMMANDS(X)                                                                 \
    X(kubernetes_agent)                                                                            \
    X(kubernetes_manifests)                                                                        \
    X(kubernetes_scheduler)                                                                        \
    X(kubernetes_webhook)

#define ATH_ROCE_COMMANDS(X)                                                                       \
    X(roce_list)                                                                                   \
    X(roce_add)                                                                                    \
    X(roce_remove)                                                                                 \
    X(roce_macvlan)                                                                                \
    X(roce_bind)                                                                                   \
    X(roce_test)

#define ATH_SESSION_COMMANDS(X)                                                                    \
    X(session_list)                                                                                \
    X(session_end)                                                                                 \
    X(session_limit)

#define ATH_NET_COMMANDS(X) X(net_test)

#define ATH_KEY_COMMANDS(X)                                                                        \
    X(key_add)                                                                                     \
    X(key_list)                                                                                    \
    X(key_remove)

#define ATH_IMAGE_COMMANDS(X)                                                                      \
    X(image_build)                                                                                 \
    X(image_list)                                                                                  \
    X(image_remove)

#define ATH_COMMAND_DECLARE(name) extern const struct ath_command ath_command_##name;
ATH_ROOT_COMMANDS(ATH_COMMAND_DECLARE)
ATH_CLUSTER_COMMANDS(ATH_COMMAND_DECLARE)
ATH_KUBERNETES_COMMANDS(ATH_COMMAND_DECLARE)
ATH_ROCE_COMMANDS(ATH_COMMAND_DECLARE)
ATH_SESSION_COMMANDS(ATH_COMMAND_DECLARE)
ATH_NET_COMMANDS(ATH_COMMAND_DECLARE)
ATH_KEY_COMMANDS(ATH_COMMAND_DECLARE)
ATH_IMAGE_COMMANDS(ATH_COMMAND_DECLARE)
ATH_COMMAND_DECLARE(complete) /* hidden: the completion scripts call it */
#undef ATH_COMMAND_DECLARE

/* For an array of children: { ATH_ROCE_COMMANDS(ATH_COMMAND_CHILD) NULL }. */
#define ATH_COMMAND_CHILD(name) &ath_command_##name,

/* Outputs that only one command has. */
extern const struct ath_view ath_completion_view, ath_help_view, ath_version_view;
