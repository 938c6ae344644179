/* One queue pair of an RDMA device that a made libibverbs has (made_rdma.h). */
#include "config.h"

#include "roce/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "rdma_machine.h"
#include "unit.h"

static struct ath_qp qp;

/* Opens a queue pair of the first port, and keeps it for the test. */
static int open_pair(uint64_t size, uint32_t depth)
{
    return ath_qp_open(&ports[0], size, depth, &qp, &err);
}

static void drop_pair(void)
{
    ath_qp_free(&qp);
    ath_qp_free(&qp); /* twice is no harm */
    drop_machine();
}

FIXTURE(make_machine, drop_pair);

/* The first test: the library is loaded once. */
TEST(needs_the_library)
{
    rdma.fails = "dlopen";
    ck_assert_int_eq(open_pair(1, 1), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_LIBRARY);
}

/* Each call that can fail, and what the error says. */
static const struct {
    const char *function;
    int code, status;
    enum ath_error error;
    const char *words, *hint;
} failures[] = {
    { "ibv_get_device_list", ENOSYS, -ENODEV, ATH_E_NOT_FOUND, "does not show", "ib_uverbs" },
    { "ibv_open_device", EACCES, -EACCES, ATH_E_NO_ACCESS, "cannot open the RDMA device 'rxe1'",
      "/dev/infiniband" },
    { "ibv_open_device", 0, -ENODEV, ATH_E_NOT_FOUND, "cannot open the RDMA device 'rxe1'", NULL },
    { "ibv_query_port", EACCES, -EACCES, ATH_E_NO_ACCESS, "cannot query port 1 of 'rxe1'", NULL },
    { "ibv_query_device", EACCES, -EACCES, ATH_E_NO_ACCESS, "cannot query the limits of 'rxe1'",
      NULL },
    { "ibv_alloc_pd", EACCES, -EACCES, ATH_E_NO_ACCESS, "cannot make a protection domain on 'rxe1'",
      NULL },
    { "ibv_reg_mr", EACCES, -EACCES, ATH_E_NO_ACCESS, "cannot register memory with 'rxe1'", NULL },
    { "ibv_reg_mr", ENOMEM, -ENOMEM, ATH_E_MEMLOCK, "cannot register memory with 'rxe1'",
      "only 64 KiB may be locked" },
    { "ibv_create_cq", ENOMEM, -ENOMEM, ATH_E_MEMLOCK, "cannot make a completion queue on 'rxe1'",
      "ulimit -l" },
    { "ibv_create_qp", ENOMEM, -ENOMEM, ATH_E_MEMLOCK, "cannot make a queue pair on 'rxe1'",
      "ulimit -l" },
    { "INIT", EACCES, -EACCES, ATH_E_NO_ACCESS, "cannot set up a queue pair on 'rxe1'", NULL },
};

LOOP_TEST(says_what_failed, 0, ATH_COUNT(failures))
{
    struct rlimit before, limit;

    ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    limit = (struct rlimit){ 65536, before.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    rdma.fails = failures[_i].function;
    rdma.code = failures[_i].code;
    ck_assert_int_eq(open_pair(4096, 1), failures[_i].status);
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    ck_assert_msg(err.code == failures[_i].error, "%s: %s", rdma.fails, err.message);
    ck_assert_msg(strstr(err.message, failures[_i].words) != NULL, "%s", err.message);
    ck_assert_msg(!failures[_i].hint || strstr(err.hint, failures[_i].hint) != NULL, "%s",
                  err.hint);
}

TEST(reports_a_device_that_is_not_shown)
{
    rdma.has_no_devices = true;
    ck_assert_int_eq(open_pair(1, 1), -ENODEV);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "'rxe1'"));
}

/* The areas are whole pages, one behind the other. */
TEST(has_two_areas_of_pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    ck_assert_int_eq(open_pair(page, 1), 0);
    ck_assert_uint_eq(qp.area_bytes, page);
    ath_qp_free(&qp);
    ck_assert_int_eq(open_pair(page + 1, 1), 0);
    ck_assert_uint_eq(qp.area_bytes, 2 * page);
    ck_assert_ptr_eq(ath_qp_receive_area(&qp), ath_qp_send_area(&qp) + 2 * page);
    ck_assert_uint_eq(rdma.memory->length, 4 * page);
}

/* Depths at the limits of the device: the queue, and the completions of sends and receives. */
TEST(keeps_to_the_limits_of_the_device)
{
    static const struct {
        int most, completions;
        uint32_t depth, receives; /* 0: refused */
        const char *hint;
    } rows[] = {
        { 1024, 32768, 1, 64, NULL },
        { 1024, 32768, 33, 66, NULL },
        { 1024, 32768, 513, 1024, NULL },
        { 1024, 32768, 1024, 1024, NULL },
        { 1024, 32768, 1025, 0, "--depth 1024" },
        { 1024, 200, 136, 64, NULL },
        { 1024, 200, 100, 100, NULL },
        { 1024, 200, 137, 0, "--depth 50" },
        { 32, 32768, 16, 32, NULL },
    };

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        rdma.limits.max_qp_wr = rows[i].most;
        rdma.limits.max_cqe = rows[i].completions;
        int status = open_pair(1, rows[i].depth);
        ck_assert_msg(status == (rows[i].receives ? 0 : -EINVAL), "row %zu: %s", i, err.message);
        ck_assert_uint_eq(qp.receive_depth, rows[i].receives);
        if (status) {
            ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
            ck_assert_str_eq(err.hint, rows[i].hint);
        }
        ath_qp_free(&qp);
    }
}

/* The endpoint of another host, which a queue pair can be connected to. */
static struct ath_perf_endpoint other_end(void)
{
    struct ath_perf_endpoint end = { .link_layer = ATH_LAYER_ETHERNET,
                                     .mtu = IBV_MTU_1024,
                                     .read_depth = 3,
                                     .port = 1,
                                     .lid = 9,
                                     .gid_index = 5,
                                     .qp_number = 0x77,
                                     .psn = 0x1234,
                                     .rkey = 3,
                                     .address = 4096,
                                     .area_bytes = 4096,
                                     .gid = { 0xfe, 0x80, [15] = 2 },
                                     .device = "mlx5_1" };
    return end;
}

static struct ath_perf_endpoint own_end(enum ath_perf_op op)
{
    struct ath_perf_endpoint end;

    ath_qp_describe(&qp, op, &end);
    end.gid_index = 3;
    end.gid[0] = 0xfe, end.gid[1] = 0x80, end.gid[15] = 1;
    return end;
}

TEST(describes_itself)
{
    ck_assert_int_eq(open_pair(100, 4), 0);
    struct ath_perf_endpoint end = own_end(ATH_PERF_WRITE);
    ck_assert_str_eq(end.device, "rxe1");
    ck_assert_str_eq(end.netdev, "eth1");
    ck_assert_uint_eq(end.mtu, IBV_MTU_4096);
    ck_assert_uint_eq(end.lid, 11);
    ck_assert_uint_eq(end.read_depth, 16); /* of 128 */
    ck_assert_uint_eq(end.rkey, qp.mr->rkey);
    ck_assert_uint_eq(end.qp_number, qp.qp->qp_num);
    ck_assert_uint_eq(end.address, (uintptr_t)ath_qp_receive_area(&qp));
    ck_assert_uint_eq(own_end(ATH_PERF_SEND).address, (uintptr_t)ath_qp_receive_area(&qp));
    ck_assert_uint_eq(own_end(ATH_PERF_READ).address, (uintptr_t)ath_qp_send_area(&qp));
    qp.limits.max_qp_rd_atom = 1;
    ck_assert_uint_eq(own_end(ATH_PERF_READ).read_depth, 1);
}

TEST(connects_as_both_ends_can)
{
    struct ath_perf_endpoint other = other_end();

    ck_assert_int_eq(open_pair(100, 4), 0);
    struct ath_perf_endpoint own = own_end(ATH_PERF_WRITE);
    ck_assert_int_eq(ath_qp_connect(&qp, &own, &other, &err), 0);
    const struct ibv_qp_attr *set = &((struct made_pair *)qp.qp)->attributes;
    ck_assert_int_eq(set->path_mtu, IBV_MTU_1024);
    ck_assert_uint_eq(set->dest_qp_num, 0x77);
    ck_assert_uint_eq(set->rq_psn, 0x1234);
    ck_assert_uint_eq(set->sq_psn, own.psn);
    ck_assert_uint_eq(set->max_dest_rd_atomic, 16);
    ck_assert_uint_eq(set->max_rd_atomic, 3); /* of its own 4 */
    ck_assert_uint_eq(set->ah_attr.is_global, 1);
    ck_assert_uint_eq(set->ah_attr.grh.sgid_index, 3);
    ck_assert_mem_eq(set->ah_attr.grh.dgid.raw, other.gid, 16);
    ck_assert_uint_eq(set->ah_attr.port_num, 1);
}

TEST(connects_by_lid)
{
    struct ath_perf_endpoint other = other_end();

    ck_assert_int_eq(open_pair(100, 4), 0);
    struct ath_perf_endpoint own = own_end(ATH_PERF_WRITE);
    own.gid_index = other.gid_index = ATH_UNKNOWN;
    other.mtu = IBV_MTU_4096;
    other.read_depth = 200;
    ck_assert_int_eq(ath_qp_connect(&qp, &own, &other, &err), 0);
    const struct ibv_qp_attr *set = &((struct made_pair *)qp.qp)->attributes;
    ck_assert_int_eq(set->path_mtu, IBV_MTU_4096);
    ck_assert_uint_eq(set->max_rd_atomic, 4);
    ck_assert_uint_eq(set->ah_attr.is_global, 0);
    ck_assert_uint_eq(set->ah_attr.dlid, 9);
}

TEST(refuses_ends_that_do_not_match)
{
    struct ath_perf_endpoint other = other_end();

    ck_assert_int_eq(open_pair(4096, 4), 0);
    struct ath_perf_endpoint own = own_end(ATH_PERF_WRITE);
    other.link_layer = ATH_LAYER_INFINIBAND;
    ck_assert_int_eq(ath_qp_connect(&qp, &own, &other, &err), -EINVAL);
    ck_assert_int_eq(err.code, ATH_E_RDMA_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "link layer"));
    other = other_end();
    other.area_bytes = 4095;
    ck_assert_int_eq(ath_qp_connect(&qp, &own, &other, &err), -EPROTO);
    ck_assert_int_eq(err.code, ATH_E_PEER_PROTOCOL);
}

/* Likely causes, in the order in which the hint names them. */
TEST(blames_what_is_likely)
{
    static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
    struct ath_perf_endpoint other = other_end();

    ck_assert_int_eq(open_pair(100, 4), 0);
    struct ath_perf_endpoint own = own_end(ATH_PERF_WRITE);
    rdma.fails = "RTR";
    rdma.code = ETIMEDOUT;
#define BLAMES(words)                                                                              \
    do {                                                                                           \
        ck_assert_int_eq(ath_qp_connect(&qp, &own, &other, &err), -ETIMEDOUT);                     \
        ck_assert_int_eq(err.code, ATH_E_RDMA_UNREACHABLE);                                        \
        ck_assert_msg(strstr(err.hint, words) != NULL, "%s", err.hint);                            \
    } while (0)
    BLAMES("ping -I eth1 fe80::2");
    ck_assert_ptr_nonnull(strstr(err.message, "'rxe1' (GID 3, fe80::1)"));
    ck_assert_ptr_nonnull(strstr(err.message, "'mlx5_1' (GID 5, fe80::2)"));
    *own.netdev = '\0';
    BLAMES("no route leads");
    memcpy(own.gid, v4, sizeof v4);
    BLAMES("one GID is IPv4");
    memcpy(other.gid, v4, sizeof v4);
    BLAMES("no route leads");
    ck_assert_ptr_nonnull(strstr(err.message, "10.0.0.1"));
    strcpy(own.host.boot_id, "one");
    strcpy(other.host.boot_id, "one");
    BLAMES("policy routing");
    other.host.netns = 1;
    BLAMES("no route leads");
    own.gid_index = ATH_UNKNOWN;
    BLAMES("subnet manager");
    ck_assert_ptr_nonnull(strstr(err.message, "'rxe1' (LID 11)"));
    ck_assert_ptr_nonnull(strstr(err.message, "'mlx5_1' (LID 9)"));
    own.gid_index = 3;
    rdma.fails = "RTS";
    BLAMES("no route leads");
}

/* Two of the test's own, connected to each other. */
static void connect_to_itself(void)
{
    ck_assert_int_eq(open_pair(100, 4), 0);
    struct ath_perf_endpoint own = own_end(ATH_PERF_WRITE);
    ck_assert_int_eq(ath_qp_connect(&qp, &own, &own, &err), 0);
}

TEST(counts_what_completes)
{
    connect_to_itself();
    ck_assert_int_eq(ath_qp_post(&qp, ATH_PERF_WRITE, 100, 0, &err), 0);
    ck_assert_int_eq(ath_qp_reap(&qp, &err), 0);
    ck_assert_int_eq(ath_qp_post(&qp, ATH_PERF_WRITE, 100, 2, &err), 0);
    ck_assert_uint_eq(qp.posted, 2);
    ck_assert_int_eq(ath_qp_reap(&qp, &err), 1);
    ck_assert_uint_eq(qp.completed, 2);
    ck_assert_int_eq(ath_qp_post_receives(&qp, 2, &err), 0);
    ck_assert_int_eq(ath_qp_post(&qp, ATH_PERF_SEND, 100, 1, &err), 0);
    ck_assert_int_eq(ath_qp_reap(&qp, &err), 2);
    ck_assert_uint_eq(qp.completed, 3);
    ck_assert_uint_eq(qp.received, 1);
    ck_assert_uint_eq(qp.unposted_receives, 1);
}

TEST(reports_messages_that_fail)
{
    connect_to_itself();
    rdma.fails = "ibv_post_send";
    rdma.code = EINVAL;
    ck_assert_int_eq(ath_qp_post(&qp, ATH_PERF_WRITE, 1, 1, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot post a message on 'rxe1'"));
    ck_assert_uint_eq(qp.posted, 0);
    rdma.fails = "ibv_post_recv";
    ck_assert_int_eq(ath_qp_post_receives(&qp, 1, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot post a receive on 'rxe1'"));
    rdma.fails = "ibv_poll_cq";
    ck_assert_int_eq(ath_qp_reap(&qp, &err), -EIO);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot poll"));
    rdma.fails = NULL;
    rdma.ends = IBV_WC_RETRY_EXC_ERR;
    ck_assert_int_eq(ath_qp_post(&qp, ATH_PERF_WRITE, 1, 1, &err), 0);
    ck_assert_int_eq(ath_qp_reap(&qp, &err), -EIO);
    ck_assert_int_eq(err.code, ATH_E_RDMA_UNREACHABLE);
    rdma.ends = IBV_WC_REM_ACCESS_ERR;
    ck_assert_int_eq(ath_qp_post(&qp, ATH_PERF_WRITE, 1, 1, &err), 0);
    ck_assert_int_eq(ath_qp_reap(&qp, &err), -EIO);
    ck_assert_int_eq(err.code, ATH_E_RDMA_FAILED);
    ck_assert_ptr_nonnull(strstr(err.message, "'rxe1' failed: remote access error"));
    ck_assert_uint_eq(qp.completed, 0);
}
