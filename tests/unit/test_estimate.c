/* Times of collective operations, against figures worked out by hand. */
#include "config.h"

#include "place/estimate.h"

#include "base/alloc.h"
#include "made_machines.h"
#include "place/capability.h"
#include "place/measured_links.h"
#include "tree.h"
#include "unit.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static struct ath_machine machine;
static struct ath_estimate_facts facts;

static void setup(void)
{
    machine = (struct ath_machine){ 0 };
    facts = (struct ath_estimate_facts){ .gpu_count = 2,
                                         .node_count = 1,
                                         .ring_bytes_per_s = 75000000000,
                                         .nccl_gb_per_s = 60,
                                         .lowest_capability = 70,
                                         .highest_capability = 70,
                                         .is_nvlink = true };
}

static void teardown(void)
{
    ath_machine_free(&machine);
}

static void expect(enum ath_collective collective, uint64_t size, int64_t time_ns,
                   enum ath_nccl_algorithm algorithm, enum ath_nccl_protocol protocol)
{
    struct ath_nccl_estimate nccl = ath_estimate_nccl(&facts, collective, size);
    ck_assert_int_eq(nccl.estimate.time_ns, time_ns);
    ck_assert_int_eq(nccl.algorithm, algorithm);
    ck_assert_int_eq(nccl.protocol, protocol);
}

FIXTURE(setup, teardown);

/* ---- the bound of a ring ---- */

TEST(the_bound_follows_the_operation)
{
    struct ath_estimate estimate = ath_estimate_ring(&facts, ATH_ALL_REDUCE, 100 * MIB);
    ck_assert_int_eq(estimate.time_ns, 1398101); /* 2 x 1/2 x 104857600 / 75e9 s */
    ck_assert_int_eq(estimate.bus_bytes_per_s, 75000000000);
    facts.gpu_count = 4;
    ck_assert_int_eq(ath_estimate_ring(&facts, ATH_ALL_REDUCE, 64 * MIB).time_ns, 1342177);
    ck_assert_int_eq(ath_estimate_ring(&facts, ATH_ALL_GATHER, 64 * MIB).time_ns, 671089);
    ck_assert_int_eq(ath_estimate_ring(&facts, ATH_REDUCE_SCATTER, 64 * MIB).time_ns, 671089);
    estimate = ath_estimate_ring(&facts, ATH_BROADCAST, 64 * MIB);
    ck_assert_int_eq(estimate.time_ns, 894785);
    ck_assert_int_eq(estimate.algorithm_bytes_per_s, 75000000000);
    estimate = ath_estimate_ring(&facts, ATH_ALL_GATHER, 64 * MIB);
    ck_assert_int_eq(estimate.algorithm_bytes_per_s, 100000000000);
    ck_assert_int_eq(estimate.bus_bytes_per_s, 75000000000);
}

TEST(unknown_bandwidths_have_no_bound)
{
    facts.ring_bytes_per_s = ATH_UNKNOWN;
    ck_assert_int_eq(ath_estimate_ring(&facts, ATH_ALL_REDUCE, MIB).time_ns, ATH_UNKNOWN);
    facts.ring_bytes_per_s = 1;
    ck_assert_int_eq(ath_estimate_ring(&facts, ATH_ALL_REDUCE, UINT64_MAX).time_ns, ATH_UNKNOWN);
}

TEST(one_gpu_takes_no_time)
{
    facts.gpu_count = 1;
    struct ath_estimate estimate = ath_estimate_ring(&facts, ATH_ALL_REDUCE, MIB);
    ck_assert_int_eq(estimate.time_ns, 0);
    ck_assert_int_eq(estimate.bus_bytes_per_s, ATH_UNKNOWN);
}

/* ---- NCCL's model ---- */

TEST(nccl_over_nvlink)
{
    /* 6.6 + 2 x 0.6 + 1024 / (1000 x 60 / 4) us */
    expect(ATH_ALL_REDUCE, KIB, 7868, ATH_NCCL_RING, ATH_NCCL_LL);
    /* 8.4 + 2 x 3.4 + 104857600 / (1000 x 60) us */
    expect(ATH_ALL_REDUCE, 100 * MIB, 1762827, ATH_NCCL_RING, ATH_NCCL_SIMPLE);
    facts.gpu_count = 4;
    /* 8.4 + 3 x 3.4 + 67108864 / (1000 x 60 x 4 / 3) us */
    expect(ATH_ALL_GATHER, 64 * MIB, 857461, ATH_NCCL_RING, ATH_NCCL_SIMPLE);
    expect(ATH_REDUCE_SCATTER, 64 * MIB, 857461, ATH_NCCL_RING, ATH_NCCL_SIMPLE);
    /* 8.4 + 3.4 + 67108864 / (1000 x 60) us */
    expect(ATH_BROADCAST, 64 * MIB, 1130281, ATH_NCCL_RING, ATH_NCCL_SIMPLE);
}

TEST(nccl_takes_a_tree_of_many_gpus)
{
    facts.gpu_count = 64;
    facts.nccl_gb_per_s = 120;
    /* 14 + 2 x 63 x 1.25 + 4194304 / (1000 x 120 x 0.92 x 7/9 x 0.5 x 0.8) us */
    expect(ATH_ALL_REDUCE, 4 * MIB, 293617, ATH_NCCL_TREE, ATH_NCCL_LL128);
}

/* With another capability, or two of them, LL128 is off: then it is the ring with LL, 6.6 +
 * 126 x 0.6 + 4194304 / (1000 x 120 / 4 x 64 / 126) us. */
TEST(nccl_uses_ll128_on_tested_gpus_only)
{
    facts.gpu_count = 64;
    facts.nccl_gb_per_s = 120;
    facts.highest_capability = 80;
    expect(ATH_ALL_REDUCE, 4 * MIB, 357451, ATH_NCCL_RING, ATH_NCCL_LL);
    facts.lowest_capability = facts.highest_capability = 75;
    expect(ATH_ALL_REDUCE, 4 * MIB, 357451, ATH_NCCL_RING, ATH_NCCL_LL);
}

TEST(nccl_over_pcie)
{
    facts.is_nvlink = false;
    facts.nccl_gb_per_s = 12;
    /* 8.4 + 2 x 5.7 + 1048576 / (1000 x 12) us */
    expect(ATH_ALL_REDUCE, MIB, 107181, ATH_NCCL_RING, ATH_NCCL_SIMPLE);
}

TEST(nccl_without_a_figure)
{
    facts.lack = ATH_NCCL_NO_CAPABILITY;
    ck_assert_int_eq(ath_estimate_nccl(&facts, ATH_ALL_REDUCE, MIB).estimate.time_ns, ATH_UNKNOWN);
}

/* ---- looking at machines ---- */

TEST(facts_of_an_ac922)
{
    const size_t pair[] = { 0, 1 }, all[] = { 0, 1, 2, 3, 4, 5 };

    made_ac922_six(&machine);
    ath_estimate_look(&machine, pair, 2, &facts);
    ck_assert_int_eq(facts.lack, ATH_NCCL_COMPLETE);
    ck_assert_int_eq(facts.ring_bytes_per_s, 50000000000);
    ck_assert(facts.nccl_gb_per_s > 39.9 && facts.nccl_gb_per_s < 40.1); /* 2 links of 20 */
    ck_assert(facts.is_nvlink && !facts.has_chords && !facts.may_sum);
    ck_assert_int_eq(facts.lowest_capability, 70);
    ath_estimate_look(&machine, all, 6, &facts);
    ck_assert_int_eq(facts.ring_bytes_per_s, 32000000000);
    ck_assert(facts.nccl_gb_per_s > 31.9 && facts.nccl_gb_per_s < 32.1);
    ck_assert_uint_eq(facts.slowest, 2);
    ck_assert(!facts.is_nvlink);
    ath_estimate_look(&machine, all, 1, &facts);
    ck_assert_int_eq(facts.lack, ATH_NCCL_ONE_GPU);
}

TEST(facts_that_lack)
{
    const size_t pair[] = { 0, 1 };

    made_b200(&machine);
    ath_estimate_look(&machine, pair, 2, &facts);
    ck_assert_int_eq(facts.lack, ATH_NCCL_NO_CAPABILITY);
    ck_assert_int_eq(facts.ring_bytes_per_s, 900000000000);
    ck_assert(facts.nccl_gb_per_s == 0); /* the capability has no row */
    machine.gpus[0].vendor_id = 0x1002;
    ath_estimate_look(&machine, pair, 2, &facts);
    ck_assert_int_eq(facts.lack, ATH_NCCL_NOT_NVIDIA);
}

TEST(capabilities_of_gpus)
{
    ck_assert_int_eq(ath_compute_capability(0x10de, 0x1db5), 70);
    ck_assert_int_eq(ath_compute_capability(0x10de, 0x20b2), 80);
    ck_assert_int_eq(ath_compute_capability(0x10de, 0x2335), 90);
    ck_assert_int_eq(ath_compute_capability(0x10de, 0x0001), ATH_UNKNOWN);
    ck_assert_int_eq(ath_compute_capability(0x1002, 0x1db5), ATH_UNKNOWN);
}

/* NCCL has 18 links of 20.6 GB/s on an H200, and 12 GB/s of the 15.754 of PCIe 3.0 x16. */
TEST(facts_of_other_ways)
{
    const size_t pair[] = { 0, 1 }, three[] = { 0, 1, 2 };

    made_b200(&machine);
    for (size_t i = 0; i < 3; i++)
        machine.gpus[i].device_id = 0x2335;
    ath_estimate_look(&machine, three, 3, &facts);
    ck_assert_int_eq(facts.lack, ATH_NCCL_COMPLETE);
    ck_assert(facts.nccl_gb_per_s > 370.7 && facts.nccl_gb_per_s < 370.9);
    ck_assert(facts.may_sum && !facts.has_chords);
    for (size_t i = 0; i < 2; i++) {
        machine.gpus[i].nvlink_count = 0;
        machine.gpus[i].has_nvlinks = true;
        machine.gpus[i].pcie_mbps = 126032;
    }
    ath_estimate_look(&machine, pair, 2, &facts);
    ck_assert_int_eq(facts.lack, ATH_NCCL_COMPLETE);
    ck_assert(facts.nccl_gb_per_s > 11.99 && facts.nccl_gb_per_s < 12.01);
}

/* ---- measured copies beside the links ---- */

/* An AC922 whose links between two GPUs of a socket carry 50 GB/s, and its X-Bus 32 GB/s. */
static void measure_ac922(void)
{
    made_ac922_six(&machine);
    size_t count = machine.gpu_count * machine.gpu_count;
    machine.measured = ath_xalloc(count * sizeof *machine.measured);
    for (size_t i = 0; i < count; i++)
        machine.measured[i] = (struct ath_measured){ ATH_UNKNOWN, ATH_UNKNOWN };
}

static void set_copies(size_t a, size_t b, int64_t bytes_per_s)
{
    machine.measured[a * machine.gpu_count + b].bytes_per_s = bytes_per_s;
    machine.measured[b * machine.gpu_count + a].bytes_per_s = bytes_per_s;
}

TEST(the_pair_that_lags_most_is_the_slowest)
{
    struct ath_slow_pair pair;

    measure_ac922();
    ck_assert(!ath_measured_slowest(&machine, &pair));
    set_copies(0, 1, 25000000000);
    set_copies(0, 3, 16000000000);
    ck_assert(!ath_measured_slowest(&machine, &pair));
    set_copies(0, 3, 15900000000);
    set_copies(4, 5, 20000000000);
    ck_assert(ath_measured_slowest(&machine, &pair));
    ck_assert_uint_eq(pair.a, 4);
    ck_assert_uint_eq(pair.b, 5);
    ck_assert_int_eq(pair.measured_bytes_per_s, 20000000000);
    ck_assert_int_eq(pair.expected_bytes_per_s, 50000000000);
}

TEST(one_direction_alone_is_not_compared)
{
    struct ath_slow_pair pair;

    measure_ac922();
    machine.measured[1].bytes_per_s = 1000000000;
    ck_assert(!ath_measured_slowest(&machine, &pair));
}

TEST(an_all_reduce_by_measured_copies_and_by_the_links)
{
    measure_ac922();
    ck_assert_uint_eq(machine.gpu_count, 6);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < i; j++)
            set_copies(i, j, 16000000000);
    /* 2 x 5/6 x 104857600 / 32e9 s; the ring crosses the X-Bus */
    ck_assert_int_eq(ath_measured_all_reduce_ns(&machine, false, 100 * MIB), 5461333);
    ck_assert_int_eq(ath_measured_all_reduce_ns(&machine, true, 100 * MIB), 10922667);
    free(machine.measured);
    machine.measured = NULL;
    ck_assert_int_eq(ath_measured_all_reduce_ns(&machine, true, 100 * MIB), ATH_UNKNOWN);
    ck_assert_int_eq(ath_measured_all_reduce_ns(&machine, false, 100 * MIB), 5461333);
}

TEST(one_gpu_has_no_all_reduce)
{
    made_laptop(&machine);
    ck_assert_int_eq(ath_measured_all_reduce_ns(&machine, false, 100 * MIB), ATH_UNKNOWN);
}
