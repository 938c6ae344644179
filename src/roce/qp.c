/*
 * Queue pairs over libibverbs.
 *
 * States and their attributes follow the InfiniBand Architecture, volume 1, section 10.3.1 and
 * ibv_modify_qp(3). For RoCE, the kernel resolves the other side's address when the pair becomes
 * ready to receive (ib_core, ib_resolve_eth_dmac). So a missing route, an unfinished duplicate
 * address detection and a wrong GID all appear as a failure of that step.
 */
#include "config.h"

#include "roce/qp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/i18n.h"

enum {
    INLINE_WISH = 220, /* the value of perftest's latency tests */
    RECEIVES_MIN = 64,
    REAP_MAX = 32,
    MIN_RNR_TIMER = 12, /* 0.64 ms */
    ACK_TIMEOUT = 17,   /* 0.54 s: a busy machine answers late, and soft-RoCE answers a repeated
                           packet with an error */
    RETRIES = 7,        /* the maximum; for "receiver not ready" it means without limit */
    HOP_LIMIT = 64,
    READ_DEPTH_MAX = 16,
};
#define RECEIVE_ID                                                                                 \
    UINT64_MAX /* wr_id of receives; the wr_id of a send is the number of messages that its        \
                  completion covers */

/* Registering memory and creating queues fail with ENOMEM if RLIMIT_MEMLOCK is too low. */
static int failed(struct ath_err *err, int code, const char *what, const char *device)
{
    struct rlimit limit;
    int status = -(code ? code : EIO);

    if (code != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return ath_err_system(err, status, what, device);
    ath_err_set(err, status, ATH_E_MEMLOCK, what, device);
    ath_err_append(err, status, ": %s", strerror(ENOMEM));
    return ath_err_hint(err, status,
                        _("only %llu KiB may be locked in memory; raise the limit: ulimit -l "
                          "unlimited, in a container --ulimit memlock=-1"),
                        (unsigned long long)limit.rlim_cur / 1024);
}

void ath_qp_free(struct ath_qp *qp)
{
    if (!qp)
        return;
    if (qp->qp)
        qp->verbs->ibv_destroy_qp(qp->qp);
    if (qp->cq)
        qp->verbs->ibv_destroy_cq(qp->cq);
    if (qp->mr)
        qp->verbs->ibv_dereg_mr(qp->mr);
    if (qp->pd)
        qp->verbs->ibv_dealloc_pd(qp->pd);
    if (qp->context)
        qp->verbs->ibv_close_device(qp->context);
    if (qp->memory)
        munmap(qp->memory, 2 * qp->area_bytes);
    *qp = (struct ath_qp){ 0 };
}

static int make_memory(struct ath_qp *qp, struct ath_err *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    qp->area_bytes = ((size_t)qp->size_bytes + page - 1) / page * page;
    void *memory =
        mmap(NULL, 2 * qp->area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return ath_err_system(err, -errno, _("cannot get %zu bytes of memory"), 2 * qp->area_bytes);
    qp->memory = memory;
    errno = 0;
    qp->mr = (qp->verbs->ibv_reg_mr)(qp->pd, memory, 2 * qp->area_bytes,
                                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                         IBV_ACCESS_REMOTE_READ);
    return qp->mr ? 0
                  : failed(err, errno, _("cannot register memory with '%s'"), qp->where->device);
}

static int check_limits(struct ath_qp *qp, struct ath_err *err)
{
    uint32_t most = (uint32_t)qp->limits.max_qp_wr, cq = (uint32_t)qp->limits.max_cqe;

    if (qp->depth > most || qp->depth + RECEIVES_MIN > cq) {
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                    _("'%s' allows at most %u messages in flight"), qp->where->device, most);
        return ath_err_hint(err, -EINVAL, "--depth %u", most < cq / 4 ? most : cq / 4);
    }
    qp->receive_depth = 2 * qp->depth > RECEIVES_MIN ? 2 * qp->depth : RECEIVES_MIN;
    if (qp->receive_depth > most)
        qp->receive_depth = most;
    if (qp->receive_depth > cq - qp->depth)
        qp->receive_depth = cq - qp->depth;
    return 0;
}

static struct ibv_qp *create(struct ath_qp *qp, uint32_t inline_bytes)
{
    struct ibv_qp_init_attr wish = {
        .send_cq = qp->cq,
        .recv_cq = qp->cq,
        .qp_type = IBV_QPT_RC,
        .cap = { .max_send_wr = qp->depth,
                 .max_recv_wr = qp->receive_depth,
                 .max_send_sge = 1,
                 .max_recv_sge = 1,
                 .max_inline_data = inline_bytes },
    };
    errno = 0;
    struct ibv_qp *made = qp->verbs->ibv_create_qp(qp->pd, &wish);
    qp->max_inline_bytes = made ? inline_bytes : 0;
    return made;
}

static int make_queues(struct ath_qp *qp, struct ath_err *err)
{
    errno = 0;
    qp->cq =
        qp->verbs->ibv_create_cq(qp->context, (int)(qp->depth + qp->receive_depth), NULL, NULL, 0);
    if (!qp->cq)
        return failed(err, errno, _("cannot make a completion queue on '%s'"), qp->where->device);
    qp->qp = create(qp, INLINE_WISH);
    if (!qp->qp) /* not every device supports inline data */
        qp->qp = create(qp, 0);
    return qp->qp ? 0
                  : failed(err, errno, _("cannot make a queue pair on '%s'"), qp->where->device);
}

static int to_init(struct ath_qp *qp, struct ath_err *err)
{
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT,
        .port_num = (uint8_t)qp->where->port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };
    int fault = qp->verbs->ibv_modify_qp(
        qp->qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    return fault ? failed(err, fault, _("cannot set up a queue pair on '%s'"), qp->where->device)
                 : 0;
}

int ath_qp_open(const struct ath_perf_port *where, uint64_t size, uint32_t depth,
                struct ath_qp *out, struct ath_err *err)
{
    *out = (struct ath_qp){
        .where = where, .size_bytes = size, .depth = depth, .verbs = ath_verbs_load(err)
    };
    if (!out->verbs)
        return -ENOENT;
    int status = ath_verbs_open(out->verbs, where->device, &out->context, err);
    if (!status)
        status = ath_verbs_query_port(out->verbs, out->context, where->port, &out->port, err);
    if (status)
        return status;
    int fault = out->verbs->ibv_query_device(out->context, &out->limits);
    if (fault)
        return ath_err_system(err, -fault, _("cannot query the limits of '%s'"), where->device);
    status = check_limits(out, err);
    if (status)
        return status;
    errno = 0;
    out->pd = out->verbs->ibv_alloc_pd(out->context);
    if (!out->pd)
        return failed(err, errno, _("cannot make a protection domain on '%s'"), where->device);
    status = make_memory(out, err);
    if (!status)
        status = make_queues(out, err);
    return status ? status : to_init(out, err);
}

void ath_qp_describe(const struct ath_qp *qp, enum ath_perf_op op, struct ath_perf_endpoint *out)
{
    uint32_t psn = 0;
    int reads = qp->limits.max_qp_rd_atom;

    if (getrandom(&psn, sizeof psn, GRND_NONBLOCK) != sizeof psn)
        psn = (uint32_t)getpid();
    *out = (struct ath_perf_endpoint){
        .link_layer = (uint8_t)qp->where->link_layer,
        .mtu = (uint8_t)qp->port.active_mtu,
        .read_depth = (uint8_t)(reads < READ_DEPTH_MAX ? reads : READ_DEPTH_MAX),
        .port = (uint8_t)qp->where->port,
        .lid = qp->port.lid,
        .gid_index = ATH_UNKNOWN,
        .qp_number = qp->qp->qp_num,
        .psn = psn & 0xffffff,
        .rkey = qp->mr->rkey,
        .address =
            (uintptr_t)(op == ATH_PERF_READ ? ath_qp_send_area(qp) : ath_qp_receive_area(qp)),
        .area_bytes = qp->area_bytes,
    };
    snprintf(out->device, sizeof out->device, "%s", qp->where->device);
    snprintf(out->netdev, sizeof out->netdev, "%s", qp->where->netdev ? qp->where->netdev : "");
}

static bool is_ipv4(const uint8_t gid[16])
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    return !memcmp(gid, prefix, sizeof prefix);
}

static const char *gid_text(const uint8_t gid[16], char out[INET6_ADDRSTRLEN])
{
    return is_ipv4(gid) ? inet_ntop(AF_INET, gid + 12, out, INET6_ADDRSTRLEN)
                        : inet_ntop(AF_INET6, gid, out, INET6_ADDRSTRLEN);
}

static bool is_same_host(const struct ath_perf_endpoint *ours,
                         const struct ath_perf_endpoint *theirs)
{
    return *ours->host.boot_id && !strcmp(ours->host.boot_id, theirs->host.boot_id) &&
           ours->host.netns == theirs->host.netns;
}

static int blame_lids(const struct ath_perf_endpoint *ours, const struct ath_perf_endpoint *theirs,
                      int status, const char *sign, struct ath_err *err)
{
    ath_err_set(err, status, ATH_E_RDMA_UNREACHABLE,
                _("'%s' (LID %u) does not reach '%s' (LID %u): %s"), ours->device, ours->lid,
                theirs->device, theirs->lid, sign);
    return ath_err_hint(err, status,
                        _("both ports must be in one InfiniBand subnet with a subnet manager: "
                          "ibstat, sminfo"));
}

int ath_qp_blame(const struct ath_qp *qp, int status, const char *sign, struct ath_err *err)
{
    const struct ath_perf_endpoint *ours = &qp->ours, *theirs = &qp->theirs;
    char own[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN];
    bool is_v4 = is_ipv4(ours->gid);

    if (ours->gid_index == ATH_UNKNOWN)
        return blame_lids(ours, theirs, status, sign, err);
    ath_err_set(err, status, ATH_E_RDMA_UNREACHABLE,
                _("'%s' (GID %d, %s) does not reach '%s' (GID %d, %s): %s"), ours->device,
                ours->gid_index, gid_text(ours->gid, own), theirs->device, theirs->gid_index,
                gid_text(theirs->gid, other), sign);
    if (is_v4 != is_ipv4(theirs->gid))
        return ath_err_hint(err, status,
                            _("one GID is IPv4, the other IPv6: choose the same kind with --gid "
                              "INDEX on both sides"));
    if (is_same_host(ours, theirs) && is_v4)
        return ath_err_hint(err, status,
                            _("IPv4 GIDs of two ports of one host need policy routing; without "
                              "--gid, link-local GIDs are used"));
    if (!*ours->netdev)
        return ath_err_hint(err, status,
                            _("no route leads from one GID's address to the other's, or a firewall "
                              "drops UDP port 4791"));
    return ath_err_hint(err, status,
                        _("check that ping -I %s %s works, that no firewall drops UDP port 4791, "
                          "and that the path allows the ports' MTU"),
                        ours->netdev, other);
}

static int check_ends(const struct ath_qp *qp, struct ath_err *err)
{
    const struct ath_perf_endpoint *ours = &qp->ours, *theirs = &qp->theirs;

    if (ours->link_layer != theirs->link_layer) {
        ath_err_set(
            err, -EINVAL, ATH_E_RDMA_UNREACHABLE,
            _("'%s' and '%s' differ in their link layer: one is Ethernet, the other InfiniBand"),
            ours->device, theirs->device);
        return ath_err_hint(err, -EINVAL, _("choose other devices with --device"));
    }
    if (theirs->area_bytes < qp->size_bytes)
        return ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                           _("the other side's memory is too small for the test"));
    return 0;
}

static int to_ready_to_receive(struct ath_qp *qp, struct ath_err *err)
{
    const struct ath_perf_endpoint *ours = &qp->ours, *theirs = &qp->theirs;
    bool is_global = ours->gid_index != ATH_UNKNOWN;
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)(ours->mtu < theirs->mtu ? ours->mtu : theirs->mtu),
        .dest_qp_num = theirs->qp_number,
        .rq_psn = theirs->psn,
        .max_dest_rd_atomic = ours->read_depth,
        .min_rnr_timer = MIN_RNR_TIMER,
        .ah_attr = { .is_global = is_global,
                     .dlid = theirs->lid,
                     .port_num = (uint8_t)qp->where->port },
    };
    if (is_global) {
        memcpy(attributes.ah_attr.grh.dgid.raw, theirs->gid, 16);
        attributes.ah_attr.grh.sgid_index = (uint8_t)ours->gid_index;
        attributes.ah_attr.grh.hop_limit = HOP_LIMIT;
    }
    int fault = qp->verbs->ibv_modify_qp(qp->qp, &attributes,
                                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                             IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    return fault ? ath_qp_blame(qp, -fault, strerror(fault), err) : 0;
}

static int to_ready_to_send(struct ath_qp *qp, struct ath_err *err)
{
    const struct ath_perf_endpoint *ours = &qp->ours, *theirs = &qp->theirs;
    int reads = qp->limits.max_qp_init_rd_atom;
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = ours->psn,
        .timeout = ACK_TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = (uint8_t)(reads < theirs->read_depth ? reads : theirs->read_depth),
    };
    int fault =
        qp->verbs->ibv_modify_qp(qp->qp, &attributes,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    return fault ? ath_qp_blame(qp, -fault, strerror(fault), err) : 0;
}

int ath_qp_connect(struct ath_qp *qp, const struct ath_perf_endpoint *ours,
                   const struct ath_perf_endpoint *theirs, struct ath_err *err)
{
    qp->ours = *ours;
    qp->theirs = *theirs;
    int status = check_ends(qp, err);
    if (!status)
        status = to_ready_to_receive(qp, err);
    return status ? status : to_ready_to_send(qp, err);
}

static enum ibv_wr_opcode opcode_of(enum ath_perf_op op)
{
    static const enum ibv_wr_opcode opcodes[ATH_PERF_OP_COUNT] = {
        [ATH_PERF_WRITE] = IBV_WR_RDMA_WRITE,
        [ATH_PERF_READ] = IBV_WR_RDMA_READ,
        [ATH_PERF_SEND] = IBV_WR_SEND,
    };
    return opcodes[op];
}

int ath_qp_post(struct ath_qp *qp, enum ath_perf_op op, uint64_t size, uint32_t covers,
                struct ath_err *err)
{
    uint8_t *local = op == ATH_PERF_READ ? ath_qp_receive_area(qp) : ath_qp_send_area(qp);
    struct ibv_sge piece = { .addr = (uintptr_t)local,
                             .length = (uint32_t)size,
                             .lkey = qp->mr->lkey };
    bool is_inline = op != ATH_PERF_READ && size <= qp->max_inline_bytes;
    struct ibv_send_wr wish = {
        .wr_id = covers,
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = opcode_of(op),
        .send_flags = (covers ? IBV_SEND_SIGNALED : 0u) | (is_inline ? IBV_SEND_INLINE : 0u),
        .wr = { .rdma = { .remote_addr = qp->theirs.address, .rkey = qp->theirs.rkey } },
    };
    struct ibv_send_wr *bad;
    int fault = ibv_post_send(qp->qp, &wish, &bad);
    if (fault)
        return failed(err, fault, _("cannot post a message on '%s'"), qp->where->device);
    qp->posted++;
    return 0;
}

int ath_qp_post_receives(struct ath_qp *qp, uint32_t count, struct ath_err *err)
{
    struct ibv_sge piece = { .addr = (uintptr_t)ath_qp_receive_area(qp),
                             .length = (uint32_t)qp->area_bytes,
                             .lkey = qp->mr->lkey };
    struct ibv_recv_wr wish = { .wr_id = RECEIVE_ID, .sg_list = &piece, .num_sge = 1 }, *bad;

    for (uint32_t i = 0; i < count; i++) {
        int fault = ibv_post_recv(qp->qp, &wish, &bad);
        if (fault)
            return failed(err, fault, _("cannot post a receive on '%s'"), qp->where->device);
    }
    return 0;
}

static int broken(const struct ath_qp *qp, const struct ibv_wc *completion, struct ath_err *err)
{
    if (completion->status == IBV_WC_RETRY_EXC_ERR)
        return ath_qp_blame(qp, -EIO, _("its packets get no answer, and all retries failed"), err);
    return ath_err_set(err, -EIO, ATH_E_RDMA_FAILED, _("an operation of '%s' failed: %s"),
                       qp->where->device, qp->verbs->ibv_wc_status_str(completion->status));
}

int ath_qp_reap(struct ath_qp *qp, struct ath_err *err)
{
    struct ibv_wc completions[REAP_MAX];
    int count = ibv_poll_cq(qp->cq, REAP_MAX, completions);

    if (count < 0)
        return ath_err_set(err, -EIO, ATH_E_RDMA_FAILED,
                           _("cannot poll the completion queue of '%s'"), qp->where->device);
    for (int i = 0; i < count; i++) {
        if (completions[i].status != IBV_WC_SUCCESS)
            return broken(qp, &completions[i], err);
        if (completions[i].wr_id == RECEIVE_ID) {
            qp->received++;
            qp->unposted_receives++;
        } else
            qp->completed += completions[i].wr_id;
    }
    return count;
}
