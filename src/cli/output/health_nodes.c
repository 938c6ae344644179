/* The state of the parts of each NUMA entry. */
#include "config.h"

#include "cli/output/health_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/status.h"
#include "cli/output/words.h"
#include "roce/macvlan.h"

struct page {
    const struct ath_style *style;
    FILE *out;
    const struct ath_health_facts *facts;
    size_t columns; /* of the widest label */
};

static const char *const labels[] = { N_("Memory"), N_("GPU"),     N_("Control"), N_("Data"),
                                      N_("RDMA"),   N_("Macvlan"), N_("Runtime") };
enum { MEMORY, GPU, CONTROL, DATA, RDMA, MACVLAN, RUNTIME };

/* Prints a labelled line about the thing `name`; role is BAD if it has a fault. */
static void print_line(const struct page *page, int label, const char *name, enum ath_role role,
                       const struct ath_text *text)
{
    ath_auto_free char *whole =
        ath_xasprintf("%s%s%s", name, *name ? "  " : "", text->data ? text->data : _("not known"));
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .prefix = "  ",
                                             .label = _(labels[label]),
                                             .label_role = ATH_ROLE_DIM,
                                             .label_columns = page->columns,
                                             .text = whole,
                                             .role = role });
}

/* ---- memory and GPUs ---- */

static void add_memory(const struct ath_numa_node *node, struct ath_text *text)
{
    if (!node || node->memory_total_bytes < 0)
        return;
    ath_auto_free char *total = ath_words_size(node->memory_total_bytes);
    ath_auto_free char *free_bytes =
        node->memory_free_bytes < 0 ? NULL : ath_words_size(node->memory_free_bytes);
    if (free_bytes)
        ath_text_add_part(text, _(", "), _("%s free of %s"), free_bytes, total);
    else
        ath_text_add_part(text, _(", "), "%s", total);
}

static void print_memory(const struct page *page, const struct ath_document_numa *entry)
{
    const struct ath_numa_node *node = ath_machine_node(page->facts->machine, entry->node);
    ATH_AUTO(ath_text) text = { 0 };
    enum ath_role role = node && node->is_online ? ATH_ROLE_PLAIN : ATH_ROLE_BAD;

    if (!node)
        ath_text_add(&text, _("there is no node %d"), entry->node);
    else if (!node->is_online)
        ath_text_add(&text, "%s", _("offline"));
    add_memory(node, &text);
    print_line(page, MEMORY, "", role, &text);
}

static void describe_gpu(const struct ath_machine *machine, const struct ath_gpu *gpu,
                         struct ath_text *text)
{
    ath_auto_free char *name = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);

    if (*name)
        ath_text_add_part(text, _(", "), "%s", name);
    if (gpu->memory_node == ATH_UNKNOWN)
        return;
    ath_text_add_part(text, _(", "),
                      gpu->memory_state == ATH_MEMORY_ONLINE ? _("memory node %d online")
                      : gpu->memory_state == ATH_MEMORY_OFFLINE
                          ? _("memory node %d offline")
                          : _("memory node %d, state not known"),
                      gpu->memory_node);
    if (gpu->memory_state != ATH_MEMORY_OFFLINE)
        add_memory(ath_machine_node(machine, gpu->memory_node), text);
}

static void print_gpus(const struct page *page, const struct ath_document_numa *entry)
{
    for (size_t i = 0; i < entry->gpus.count; i++) {
        struct ath_pci pci;
        const struct ath_gpu *gpu = ath_pci_parse(entry->gpus.items[i], &pci)
                                        ? NULL
                                        : ath_machine_gpu(page->facts->machine, &pci);
        ATH_AUTO(ath_text) text = { 0 };
        bool is_bad = !gpu || gpu->memory_state == ATH_MEMORY_OFFLINE;
        if (gpu)
            describe_gpu(page->facts->machine, gpu, &text);
        else
            ath_text_add(&text, "%s", _("missing"));
        print_line(page, GPU, entry->gpus.items[i], is_bad ? ATH_ROLE_BAD : ATH_ROLE_PLAIN, &text);
    }
}

/* ---- links ---- */

static void add_state(enum ath_link_state state, struct ath_text *text)
{
    static const char *const words[] = { [ATH_LINK_UNKNOWN] = N_("state not known"),
                                         [ATH_LINK_DOWN] = N_("down"),
                                         [ATH_LINK_UP] = N_("up") };
    ath_text_add_part(text, _(", "), "%s", _(words[state]));
}

static void add_addresses(const struct ath_link *link, struct ath_text *text)
{
    for (size_t i = 0; i < link->address_count; i++) {
        const struct ath_address *address = &link->addresses[i];
        if (address->is_link_local)
            continue;
        ath_auto_free char *words = ath_address_format(address);
        ath_text_add_part(text, _(", "), "%s%s", words,
                          address->is_duplicate   ? _(" (another host has it)")
                          : address->is_tentative ? _(" (being checked)")
                                                  : "");
    }
}

static void describe_link(const struct ath_health_facts *facts, const struct ath_health_link *link,
                          struct ath_text *text)
{
    add_state(link->state, text);
    if (link->nic && link->nic->speed_mbps > 0) {
        ath_auto_free char *speed = ath_words_speed(link->nic->speed_mbps);
        ath_text_add_part(text, _(", "), "%s", speed);
    }
    if (link->mtu > 0)
        ath_text_add_part(text, _(", "), _("MTU %d"), link->mtu);
    if (link->link && facts->has_net)
        add_addresses(link->link, text);
    for (size_t i = 0; link->nic && !facts->has_net && i < link->nic->subnet_count; i++)
        ath_text_add_part(text, _(", "), _("in %s"), link->nic->subnets[i]);
    if (link->address == ATH_PRESENCE_MISSING)
        ath_text_add_part(text, _(", "), "%s", _("no address"));
}

static void print_link(const struct page *page, int label, const char *name)
{
    struct ath_health_link link;
    ATH_AUTO(ath_text) text = { 0 };

    if (!name)
        return;
    ath_health_link(page->facts, name, &link);
    if (link.presence == ATH_PRESENCE_MISSING)
        ath_text_add(&text, "%s", _("missing"));
    else if (link.presence == ATH_PRESENCE_THERE)
        describe_link(page->facts, &link, &text);
    bool is_bad = link.presence == ATH_PRESENCE_MISSING || link.state == ATH_LINK_DOWN;
    print_line(page, label, name, is_bad ? ATH_ROLE_BAD : ATH_ROLE_PLAIN, &text);
}

/* ---- RDMA ---- */

static void describe_port(const struct ath_health_port *port, struct ath_text *text)
{
    static const char *const states[] = { [ATH_RDMA_PORT_UNKNOWN] = N_("state not known"),
                                          [ATH_RDMA_PORT_DOWN] = N_("not active"),
                                          [ATH_RDMA_PORT_ACTIVE] = N_("active") };

    ath_text_add(text, "%s", _(states[port->state]));
    if (port->netdev)
        ath_text_add_part(text, _(", "), _("on %s"), port->netdev);
    if (port->has_gid) {
        ath_auto_free char *address = ath_words_gid(&port->gid);
        ath_text_add_part(text, _(", "), _("use GID %d (%s, %s)"), port->gid.index,
                          ath_gid_type_word(port->gid.type), address);
    } else if (port->lack == ATH_LACK_UNKNOWN)
        ath_text_add_part(text, _(", "), "%s", _("GIDs not known"));
    else
        ath_text_add_part(text, _(", "), _("no GID to use: %s"), ath_lack_text(port->lack));
}

static void print_rdma(const struct page *page, const char *device)
{
    const struct ath_health_facts *facts = page->facts;
    bool is_any = false;

    for (size_t i = 0; i < facts->port_count; i++) {
        const struct ath_health_port *port = &facts->ports[i];
        ATH_AUTO(ath_text) text = { 0 };
        if (strcmp(port->device, device) != 0)
            continue;
        ath_auto_free char *name = port->port > 0
                                       ? ath_xasprintf(_("%s port %d"), device, port->port)
                                       : ath_xstrdup(device);
        bool is_bad =
            port->state == ATH_RDMA_PORT_DOWN || (port->lack != ATH_LACK_UNKNOWN && !port->has_gid);
        describe_port(port, &text);
        print_line(page, RDMA, name, is_bad ? ATH_ROLE_BAD : ATH_ROLE_PLAIN, &text);
        is_any = true;
    }
    if (is_any)
        return;
    ATH_AUTO(ath_text) text = { 0 };
    if (facts->has_ports)
        ath_text_add(&text, "%s", _("missing"));
    print_line(page, RDMA, device, facts->has_ports ? ATH_ROLE_BAD : ATH_ROLE_PLAIN, &text);
}

/* ---- macvlans ---- */

static void describe_macvlan(const struct page *page, const char *name, struct ath_text *text,
                             enum ath_role *out_role)
{
    static const char *const words[] = { [ATH_MACVLAN_RECORDED] = N_("recorded, not made"),
                                         [ATH_MACVLAN_MADE] = N_("made"),
                                         [ATH_MACVLAN_MOVED] = N_("in a container"),
                                         [ATH_MACVLAN_GONE] = N_("gone") };
    const struct ath_health_facts *facts = page->facts;
    const struct ath_link *link = NULL;
    enum ath_macvlan_state state =
        facts->has_net ? ath_macvlan_state(name, &facts->net, NULL, &link) : ATH_MACVLAN_RECORDED;

    if (!facts->has_net || (!link && !facts->sees_all_namespaces)) {
        ath_text_add_part(text, _(", "), "%s", _("state not known"));
        return;
    }
    ath_text_add_part(text, _(", "), "%s", _(words[state]));
    if (link) {
        add_state(link->state, text);
        add_addresses(link, text);
    }
    if (state == ATH_MACVLAN_GONE || (link && link->state == ATH_LINK_DOWN))
        *out_role = ATH_ROLE_BAD;
    else if (state == ATH_MACVLAN_RECORDED)
        *out_role = ATH_ROLE_WARN;
}

static void print_macvlan(const struct page *page, const struct ath_document_macvlan *macvlan)
{
    ATH_AUTO(ath_text) text = { 0 };
    enum ath_role role = ATH_ROLE_PLAIN;

    ath_text_add(&text, _("on %s"), macvlan->parent);
    describe_macvlan(page, macvlan->name, &text, &role);
    print_line(page, MACVLAN, macvlan->name, role, &text);
}

static void print_macvlans(const struct page *page, int id)
{
    const struct ath_document *document = page->facts->document;
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        if (document->roce.macvlans.items[i].numa == id)
            print_macvlan(page, &document->roce.macvlans.items[i]);
}

/* ---- runtime ---- */

static const struct ath_health_runtime *runtime_of(const struct ath_health_facts *facts, int id)
{
    for (size_t i = 0; i < facts->runtimes.count; i++)
        if (facts->runtimes.items[i].id == id)
            return &facts->runtimes.items[i];
    return NULL;
}

/* Adds what the runtime reports about itself. */
static void add_service(const struct ath_health_runtime *runtime, struct ath_text *text)
{
    if (runtime->driver_version)
        ath_text_add_part(text, _(", "), "CUDA %d.%d", (int)(runtime->driver_version / 1000),
                          (int)(runtime->driver_version % 1000 / 10));
    ath_text_add_part(text, _(", "),
                      ngettext("%d GPU", "%d GPUs", (unsigned long)runtime->device_count),
                      (int)runtime->device_count);
    if (runtime->is_simulated)
        ath_text_add(text, "%s", _(" (simulated)"));
    ath_text_add_part(text, _(", "),
                      ngettext("%d session", "%d sessions", (unsigned long)runtime->sessions),
                      (int)runtime->sessions);
}

static void print_runtime(const struct page *page, const struct ath_document_numa *entry)
{
    const struct ath_health_runtime *runtime = runtime_of(page->facts, entry->id);
    const struct ath_node_status *status = runtime ? runtime->status : NULL;
    ATH_AUTO(ath_text) text = { 0 };

    if (!page->facts->runtimes.is_known)
        return;
    enum ath_node_state state = status ? status->state : ATH_NODE_ABSENT;
    ath_text_add(&text, "%s", _(ath_node_state_meaning(state)));
    if (status && state > ATH_NODE_STOPPED) {
        ath_auto_free char *reach = ath_status_reach(status, ath_document_metrics_port(entry),
                                                     ath_document_data_port(entry));
        ath_auto_free char *age = ath_status_age(status->started_at);
        ath_text_add_part(&text, _(", "), "%s", status->engine);
        if (reach)
            ath_text_add_part(&text, _(", "), "%s", reach);
        if (age)
            ath_text_add_part(&text, _(", "), _("for %s"), age);
        if (runtime->has_told)
            add_service(runtime, &text);
    }
    print_line(page, RUNTIME, "",
               state > ATH_NODE_RUNNING    ? ATH_ROLE_BAD
               : state <= ATH_NODE_STOPPED ? ATH_ROLE_WARN
                                           : ATH_ROLE_PLAIN,
               &text);
}

/* ---- all ---- */

static void print_heading(const struct page *page, const char *label, const char *text)
{
    fputc('\n', page->out);
    ath_style_print(
        page->style, page->out,
        &(struct ath_paragraph){
            .label = label, .label_role = ATH_ROLE_HEADING, .label_columns = 1, .text = text });
}

static void print_entry(const struct page *page, const struct ath_document_numa *entry)
{
    ath_auto_free char *label = ath_xasprintf("NUMA%d", entry->id);
    ath_auto_free char *node = ath_xasprintf(_("node %d"), entry->node);

    print_heading(page, label, node);
    print_memory(page, entry);
    print_gpus(page, entry);
    print_link(page, CONTROL, entry->control_iface);
    for (size_t i = 0; i < entry->data_iface.count; i++)
        print_link(page, DATA, entry->data_iface.items[i]);
    for (size_t i = 0; i < entry->rdma_devices.count; i++)
        print_rdma(page, entry->rdma_devices.items[i]);
    print_macvlans(page, entry->id);
    print_runtime(page, entry);
}

static bool has_free_macvlans(const struct ath_document *document)
{
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        if (document->roce.macvlans.items[i].numa == ATH_UNSET)
            return true;
    return false;
}

void ath_health_nodes_print(const struct ath_style *style, FILE *out,
                            const struct ath_health_facts *facts)
{
    struct page page = { style, out, facts, 0 };

    if (!facts->document)
        return;
    for (size_t i = 0; i < ATH_COUNT(labels); i++) {
        size_t width = ath_style_width(style, _(labels[i]));
        page.columns = width > page.columns ? width : page.columns;
    }
    for (size_t i = 0; i < facts->document->numa.count; i++)
        print_entry(&page, &facts->document->numa.items[i]);
    if (!has_free_macvlans(facts->document))
        return;
    print_heading(&page, _("No entry"), _("macvlans without a NUMA entry"));
    print_macvlans(&page, ATH_UNSET);
}
