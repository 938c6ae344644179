/* The model of `aitherion top`: what it owns, and how it takes answers. */
#include "config.h"

#include "cli/top/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/top/model_sessions.h"
#include "cli/top/rate.h"
#include "config/schema.h"

/* ---- owning ---- */

void ath_top_answer_free(struct ath_top_answer *answer)
{
    if (!answer)
        return;
    ath_session_group_free(&answer->group);
    ath_figures_free(&answer->figures);
    *answer = (struct ath_top_answer){ 0 };
}

void ath_top_free(struct ath_top *top)
{
    if (!top)
        return;
    for (size_t i = 0; i < top->server_count; i++) {
        ath_top_answer_free(&top->servers[i].answer);
        free(top->servers[i].name);
    }
    for (size_t i = 0; i < top->port_count; i++) {
        free(top->ports[i].facts.netdev);
        free(top->ports[i].facts.rdma_device);
    }
    free(top->servers);
    free(top->gpus);
    free(top->sessions);
    free(top->ports);
    ath_host_counts_free(&top->host);
    *top = (struct ath_top){ 0 };
}

void ath_top_add_server(struct ath_top *top, int id, const char *address)
{
    struct ath_top_server *server = ath_push(&top->servers, &top->server_count, sizeof *server);
    server->name = id == ATH_UNSET ? ath_xstrdup(address) : ath_xasprintf("NUMA%d", id);
    server->is_waiting = true;
}

/* ---- GPUs ---- */

/* Returns the GPU's row of the last answer, or NULL. */
static const struct ath_top_gpu *old_gpu(const struct ath_top *top, size_t server, int number)
{
    for (size_t i = 0; i < top->gpu_count; i++)
        if (top->gpus[i].server == server && top->gpus[i].number == number)
            return &top->gpus[i];
    return NULL;
}

/* The server's answer about its health has some figures as well. */
static void take_figures(struct ath_top_gpu *gpu, const struct ath_top_answer *answer)
{
    ath_device_figures_init(&gpu->figures);
    if (answer->has_figures && (size_t)gpu->number < answer->figures.device_count)
        gpu->figures = answer->figures.devices[gpu->number];
    if (gpu->figures.memory_used_bytes < 0)
        gpu->figures.memory_used_bytes = gpu->device->memory_used_bytes;
    if (gpu->figures.memory_limit_bytes < 0)
        gpu->figures.memory_limit_bytes = gpu->device->memory_limit_bytes;
    if (gpu->figures.memory_total_bytes < 0)
        gpu->figures.memory_total_bytes = gpu->device->memory_total_bytes;
    if (gpu->figures.sessions < 0)
        gpu->figures.sessions = gpu->device->sessions;
}

static void take_gpu(struct ath_top *top, size_t server, int number,
                     const struct ath_top_answer *answer, uint64_t passed_ms,
                     struct ath_top_gpu *out)
{
    const struct ath_top_gpu *old = old_gpu(top, server, number);
    struct ath_device_figures before;

    ath_device_figures_init(&before);
    if (old) {
        *out = *old;
        before = old->figures;
    }
    out->server = server;
    out->runtime = top->servers[server].name;
    out->number = number;
    out->device = &answer->group.health.devices[number];
    take_figures(out, answer);
    const struct ath_device_figures *now = &out->figures;
    out->nvlink_received_bytes_s =
        ath_top_rate(before.nvlink_received_bytes, now->nvlink_received_bytes, passed_ms);
    out->nvlink_sent_bytes_s =
        ath_top_rate(before.nvlink_sent_bytes, now->nvlink_sent_bytes, passed_ms);
    out->traffic_bytes_s =
        ath_top_sum(ath_top_sum(now->pcie_received_bytes_s, now->pcie_sent_bytes_s),
                    ath_top_sum(out->nvlink_received_bytes_s, out->nvlink_sent_bytes_s));
    ath_history_add(&out->busy, now->busy_percent);
    ath_history_add(&out->memory, ath_top_percent(now->memory_used_bytes, now->memory_total_bytes));
    ath_history_add(&out->traffic, out->traffic_bytes_s);
}

/* Replaces the server's rows and keeps the order of servers. */
static void take_gpus(struct ath_top *top, size_t server, const struct ath_top_answer *answer,
                      uint64_t passed_ms)
{
    struct ath_top_gpu *gpus = NULL;
    size_t count = 0, at = 0;

    for (; at < top->gpu_count && top->gpus[at].server < server; at++)
        *(struct ath_top_gpu *)ath_push(&gpus, &count, sizeof *gpus) = top->gpus[at];
    for (size_t i = 0; i < answer->group.health.device_count; i++)
        take_gpu(top, server, (int)i, answer, passed_ms, ath_push(&gpus, &count, sizeof *gpus));
    for (; at < top->gpu_count; at++)
        if (top->gpus[at].server != server)
            *(struct ath_top_gpu *)ath_push(&gpus, &count, sizeof *gpus) = top->gpus[at];
    free(top->gpus);
    top->gpus = gpus;
    top->gpu_count = count;
}

/* ---- taking ---- */

void ath_top_take(struct ath_top *top, size_t index, struct ath_top_answer *answer)
{
    struct ath_top_server *server = &top->servers[index];
    uint64_t passed_ms = server->answer.at_ms ? answer->at_ms - server->answer.at_ms : 0;

    top->now_ms = answer->at_ms;
    server->is_waiting = false;
    server->answers++;
    server->status = answer->group.status;
    if (server->status) {
        ath_err_copy(&server->err, &answer->group.err);
        if (!server->lost_ms)
            server->lost_ms = answer->at_ms;
        ath_top_answer_free(answer);
        return;
    }
    server->lost_ms = 0;
    take_gpus(top, index, answer, passed_ms);
    ath_top_take_sessions(top, index, answer);
    ath_top_answer_free(&server->answer);
    server->answer = *answer; /* rows point to what its members point to */
    *answer = (struct ath_top_answer){ 0 };
}

static const struct ath_port_counts *old_port(const struct ath_host_counts *host,
                                              const struct ath_port_counts *port)
{
    for (size_t i = 0; i < host->port_count; i++) {
        const struct ath_port_counts *one = &host->ports[i];
        const char *names[] = { one->netdev, one->rdma_device };
        const char *wanted[] = { port->netdev, port->rdma_device };
        bool is_same = one->rdma_port == port->rdma_port;
        for (size_t j = 0; j < ATH_COUNT(names); j++)
            is_same =
                is_same && !names[j] == !wanted[j] && (!names[j] || !strcmp(names[j], wanted[j]));
        if (is_same)
            return one;
    }
    return NULL;
}

/* An InfiniBand port counts the bytes of its network device as well; an Ethernet port's RDMA goes
 * around the network device and is counted apart. */
static int64_t both(const struct ath_port_counts *port, int64_t link, int64_t rdma)
{
    return port->link_layer == ATH_LAYER_INFINIBAND && rdma >= 0 ? rdma : ath_top_sum(link, rdma);
}

static void take_port(struct ath_top_port *out, const struct ath_port_counts *old,
                      const struct ath_port_counts *now, uint64_t passed_ms)
{
    const struct ath_port_counts none = { .received_bytes = ATH_UNKNOWN,
                                          .sent_bytes = ATH_UNKNOWN,
                                          .rdma_received_bytes = ATH_UNKNOWN,
                                          .rdma_sent_bytes = ATH_UNKNOWN };
    const struct ath_port_counts *before = old ? old : &none;

    out->rdma_received_bytes_s =
        ath_top_rate(before->rdma_received_bytes, now->rdma_received_bytes, passed_ms);
    out->rdma_sent_bytes_s = ath_top_rate(before->rdma_sent_bytes, now->rdma_sent_bytes, passed_ms);
    out->received_bytes_s =
        both(now, ath_top_rate(before->received_bytes, now->received_bytes, passed_ms),
             out->rdma_received_bytes_s);
    out->sent_bytes_s = both(now, ath_top_rate(before->sent_bytes, now->sent_bytes, passed_ms),
                             out->rdma_sent_bytes_s);
    ath_history_add(&out->received, out->received_bytes_s);
    ath_history_add(&out->sent, out->sent_bytes_s);
}

/* Ports that were found again keep their histories; the ports themselves do not change while the
 * screen is open. */
static void take_ports(struct ath_top *top, const struct ath_host_counts *host, uint64_t passed_ms)
{
    if (!top->ports)
        top->ports = ath_xalloc(host->port_count * sizeof *top->ports);
    top->port_count = host->port_count;
    for (size_t i = 0; i < host->port_count; i++) {
        struct ath_top_port *port = &top->ports[i];
        take_port(port, old_port(&top->host, &host->ports[i]), &host->ports[i], passed_ms);
        free(port->facts.netdev);
        free(port->facts.rdma_device);
        port->facts = host->ports[i];
        port->facts.netdev = ath_xstrdup(host->ports[i].netdev);
        port->facts.rdma_device = ath_xstrdup(host->ports[i].rdma_device);
    }
}

void ath_top_take_host(struct ath_top *top, struct ath_host_counts *host)
{
    const struct ath_host_counts *old = &top->host;
    uint64_t passed_ms = old->at_ms ? host->at_ms - old->at_ms : 0;
    bool is_known = old->at_ms && old->all_ticks >= 0 && host->all_ticks > old->all_ticks &&
                    host->busy_ticks >= old->busy_ticks;

    top->now_ms = host->at_ms;
    top->host_answers++;
    top->cpu_percent = is_known ? ath_top_percent(host->busy_ticks - old->busy_ticks,
                                                  host->all_ticks - old->all_ticks)
                                : ATH_UNKNOWN;
    take_ports(top, host, passed_ms);
    ath_host_counts_free(&top->host);
    top->host = *host;
    *host = (struct ath_host_counts){ 0 };
}
