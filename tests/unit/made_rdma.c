/* RDMA devices in memory: made_rdma.h. */
#include "config.h"

#include "made_rdma.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/late.h"

enum { COMPLETIONS = 65536, RECEIVER_MS = 60000 };

struct made_queue {
    struct ibv_cq cq; /* first */
    struct ibv_wc *items;
    uint32_t *slots; /* of the send queue, which a completion frees */
    uint32_t first, count;
};

struct made_rdma rdma;

static bool fails(const char *function)
{
    bool is_it = rdma.fails && !strcmp(rdma.fails, function);
    if (is_it)
        errno = rdma.code;
    return is_it;
}

static struct ibv_device **get_device_list(int *count)
{
    static struct ibv_device *list[3];
    size_t shown = 0;

    if (fails("ibv_get_device_list"))
        return NULL;
    for (size_t i = 0; i < 2 && !rdma.has_no_devices; i++)
        list[shown++] = &rdma.devices[i];
    list[shown] = NULL;
    if (count)
        *count = (int)shown;
    rdma.lists++;
    return list;
}

static void free_device_list(struct ibv_device **list)
{
    (void)list;
    rdma.lists--;
}

static const char *get_device_name(struct ibv_device *device)
{
    return device->name;
}

static struct made_pair *find(uint32_t number)
{
    for (size_t i = 0; i < MADE_PAIRS; i++)
        if (rdma.pairs[i] && rdma.pairs[i]->qp.qp_num == number)
            return rdma.pairs[i];
    return NULL;
}

static bool is_within(const struct ibv_mr *mr, uint64_t address, uint64_t length)
{
    uint64_t begin = (uintptr_t)mr->addr;
    return address >= begin && address + length <= begin + mr->length;
}

static const struct ibv_mr *memory_of(const struct ibv_pd *pd)
{
    return rdma.memory && rdma.memory->pd == pd               ? rdma.memory
           : rdma.other_memory && rdma.other_memory->pd == pd ? rdma.other_memory
                                                              : NULL;
}

static void complete(struct ibv_cq *cq, const struct ibv_wc *completion, uint32_t slots)
{
    struct made_queue *queue = (struct made_queue *)cq;
    uint32_t at = (queue->first + queue->count) % COMPLETIONS;

    if (queue->count == (uint32_t)cq->cqe)
        abort(); /* the hardware ends all queue pairs */
    queue->items[at] = *completion;
    queue->slots[at] = slots;
    queue->count++;
}

static int poll(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    struct made_queue *queue = (struct made_queue *)cq;
    int taken = 0;

    if (fails("ibv_poll_cq"))
        return -1;
    pthread_mutex_lock(&rdma.lock);
    for (; taken < most && queue->count; taken++, queue->count--) {
        out[taken] = queue->items[queue->first];
        struct made_pair *pair = find(out[taken].qp_num);
        if (pair)
            pair->in_flight -= queue->slots[queue->first];
        queue->first = (queue->first + 1) % COMPLETIONS;
    }
    pthread_mutex_unlock(&rdma.lock);
    return taken;
}

/* The last byte is written last, which a test of latency relies on. */
static void copy(uint64_t to, uint64_t from, uint32_t length)
{
    uint8_t *target = (uint8_t *)(uintptr_t)to;
    const uint8_t *source = (const uint8_t *)(uintptr_t)from;

    memcpy(target, source, length - 1);
    if (rdma.is_spoiling)
        target[length / 2] ^= 1;
    __atomic_store_n(target + length - 1, source[length - 1], __ATOMIC_RELEASE);
}

/* Returns whether there is a receive to take the message. */
static bool deliver(struct made_pair *to, const struct ibv_sge *piece)
{
    if (!to->receive_count)
        return false;
    struct ibv_wc completion = { .wr_id = to->receives[0].wr_id,
                                 .opcode = IBV_WC_RECV,
                                 .byte_len = piece->length,
                                 .qp_num = to->qp.qp_num };
    copy(to->areas[0].addr, piece->addr, piece->length);
    to->receive_count--;
    memmove(to->receives, to->receives + 1, to->receive_count * sizeof *to->receives);
    memmove(to->areas, to->areas + 1, to->receive_count * sizeof *to->areas);
    complete(to->qp.recv_cq, &completion, 0);
    return true;
}

static int check_message(const struct made_pair *pair, const struct ibv_send_wr *wish)
{
    const struct ibv_mr *own = memory_of(pair->qp.pd);
    const struct ibv_sge *piece = wish->sg_list;
    bool is_inline = wish->send_flags & IBV_SEND_INLINE, is_read = wish->opcode == IBV_WR_RDMA_READ;

    if (pair->qp.state != IBV_QPS_RTS || wish->num_sge != 1 || wish->next)
        return EINVAL;
    if (!own || piece->lkey != own->lkey || !is_within(own, piece->addr, piece->length))
        return EINVAL;
    if (is_inline && (is_read || piece->length > pair->cap.max_inline_data))
        return EINVAL;
    return pair->in_flight < pair->cap.max_send_wr ? 0 : ENOMEM;
}

static int move_message(struct made_pair *pair, const struct ibv_send_wr *wish)
{
    struct made_pair *to = find(pair->attributes.dest_qp_num);
    const struct ibv_mr *memory = to ? memory_of(to->qp.pd) : NULL;
    const struct ibv_sge *piece = wish->sg_list;
    uint64_t remote = wish->wr.rdma.remote_addr, until = ath_now_ms() + RECEIVER_MS;

    if (!memory)
        return EINVAL;
    if (wish->opcode == IBV_WR_SEND) {
        while (!deliver(to, piece)) { /* "receiver not ready" is tried again */
            pthread_mutex_unlock(&rdma.lock);
            sched_yield();
            pthread_mutex_lock(&rdma.lock);
            to = find(pair->attributes.dest_qp_num);
            if (!to || ath_now_ms() > until)
                return EINVAL;
        }
        return 0;
    }
    if (wish->wr.rdma.rkey != memory->rkey || !is_within(memory, remote, piece->length))
        return EINVAL;
    if (wish->opcode == IBV_WR_RDMA_READ)
        copy(piece->addr, remote, piece->length);
    else
        copy(remote, piece->addr, piece->length);
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wish, struct ibv_send_wr **bad)
{
    struct made_pair *pair = (struct made_pair *)qp;

    *bad = wish;
    if ((!rdma.fails_on || rdma.fails_on == qp->context->device) && fails("ibv_post_send"))
        return rdma.code;
    pthread_mutex_lock(&rdma.lock);
    int fault = check_message(pair, wish);
    if (!fault && !rdma.ends)
        fault = move_message(pair, wish);
    if (!fault) {
        pair->in_flight++;
        pair->unsignalled++;
        rdma.inlined += (wish->send_flags & IBV_SEND_INLINE) != 0;
    }
    if (!fault && (wish->send_flags & IBV_SEND_SIGNALED)) {
        struct ibv_wc completion = { .wr_id = wish->wr_id,
                                     .status = rdma.ends,
                                     .qp_num = qp->qp_num };
        complete(qp->send_cq, &completion, pair->unsignalled);
        pair->unsignalled = 0;
    }
    pthread_mutex_unlock(&rdma.lock);
    return fault;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wish, struct ibv_recv_wr **bad)
{
    struct made_pair *pair = (struct made_pair *)qp;
    const struct ibv_mr *own = memory_of(qp->pd);
    const struct ibv_sge *piece = wish->sg_list;

    *bad = wish;
    if (fails("ibv_post_recv"))
        return rdma.code;
    pthread_mutex_lock(&rdma.lock);
    int fault = pair->receive_count < pair->cap.max_recv_wr ? 0 : ENOMEM;
    if (!own || piece->lkey != own->lkey || !is_within(own, piece->addr, piece->length))
        fault = EINVAL;
    if (!fault) {
        pair->receives[pair->receive_count] = *wish;
        pair->areas[pair->receive_count++] = *piece;
    }
    pthread_mutex_unlock(&rdma.lock);
    return fault;
}

static void *new_object(void *object)
{
    pthread_mutex_lock(&rdma.lock);
    rdma.alive++;
    pthread_mutex_unlock(&rdma.lock);
    return object;
}

static int free_object(void *object)
{
    pthread_mutex_lock(&rdma.lock);
    rdma.alive--;
    pthread_mutex_unlock(&rdma.lock);
    free(object);
    return 0;
}

static struct ibv_context *open_device(struct ibv_device *device)
{
    if (fails("ibv_open_device"))
        return NULL;
    struct ibv_context *context = ath_xalloc(sizeof *context);
    context->device = device;
    context->ops.poll_cq = poll;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    return new_object(context);
}

static int close_device(struct ibv_context *context)
{
    return free_object(context);
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *out)
{
    (void)context;
    *out = rdma.limits;
    return fails("ibv_query_device") ? rdma.code : 0;
}

/* The second device has the smaller MTU. */
static int query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
    struct ibv_port_attr *attributes = (struct ibv_port_attr *)out;

    if (fails("ibv_query_port") || port != 1)
        return rdma.code;
    attributes->active_mtu = context->device == &rdma.devices[0] ? IBV_MTU_4096 : IBV_MTU_1024;
    attributes->lid = context->device == &rdma.devices[0] ? 11 : 12;
    return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
    if (fails("ibv_alloc_pd"))
        return NULL;
    struct ibv_pd *pd = ath_xalloc(sizeof *pd);
    pd->context = context;
    return new_object(pd);
}

static int dealloc_pd(struct ibv_pd *pd)
{
    return free_object(pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    static uint32_t key;

    if (fails("ibv_reg_mr") || access != all)
        return NULL;
    struct ibv_mr *mr = new_object(ath_xalloc(sizeof *mr));
    pthread_mutex_lock(&rdma.lock);
    key += 16;
    *mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = address, .length = length };
    mr->lkey = key + 1;
    mr->rkey = key + 2;
    *(rdma.memory ? &rdma.other_memory : &rdma.memory) = mr;
    pthread_mutex_unlock(&rdma.lock);
    return mr;
}

static int dereg_mr(struct ibv_mr *mr)
{
    pthread_mutex_lock(&rdma.lock);
    *(rdma.memory == mr ? &rdma.memory : &rdma.other_memory) = NULL;
    pthread_mutex_unlock(&rdma.lock);
    return free_object(mr);
}

static struct ibv_cq *create_cq(struct ibv_context *context, int size, void *cq_context,
                                struct ibv_comp_channel *channel, int vector)
{
    if (fails("ibv_create_cq") || size > rdma.limits.max_cqe || cq_context || channel || vector)
        return NULL;
    struct made_queue *queue = ath_xalloc(sizeof *queue);
    queue->cq.context = context;
    queue->cq.cqe = size;
    queue->items = ath_xalloc(COMPLETIONS * sizeof *queue->items);
    queue->slots = ath_xalloc(COMPLETIONS * sizeof *queue->slots);
    return new_object(queue);
}

static int destroy_cq(struct ibv_cq *cq)
{
    struct made_queue *queue = (struct made_queue *)cq;
    free(queue->items);
    free(queue->slots);
    return free_object(queue);
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *wish)
{
    static uint32_t number = 0x11;
    uint32_t most = (uint32_t)rdma.limits.max_qp_wr;

    if (fails("ibv_create_qp") || (rdma.has_no_inline && wish->cap.max_inline_data))
        return NULL;
    if (wish->cap.max_send_wr > most || wish->cap.max_recv_wr > most ||
        wish->qp_type != IBV_QPT_RC || wish->cap.max_send_sge != 1 || wish->cap.max_recv_sge != 1)
        return NULL;
    struct made_pair *pair = new_object(ath_xalloc(sizeof *pair));
    pair->qp.context = pd->context;
    pair->qp.pd = pd;
    pair->qp.send_cq = wish->send_cq;
    pair->qp.recv_cq = wish->recv_cq;
    pair->cap = wish->cap;
    pair->receives = ath_xalloc(wish->cap.max_recv_wr * sizeof *pair->receives);
    pair->areas = ath_xalloc(wish->cap.max_recv_wr * sizeof *pair->areas);
    pthread_mutex_lock(&rdma.lock);
    pair->qp.qp_num = number++;
    rdma.inline_wish = wish->cap.max_inline_data;
    for (size_t i = 0; i < MADE_PAIRS; i++)
        if (!rdma.pairs[i]) {
            rdma.pairs[i] = pair;
            break;
        }
    pthread_mutex_unlock(&rdma.lock);
    return &pair->qp;
}

static int destroy_qp(struct ibv_qp *qp)
{
    struct made_pair *pair = (struct made_pair *)qp;

    pthread_mutex_lock(&rdma.lock);
    for (size_t i = 0; i < MADE_PAIRS; i++)
        if (rdma.pairs[i] == pair)
            rdma.pairs[i] = NULL;
    pthread_mutex_unlock(&rdma.lock);
    free(pair->receives);
    free(pair->areas);
    return free_object(pair);
}

/* The attributes that each step must have: ibv_modify_qp(3). */
static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
    static const struct {
        const char *name;
        enum ibv_qp_state from, to;
        int mask;
    } steps[] = {
        { "INIT", IBV_QPS_RESET, IBV_QPS_INIT,
          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
        { "RTR", IBV_QPS_INIT, IBV_QPS_RTR,
          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
        { "RTS", IBV_QPS_RTR, IBV_QPS_RTS,
          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
              IBV_QP_MAX_QP_RD_ATOMIC },
    };
    struct made_pair *pair = (struct made_pair *)qp;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].to != attributes->qp_state)
            continue;
        if (fails(steps[i].name))
            return rdma.code;
        if (qp->state != steps[i].from || mask != steps[i].mask)
            return EINVAL;
        if (mask & IBV_QP_AV) {
            pair->attributes.ah_attr = attributes->ah_attr;
            pair->attributes.path_mtu = attributes->path_mtu;
            pair->attributes.dest_qp_num = attributes->dest_qp_num;
            pair->attributes.rq_psn = attributes->rq_psn;
            pair->attributes.max_dest_rd_atomic = attributes->max_dest_rd_atomic;
        } else if (mask & IBV_QP_SQ_PSN) {
            pair->attributes.sq_psn = attributes->sq_psn;
            pair->attributes.max_rd_atomic = attributes->max_rd_atomic;
        } else if (attributes->port_num != 1)
            return EINVAL;
        qp->state = steps[i].to;
        return 0;
    }
    return EINVAL;
}

static const char *wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_REM_ACCESS_ERR ? "remote access error" : "another error";
}

int __wrap_ath_late_load(const char *soname, const char *package, const char *const *names,
                         void *out, struct ath_err *err);

int __wrap_ath_late_load(const char *soname, const char *package, const char *const *names,
                         void *out, struct ath_err *err)
{
    if (strcmp(soname, "libibverbs.so.1") || fails("dlopen"))
        return ath_err_set(err, -ENOENT, ATH_E_LIBRARY, "cannot load the library '%s' of '%s' (%s)",
                           soname, package, names[0]);
    *(struct ath_verbs *)out = (struct ath_verbs){
        .ibv_get_device_list = get_device_list,
        .ibv_free_device_list = free_device_list,
        .ibv_get_device_name = get_device_name,
        .ibv_open_device = open_device,
        .ibv_close_device = close_device,
        .ibv_query_device = query_device,
        .ibv_query_port = query_port,
        .ibv_alloc_pd = alloc_pd,
        .ibv_dealloc_pd = dealloc_pd,
        .ibv_reg_mr = reg_mr,
        .ibv_dereg_mr = dereg_mr,
        .ibv_create_cq = create_cq,
        .ibv_destroy_cq = destroy_cq,
        .ibv_create_qp = create_qp,
        .ibv_modify_qp = modify_qp,
        .ibv_destroy_qp = destroy_qp,
        .ibv_wc_status_str = wc_status_str,
    };
    return 0;
}

void made_rdma(void)
{
    memset(&rdma, 0, sizeof rdma);
    pthread_mutex_init(&rdma.lock, NULL);
    strcpy(rdma.devices[0].name, "rxe1");
    strcpy(rdma.devices[1].name, "rxe2");
    rdma.limits = (struct ibv_device_attr){
        .max_qp_wr = 1024, .max_cqe = 32768, .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 4
    };
}
