/* The handles of a program with several servers: each has its server's number. */
#include "config.h"

#include "cuda/client/instance.h"
#include "unit.h"

enum { INDEX = 2 };

static int to_own(unsigned int index, int device)
{
    ck_assert_uint_eq(index, INDEX);
    return device < 2 ? 5 + device : -1;
}

static int to_wire(unsigned int index, int device)
{
    ck_assert_uint_eq(index, INDEX);
    return device >= 5 && device < 7 ? device - 5 : -1;
}

static const struct ath_instance third = {
    .server = "server", .index = INDEX, .device_to_own = to_own, .device_to_wire = to_wire
};

static uint64_t numbered(uint64_t handle, unsigned int index)
{
    return handle | (uint64_t)index << ATH_INSTANCE_SHIFT;
}

TEST(a_handle_goes_to_the_program_and_back)
{
    uint64_t wire, own;
    aitherion_instance(&third);
    own = ath_instance_to_own(ATH_CUDA_KIND_CONTEXT, 0x7f0012345678);
    ck_assert_uint_eq(own, numbered(0x7f0012345678, INDEX));
    ck_assert(ath_instance_to_wire(ATH_CUDA_KIND_CONTEXT, own, &wire));
    ck_assert_uint_eq(wire, 0x7f0012345678);
    ck_assert_uint_eq(ath_instance_to_own(ATH_CUDA_KIND_CONTEXT, 0), 0);
    ck_assert_uint_eq(ath_instance_to_own(ATH_CUDA_KIND_ADDRESS, 0x7f0012345678), 0x7f0012345678);
}

/* Else a server could answer with handles of another one, and the program's calls would go there.
 */
TEST(a_server_cannot_choose_the_number)
{
    uint64_t wire;
    aitherion_instance(&third);
    for (unsigned int other = 0; other <= ATH_INSTANCE_MASK; other++) {
        uint64_t own = ath_instance_to_own(ATH_CUDA_KIND_STREAM, numbered(0x1000, other));
        ck_assert_uint_eq(own, numbered(0x1000, INDEX));
        ck_assert_int_eq(ath_instance_to_wire(ATH_CUDA_KIND_STREAM, numbered(0x1000, other), &wire),
                         other == INDEX);
    }
}

TEST(devices_are_numbered_over_all_servers)
{
    uint64_t wire;
    aitherion_instance(&third);
    ck_assert_int_eq((int)ath_instance_to_own(ATH_CUDA_KIND_DEVICE, 1), 6);
    ck_assert_int_eq((int)ath_instance_to_own(ATH_CUDA_KIND_DEVICE, 2), -1);
    ck_assert_int_eq((int)ath_instance_to_own(ATH_CUDA_KIND_DEVICE, (uint64_t)-7), -7);
    ck_assert(ath_instance_to_wire(ATH_CUDA_KIND_DEVICE, 6, &wire));
    ck_assert_uint_eq(wire, 1);
    ck_assert(!ath_instance_to_wire(ATH_CUDA_KIND_DEVICE, 0, &wire));
}

TEST(one_server_keeps_its_handles)
{
    const struct ath_instance only = { .server = NULL };
    uint64_t wire, all = numbered(0x1000, ATH_INSTANCE_MASK);
    aitherion_instance(&only);
    ck_assert_uint_eq(ath_instance_to_own(ATH_CUDA_KIND_EVENT, all), all);
    ck_assert(ath_instance_to_wire(ATH_CUDA_KIND_EVENT, all, &wire));
    ck_assert_uint_eq(wire, all);
}
