/* The model of `aitherion top`. */
#include "config.h"

#include "cli/top/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/schema.h"

/* ---- histories and rates ---- */

void ath_history_add(struct ath_history *history, int64_t value)
{
    history->values[history->count++ % ATH_HISTORY] = value;
}

int64_t ath_history_at(const struct ath_history *history, size_t age)
{
    if (age >= history->count || age >= ATH_HISTORY)
        return ATH_UNKNOWN;
    return history->values[(history->count - 1 - age) % ATH_HISTORY];
}

int64_t ath_history_greatest(const struct ath_history *history, size_t count)
{
    int64_t greatest = ATH_UNKNOWN;
    for (size_t age = 0; age < count; age++) {
        int64_t value = ath_history_at(history, age);
        greatest = value > greatest ? value : greatest;
    }
    return greatest;
}

/* Returns the difference of two counts for each second. */
static int64_t rate(int64_t before, int64_t now, uint64_t passed_ms)
{
    if (before < 0 || now < before || !passed_ms)
        return ATH_UNKNOWN;
    return (int64_t)((double)(now - before) * 1000 / (double)passed_ms + 0.5);
}

static int64_t percent(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? ATH_UNKNOWN
                                  : (int64_t)((double)part * 100 / (double)whole + 0.5);
}

/* Adds what is known; two unknown values stay unknown. */
static int64_t sum(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : a + b;
}

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
        rate(before.nvlink_received_bytes, now->nvlink_received_bytes, passed_ms);
    out->nvlink_sent_bytes_s = rate(before.nvlink_sent_bytes, now->nvlink_sent_bytes, passed_ms);
    out->traffic_bytes_s = sum(sum(now->pcie_received_bytes_s, now->pcie_sent_bytes_s),
                               sum(out->nvlink_received_bytes_s, out->nvlink_sent_bytes_s));
    ath_history_add(&out->busy, now->busy_percent);
    ath_history_add(&out->memory, percent(now->memory_used_bytes, now->memory_total_bytes));
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

/* ---- sessions ---- */

const struct ath_top_session *ath_top_find(const struct ath_top *top, size_t server, uint64_t id)
{
    for (size_t i = 0; i < top->session_count; i++)
        if (top->sessions[i].server == server && top->sessions[i].id == id)
            return &top->sessions[i];
    return NULL;
}

int64_t ath_top_memory_on(const struct ath_top_session *session, int gpu)
{
    for (size_t i = 0; i < session->facts->use_count; i++)
        if ((int)session->facts->uses[i].device == gpu)
            return session->facts->uses[i].memory_used_bytes;
    return 0;
}

static const struct ath_session_figures *figures_of(const struct ath_top_answer *answer,
                                                    uint64_t id)
{
    for (size_t i = 0; answer->has_figures && i < answer->figures.session_count; i++)
        if (answer->figures.sessions[i].id == id)
            return &answer->figures.sessions[i];
    return NULL;
}

static void add_use(struct ath_top_session *out, const struct ath_runtime_use *use,
                    int64_t *most_bytes)
{
    int64_t used = use->memory_used_bytes;

    if (used < 0 || out->memory_bytes < 0)
        out->memory_bytes = ATH_UNKNOWN;
    else
        out->memory_bytes += used;
    if (use->memory_limit_bytes >= 0)
        out->limit_bytes = sum(out->limit_bytes, use->memory_limit_bytes);
    if (used <= 0)
        return;
    out->is_on_several = out->is_on_several || *most_bytes > 0;
    if (used > *most_bytes) {
        *most_bytes = used;
        out->gpu = (int)use->device;
    }
}

static void take_memory(struct ath_top_session *out)
{
    int64_t most_bytes = 0;

    out->memory_bytes = 0;
    out->limit_bytes = ATH_UNKNOWN;
    out->gpu = ATH_UNKNOWN;
    out->is_on_several = false;
    for (size_t i = 0; i < out->facts->use_count; i++)
        add_use(out, &out->facts->uses[i], &most_bytes);
}

/* A wait that no bucket counts is unknown, as are all of them. */
static int64_t waits_of(const struct ath_session_figures *figures)
{
    int64_t waits = 0;
    for (size_t i = 0; i < ATH_COUNT(figures->waits); i++)
        if (figures->waits[i] < 0)
            return ATH_UNKNOWN;
        else
            waits += figures->waits[i];
    return waits;
}

/* Takes the mean duration of the waits since the last answer. */
static int64_t mean_wait(const struct ath_top_session *out, const struct ath_session_figures *now,
                         int64_t waits)
{
    int64_t more = waits - out->before.waits;
    if (!out->before.at_ms || out->before.waits < 0 || out->before.waited_us < 0 || more <= 0 ||
        now->waited_us < out->before.waited_us)
        return ATH_UNKNOWN;
    return (now->waited_us - out->before.waited_us) / more;
}

/* The time that the GPUs worked is exact; a server without it may know its last sample. */
static int64_t busy_of(const struct ath_top_session *out, const struct ath_session_figures *now,
                       uint64_t passed_ms)
{
    int64_t us_per_s = rate(out->before.gpu_time_us, now->gpu_time_us, passed_ms);
    return now->busy_percent >= 0 ? now->busy_percent
           : us_per_s >= 0        ? (us_per_s + 5000) / 10000
                                  : ATH_UNKNOWN;
}

/* Returns the percentage of the time that passed in which a count of microseconds grew. */
static int64_t part_of_time(int64_t before_us, int64_t now_us, uint64_t passed_ms)
{
    int64_t us_per_s = rate(before_us, now_us, passed_ms);
    return us_per_s < 0 ? ATH_UNKNOWN : us_per_s > 1000000 ? 100 : (us_per_s + 5000) / 10000;
}

static void take_turns(struct ath_top_session *out, const struct ath_session_figures *now,
                       uint64_t passed_ms)
{
    const struct ath_time_claim *claim = &out->facts->turn.claim;
    bool is_known = passed_ms > 0;

    out->share_percent = claim->share_percent ? claim->share_percent : ATH_UNKNOWN;
    out->held_percent =
        is_known ? part_of_time(out->before.held_us, now->held_us, passed_ms) : ATH_UNKNOWN;
    out->queued_percent = is_known
                              ? part_of_time(out->before.queued_us, now->turn_waited_us, passed_ms)
                              : ATH_UNKNOWN;
    out->before.held_us = now->held_us;
    out->before.queued_us = now->turn_waited_us;
}

static void take_counts(struct ath_top_session *out, const struct ath_session_figures *now,
                        uint64_t at_ms)
{
    uint64_t passed_ms = out->before.at_ms ? at_ms - out->before.at_ms : 0;
    int64_t waits = waits_of(now);

    out->calls = now->calls;
    out->calls_s = rate(out->before.calls, now->calls, passed_ms);
    out->received_bytes_s = rate(out->before.received, now->received_bytes, passed_ms);
    out->sent_bytes_s = rate(out->before.sent, now->sent_bytes, passed_ms);
    out->traffic_bytes_s = sum(out->received_bytes_s, out->sent_bytes_s);
    out->gpu_time_us = now->gpu_time_us;
    out->busy_percent = busy_of(out, now, passed_ms);
    out->wait_us = mean_wait(out, now, waits);
    take_turns(out, now, passed_ms);
    out->transport = now->transport;
    out->before.at_ms = at_ms;
    out->before.calls = now->calls;
    out->before.received = now->received_bytes;
    out->before.sent = now->sent_bytes;
    out->before.gpu_time_us = now->gpu_time_us;
    out->before.waits = waits;
    out->before.waited_us = now->waited_us;
}

static void take_session(const struct ath_top *top, size_t server,
                         const struct ath_runtime_session *facts,
                         const struct ath_top_answer *answer, struct ath_top_session *out)
{
    const struct ath_top_session *old = ath_top_find(top, server, facts->id);
    const struct ath_session_figures *now = figures_of(answer, facts->id);
    struct ath_session_figures unknown;

    if (old)
        *out = *old;
    if (!now) {
        ath_session_figures_init(&unknown);
        now = &unknown;
    }
    out->server = server;
    out->runtime = top->servers[server].name;
    out->id = facts->id;
    out->facts = facts;
    take_memory(out);
    take_counts(out, now, answer->at_ms);
    ath_history_add(&out->busy, out->busy_percent);
}

static void take_sessions(struct ath_top *top, size_t server, const struct ath_top_answer *answer)
{
    const struct ath_runtime_sessions *list = &answer->group.sessions;
    struct ath_top_session *sessions = NULL;
    size_t count = 0, at = 0;

    for (; at < top->session_count && top->sessions[at].server < server; at++)
        *(struct ath_top_session *)ath_push(&sessions, &count, sizeof *sessions) =
            top->sessions[at];
    for (size_t i = 0; i < list->count; i++)
        take_session(top, server, &list->items[i], answer,
                     ath_push(&sessions, &count, sizeof *sessions));
    for (; at < top->session_count; at++)
        if (top->sessions[at].server != server)
            *(struct ath_top_session *)ath_push(&sessions, &count, sizeof *sessions) =
                top->sessions[at];
    free(top->sessions);
    top->sessions = sessions;
    top->session_count = count;
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
    take_sessions(top, index, answer);
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
    return port->link_layer == ATH_LAYER_INFINIBAND && rdma >= 0 ? rdma : sum(link, rdma);
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
        rate(before->rdma_received_bytes, now->rdma_received_bytes, passed_ms);
    out->rdma_sent_bytes_s = rate(before->rdma_sent_bytes, now->rdma_sent_bytes, passed_ms);
    out->received_bytes_s = both(now, rate(before->received_bytes, now->received_bytes, passed_ms),
                                 out->rdma_received_bytes_s);
    out->sent_bytes_s =
        both(now, rate(before->sent_bytes, now->sent_bytes, passed_ms), out->rdma_sent_bytes_s);
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
    top->cpu_percent =
        is_known ? percent(host->busy_ticks - old->busy_ticks, host->all_ticks - old->all_ticks)
                 : ATH_UNKNOWN;
    take_ports(top, host, passed_ms);
    ath_host_counts_free(&top->host);
    top->host = *host;
    *host = (struct ath_host_counts){ 0 };
}

/* ---- the table of sessions ---- */

const char *ath_top_from(const struct ath_top_session *session)
{
    return session->facts->host ? session->facts->host : session->facts->peer;
}

static const char *text_of(const struct ath_top *top, const struct ath_top_session *session,
                           enum ath_top_sort key)
{
    const char *text = key == ATH_TOP_PROGRAM    ? session->facts->program
                       : key == ATH_TOP_IDENTITY ? session->facts->identity
                       : key == ATH_TOP_FROM     ? ath_top_from(session)
                       : key == ATH_TOP_SERVER   ? top->servers[session->server].name
                                                 : NULL;
    return text ? text : "";
}

static int64_t number_of(const struct ath_top_session *session, enum ath_top_sort key)
{
    switch (key) {
    case ATH_TOP_ID:
        return (int64_t)session->id;
    case ATH_TOP_GPU:
        return session->gpu;
    case ATH_TOP_MEMORY:
        return session->memory_bytes;
    case ATH_TOP_BUSY:
        return session->busy_percent;
    case ATH_TOP_GPU_TIME:
        return session->gpu_time_us;
    case ATH_TOP_CALLS:
        return session->calls_s;
    case ATH_TOP_TRAFFIC:
        return session->traffic_bytes_s;
    case ATH_TOP_WAIT:
        return session->wait_us;
    case ATH_TOP_SHARE:
        return session->share_percent;
    case ATH_TOP_HELD:
        return session->held_percent;
    case ATH_TOP_QUEUED:
        return session->queued_percent;
    case ATH_TOP_AGE:
        return (int64_t)session->facts->age_ms;
    default:
        return 0;
    }
}

static bool is_text(enum ath_top_sort key)
{
    return key == ATH_TOP_PROGRAM || key == ATH_TOP_IDENTITY || key == ATH_TOP_FROM ||
           key == ATH_TOP_SERVER;
}

/* Numbers that only name something go upwards; quantities have the greatest first. */
static bool goes_up(enum ath_top_sort key)
{
    return is_text(key) || key == ATH_TOP_ID || key == ATH_TOP_GPU;
}

struct sorting {
    const struct ath_top *top;
    const struct ath_top_order *order;
};

static int compare(const void *left, const void *right, void *data)
{
    const struct sorting *sorting = data;
    const struct ath_top_order *order = sorting->order;
    size_t indexes[] = { *(const size_t *)left, *(const size_t *)right };
    const struct ath_top_session *a = &sorting->top->sessions[indexes[0]],
                                 *b = &sorting->top->sessions[indexes[1]];
    int64_t numbers[] = { number_of(a, order->key), number_of(b, order->key) };
    int result = is_text(order->key) ? strcmp(text_of(sorting->top, a, order->key),
                                              text_of(sorting->top, b, order->key))
                                     : (numbers[0] > numbers[1]) - (numbers[0] < numbers[1]);

    if (goes_up(order->key) == order->is_reversed)
        result = -result;
    return result ? result : (indexes[0] > indexes[1]) - (indexes[0] < indexes[1]);
}

/* A number is that of a session: the digits of addresses do not count. */
static bool is_wanted(const struct ath_top *top, const struct ath_top_session *session,
                      const char *filter)
{
    static const enum ath_top_sort texts[] = { ATH_TOP_PROGRAM, ATH_TOP_IDENTITY, ATH_TOP_FROM,
                                               ATH_TOP_SERVER };
    ath_auto_free char *id = ath_xasprintf("%" PRIu64, session->id);
    if (!filter || !*filter || !strcmp(id, filter))
        return true;
    if (!filter[strspn(filter, "0123456789")])
        return false;
    for (size_t i = 0; i < ATH_COUNT(texts); i++)
        if (strcasestr(text_of(top, session, texts[i]), filter))
            return true;
    return session->facts->peer && strcasestr(session->facts->peer, filter);
}

size_t *ath_top_sorted(const struct ath_top *top, const struct ath_top_order *order,
                       size_t *out_count)
{
    struct sorting sorting = { top, order };
    size_t *indexes = ath_xalloc(top->session_count * sizeof *indexes), count = 0;

    for (size_t i = 0; i < top->session_count; i++)
        if (is_wanted(top, &top->sessions[i], order->filter))
            indexes[count++] = i;
    qsort_r(indexes, count, sizeof *indexes, compare, &sorting);
    *out_count = count;
    return indexes;
}
