/*
 * Makes and deletes macvlans as the command does, with faults on demand, for tests/vm/macvlan.sh:
 *
 *     macvlan_steps make NAME PARENT MODE ADDRESS MTU     ("-" for no address, for no MTU)
 *     macvlan_steps delete|state NAME
 *     macvlan_steps wait DEVICE | devices
 *
 * Environment: NETNS=PATH, COMPANION=1, FAIL_AT=N (step N, counted from 1, fails), KILL_AT=N (the
 * process is killed before step N). Prints a line for each step; on failure it prints "error CODE:
 * MESSAGE" and exits with 1.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "roce/macvlan.h"
#include "roce/rdma_netlink.h"

struct faults {
    int fail_at, kill_at, done;
};

static int run(void *context, const struct ath_macvlan_step *step, struct ath_err *err)
{
    struct faults *faults = context;
    faults->done++;
    if (faults->done == faults->kill_at)
        raise(SIGKILL);
    if (faults->done == faults->fail_at)
        return ath_err_set(err, -EIO, ATH_E_IO, "made to fail before '%s'", step->text);
    return ath_macvlan_live.run(NULL, step, err);
}

static int undo(void *context, const struct ath_macvlan_step *step, struct ath_err *err)
{
    (void)context;
    printf("undo: %s\n", step->text);
    return ath_macvlan_live.undo(NULL, step, err);
}

static int number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

static void print_plan(const struct ath_macvlan_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        printf("%s\n", plan->steps[i].text);
}

static int make_with_faults(const struct ath_macvlan_wanted *wanted, struct faults *faults,
                            struct ath_macvlan_plan *plan, struct ath_err *err)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    const struct ath_macvlan_ops ops = { run, undo, faults };
    int status = ath_netstate_read(&present, err);
    if (!status)
        status = ath_macvlan_plan(wanted, &present, plan, err);
    return status ? status : ath_macvlan_apply(plan, &ops, err);
}

static int mode_of(const char *word)
{
    int mode = 0;
    while (mode < ATH_MACVLAN_PASSTHRU && strcmp(ath_macvlan_mode_word(mode), word))
        mode++;
    return mode;
}

static int make(char **arguments, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_plan) plan = { 0 };
    struct faults faults = { .fail_at = number_of("FAIL_AT"), .kill_at = number_of("KILL_AT") };
    const struct ath_macvlan_wanted wanted = {
        .name = arguments[0],
        .parent = arguments[1],
        .mode = (enum ath_macvlan_mode)mode_of(arguments[2]),
        .address = strcmp(arguments[3], "-") ? arguments[3] : NULL,
        .mtu = strcmp(arguments[4], "-") ? (int)strtol(arguments[4], NULL, 10) : ATH_UNKNOWN,
        .netns_path = getenv("NETNS"),
        .wants_companion = getenv("COMPANION"),
    };
    int status = faults.fail_at || faults.kill_at ? make_with_faults(&wanted, &faults, &plan, err)
                                                  : ath_macvlan_make(&wanted, false, &plan, err);
    if (!status)
        print_plan(&plan);
    return status;
}

static int delete (char **arguments, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_plan) plan = { 0 };
    int status = ath_macvlan_remove(arguments[0], false, &plan, err);
    if (!status)
        print_plan(&plan);
    return status;
}

static int state(char **arguments, struct ath_err *err)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    int status = ath_netstate_read(&present, err);
    if (!status)
        printf("%s\n",
               ath_macvlan_state_word(ath_macvlan_state(arguments[0], &present, NULL, NULL)));
    return status;
}

static int wait_for_port(char **arguments, struct ath_err *err)
{
    return ath_rdma_wait(arguments[0], 1, 20000, err);
}

static int devices(char **arguments, struct ath_err *err)
{
    (void)arguments;
    ATH_AUTO(ath_nldevs) list = { 0 };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    int status = ath_root_open("/", &root, err);
    if (!status)
        status = ath_nldevs_read(&root, &list, err);
    const char *mode = ath_rdma_netns_mode_word(ath_rdma_netns_mode_read(&root));
    printf("netns %s\n", mode ? mode : "?");
    for (size_t i = 0; i < list.count; i++)
        for (size_t j = 0; j < list.items[i].port_count; j++)
            printf("%s/%d %s %d\n", list.items[i].name, list.items[i].ports[j].number,
                   list.items[i].ports[j].netdev, (int)list.items[i].ports[j].state);
    return status;
}

static const struct {
    const char *name;
    int arguments;
    int (*run)(char **arguments, struct ath_err *err);
} commands[] = {
    { "make", 5, make },          { "delete", 1, delete },   { "state", 1, state },
    { "wait", 1, wait_for_port }, { "devices", 0, devices },
};

int main(int count, char **arguments)
{
    struct ath_err err = { 0 };
    for (size_t i = 0; count > 1 && i < ATH_COUNT(commands); i++) {
        if (strcmp(commands[i].name, arguments[1]) || count != 2 + commands[i].arguments)
            continue;
        if (!commands[i].run(arguments + 2, &err))
            return 0;
        printf("error %s: %s\n", ath_error_word(err.code), err.message);
        if (*err.hint)
            printf("hint: %s\n", err.hint);
        return 1;
    }
    fprintf(stderr, "usage: see the head of macvlan_steps.c\n");
    return 2;
}
