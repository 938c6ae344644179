/* The best GPUs for a job: what is asked for, and the answer as `aitherion place` prints it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/words.h"
#include "cli/placing.h"
#include "cli/tui/dialog.h"
#include "cli/tui/screens.h"
#include "container/docker/run_line.h"

bool ath_screens_has_gpus(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return tui->store.has_machine && tui->store.machine.gpu_count;
}

static size_t size_of(const struct ath_tui *tui)
{
    return tui->place.size ? tui->place.size : 1;
}

/* ---- what is asked for ---- */

static char *size_value(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_xasprintf(_("%zu of %zu"), size_of(tui), tui->store.machine.gpu_count);
}

static bool accept_size(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    int most = (int)tui->store.machine.gpu_count;
    (void)data;
    if (!ath_parse_int(text, 1, most, &(int){ 0 }))
        return true;
    *out_reason = ath_xasprintf(_("it must be a number from 1 to %d"), most);
    return false;
}

static bool ask_size(struct ath_tui *tui, const char *subject)
{
    ath_auto_free char *initial = ath_xasprintf("%zu", size_of(tui));
    ath_auto_free char *text =
        ath_dialog_input(tui, _("How many GPUs"), _("The number of GPUs that the job needs."),
                         initial, accept_size, NULL);
    int size;

    (void)subject;
    if (text && !ath_parse_int(text, 1, INT32_MAX, &size))
        tui->place.size = (size_t)size;
    return false;
}

static char *policy_value(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_xstrdup(ath_place_policy_word(tui->place.policy));
}

static bool ask_policy(struct ath_tui *tui, const char *subject)
{
    static const char *const meanings[ATH_PLACE_POLICY_COUNT] = {
        [ATH_PLACE_BEST_EFFORT] = N_("any GPUs"),
        [ATH_PLACE_RESTRICTED] = N_("on as few NUMA nodes as so many GPUs need"),
        [ATH_PLACE_SINGLE_NUMA] = N_("on one NUMA node"),
        [ATH_PLACE_NONE] = N_("the first free GPUs"),
    };
    ATH_AUTO(ath_choices) choices = { 0 };

    (void)subject;
    for (size_t i = 0; i < ATH_PLACE_POLICY_COUNT; i++)
        ath_choices_add(&choices, "", ath_place_policies[i], _(meanings[i]))->is_on =
            i == (size_t)tui->place.policy;
    int chosen = ath_dialog_choose(tui, _("Which GPUs may be chosen"), NULL, &choices, false);
    if (chosen >= 0)
        tui->place.policy = (enum ath_place_policy)chosen;
    return false;
}

static char *near_value(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_xstrdup(tui->place.near ? tui->place.near : _("no port"));
}

/* Returns "mlx5_0, node 0, 100 Gb/s". The caller frees it. */
static char *port_words(const struct ath_nic *nic)
{
    struct ath_text words = { 0 };

    if (nic->netdev && nic->rdma_device)
        ath_text_add_part(&words, ", ", "%s", nic->rdma_device);
    if (nic->numa_node != ATH_UNKNOWN)
        ath_text_add_part(&words, ", ", _("node %d"), nic->numa_node);
    if (nic->speed_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(nic->speed_mbps);
        ath_text_add_part(&words, ", ", "%s", speed);
    }
    return words.data ? ath_text_take(&words) : NULL;
}

static void offer_ports(const struct ath_tui *tui, struct ath_choices *out)
{
    const struct ath_machine *machine = &tui->store.machine;

    ath_choices_add(out, "", _("no port"), NULL)->is_on = !tui->place.near;
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        char pci[ATH_PCI_TEXT] = "";
        if (nic->has_pci)
            ath_pci_format(&nic->pci, pci);
        const char *name = nic->netdev ? nic->netdev : nic->rdma_device ? nic->rdma_device : pci;
        ath_auto_free char *words = port_words(nic);
        if (*name)
            ath_choices_add(out, name, NULL, words)->is_on =
                tui->place.near && !strcmp(tui->place.near, name);
    }
}

static bool ask_near(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_choices) choices = { 0 };

    (void)subject;
    offer_ports(tui, &choices);
    int chosen = ath_dialog_choose(
        tui, _("Near a network port"),
        _("No GPU is farther from the port than the number of GPUs makes necessary."), &choices,
        false);
    if (chosen < 0)
        return false;
    free(tui->place.near);
    tui->place.near = chosen ? ath_xstrdup(choices.items[chosen].value) : NULL;
    return false;
}

/* ---- the answer ---- */

static char *make_answer(struct ath_tui *tui, const struct ath_style *style)
{
    ATH_AUTO(ath_placing) placing = { 0 };
    const struct ath_placing_request request = {
        .size = size_of(tui), .group_count = 1, .policy = tui->place.policy, .near = tui->place.near
    };
    struct ath_err err = { 0 };

    int status = ath_placing_read_cores(tui->store.cli, &tui->store.machine, &err);
    if (!status)
        status = ath_placing_make(&tui->store.machine, &request, &placing, &err);
    if (status)
        return ath_xasprintf("%s\n%s", err.message, err.hint);
    const struct ath_place_report report = ath_placing_report(&placing);
    return ath_screens_text(&ath_place_view, &report, style);
}

static bool show(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_text) command = { 0 };

    (void)subject;
    ath_text_add(&command, "aitherion place %zu", size_of(tui));
    if (tui->place.policy != ATH_PLACE_BEST_EFFORT)
        ath_text_add(&command, " --policy %s", ath_place_policy_word(tui->place.policy));
    if (tui->place.near) {
        ath_text_add(&command, " --near ");
        ath_shell_quote(&command, tui->place.near);
    }
    const struct ath_page page = { N_("Best GPUs for a job"), command.data, make_answer,
                                   .place = ATH_IN_PAGE };
    ath_page_show(tui, &page);
    return false;
}

static const struct ath_menu_row place_rows[] = {
    { .label = N_("How many GPUs"),
      .help = N_("the number of GPUs that the job needs"),
      .value = size_value,
      .act = ask_size },
    { .label = N_("Policy"),
      .help = N_("on how many NUMA nodes the GPUs may be"),
      .value = policy_value,
      .act = ask_policy },
    { .label = N_("Near a network port"),
      .help = N_("take GPUs as near as possible to this port"),
      .value = near_value,
      .act = ask_near },
    { .label = N_("Show the choice"),
      .help = N_("the GPUs, their CPUs, memory and ports, the reasons, and the next best choice"),
      .command = "aitherion place K",
      .act = show },
    { .label = N_("Back to the main menu"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_place = {
    .title = N_("Best GPUs for a job"),
    .rows = place_rows,
    .below = &ath_page_topology,
};
