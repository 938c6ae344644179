/* The server's table of the objects whose handles the client has: kinds, parents, ends. */
#include "config.h"

#include "cuda/server/object_table.h"

#include "unit.h"

static struct ath_cuda_object_table table;

static void make(void)
{
    ath_cuda_object_table_init(&table);
}

static void end(void)
{
    ath_cuda_object_table_free(&table);
}

FIXTURE(make, end);

#define NAME(kind, handle) ((struct ath_cuda_object_name){ ATH_CUDA_KIND_##kind, (handle) })
#define NOBODY NAME(CONTEXT, 0)

static uint64_t serial(struct ath_cuda_object_name name)
{
    return ath_cuda_object_serial(&table, name, NULL);
}

static void note(struct ath_cuda_object_name name, struct ath_cuda_object_name parent)
{
    ath_cuda_object_note(&table, name, parent, true);
}

static void end_one(struct ath_cuda_object_name name)
{
    ath_cuda_object_end(&table, name, serial(name));
}

TEST(knows_what_was_noted_by_its_kind)
{
    note(NAME(STREAM, 0x1000), NOBODY);
    ck_assert_uint_ne(serial(NAME(STREAM, 0x1000)), 0);
    ck_assert_uint_eq(serial(NAME(EVENT, 0x1000)), 0);
    ck_assert_uint_eq(serial(NAME(STREAM, 0x1001)), 0);
    ck_assert_uint_eq(serial(NAME(STREAM, 0)), 0);
}

TEST(a_kernel_is_a_function_and_no_function_is_a_kernel)
{
    note(NAME(KERNEL, 0x10), NOBODY);
    note(NAME(FUNCTION, 0x20), NOBODY);
    ck_assert_uint_ne(serial(NAME(FUNCTION, 0x10)), 0);
    ck_assert_uint_eq(serial(NAME(KERNEL, 0x20)), 0);
}

TEST(children_end_with_their_parent_and_others_live_on)
{
    note(NAME(LIBRARY, 0x10), NOBODY);
    note(NAME(LIBRARY, 0x11), NOBODY);
    note(NAME(KERNEL, 0x20), NAME(LIBRARY, 0x10));
    note(NAME(KERNEL, 0x21), NAME(LIBRARY, 0x11));
    note(NAME(FUNCTION, 0x30), NAME(KERNEL, 0x20));
    end_one(NAME(LIBRARY, 0x10));
    ck_assert_uint_eq(serial(NAME(KERNEL, 0x20)), 0);
    ck_assert_uint_eq(serial(NAME(FUNCTION, 0x30)), 0);
    ck_assert_uint_ne(serial(NAME(KERNEL, 0x21)), 0);
}

TEST(a_child_that_ended_leaves_its_parent)
{
    note(NAME(GRAPH, 0x10), NOBODY);
    for (uint64_t i = 0; i < 3; i++)
        note(NAME(GRAPH_NODE, 0x20 + i), NAME(GRAPH, 0x10));
    end_one(NAME(GRAPH_NODE, 0x21));
    ck_assert_uint_ne(serial(NAME(GRAPH_NODE, 0x20)), 0);
    ck_assert_uint_eq(serial(NAME(GRAPH_NODE, 0x21)), 0);
    ck_assert_uint_ne(serial(NAME(GRAPH_NODE, 0x22)), 0);
    end_one(NAME(GRAPH, 0x10));
    ck_assert_uint_eq(serial(NAME(GRAPH_NODE, 0x20)), 0);
    ck_assert_uint_eq(serial(NAME(GRAPH_NODE, 0x22)), 0);
}

TEST(a_new_object_of_the_same_handle_survives_a_late_end)
{
    note(NAME(STREAM, 0x10), NOBODY);
    uint64_t old = serial(NAME(STREAM, 0x10));
    note(NAME(STREAM, 0x10), NOBODY); /* another thread's, made before the end was noted */
    ath_cuda_object_end(&table, NAME(STREAM, 0x10), old);
    ck_assert_uint_ne(serial(NAME(STREAM, 0x10)), 0);
}

TEST(a_new_object_of_the_same_handle_has_its_own_parent)
{
    note(NAME(CONTEXT, 0x1), NOBODY);
    note(NAME(CONTEXT, 0x2), NOBODY);
    note(NAME(EVENT, 0x10), NAME(CONTEXT, 0x1));
    note(NAME(EVENT, 0x10), NAME(CONTEXT, 0x2));
    end_one(NAME(CONTEXT, 0x1));
    ck_assert_uint_ne(serial(NAME(EVENT, 0x10)), 0);
    end_one(NAME(CONTEXT, 0x2));
    ck_assert_uint_eq(serial(NAME(EVENT, 0x10)), 0);
}

TEST(memory_ends_with_its_last_reference)
{
    const struct ath_cuda_object_name memory = NAME(MEM_GENERIC_ALLOCATION_HANDLE, 7);
    note(memory, NOBODY);
    note(memory, NOBODY); /* cuMemRetainAllocationHandle() */
    end_one(memory);
    ck_assert_uint_ne(serial(memory), 0);
    end_one(memory);
    ck_assert_uint_eq(serial(memory), 0);
}

TEST(a_primary_context_outlives_its_objects)
{
    note(NAME(CONTEXT, 0x1), NOBODY);
    note(NAME(CONTEXT, 0x2), NOBODY);
    ath_cuda_object_note_primary(&table, 0x1, 0);
    ath_cuda_object_note_primary(&table, 0x2, 1);
    note(NAME(STREAM, 0x10), NAME(CONTEXT, 0x1));
    note(NAME(STREAM, 0x11), NAME(CONTEXT, 0x2));
    ath_cuda_object_end_primary(&table, 0);
    ck_assert_uint_ne(serial(NAME(CONTEXT, 0x1)), 0);
    ck_assert_uint_eq(serial(NAME(STREAM, 0x10)), 0);
    ck_assert_uint_ne(serial(NAME(STREAM, 0x11)), 0);
}

static uint64_t own_of(struct ath_cuda_object_name name)
{
    uint64_t own = 0;
    return ath_cuda_object_serial(&table, name, &own) ? own : 0;
}

TEST(a_promised_handle_is_another_name_of_an_object)
{
    note(NAME(LIBRARY, 0x10), NOBODY);
    note(NAME(KERNEL, 0x20), NAME(LIBRARY, 0x10));
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(KERNEL, 0x20), 0), 0x20);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(KERNEL, 0x20), 0xa0), 0xa0);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(KERNEL, 0x20), 0), 0xa0);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(KERNEL, 0x20), 0xb0), 0xa0);
    ck_assert_uint_eq(own_of(NAME(KERNEL, 0xa0)), 0x20);
    ck_assert_uint_eq(own_of(NAME(FUNCTION, 0xa0)), 0x20);
    ck_assert_uint_eq(own_of(NAME(KERNEL, 0x20)), 0x20);
    ck_assert_uint_eq(own_of(NAME(KERNEL, 0xb0)), 0);
    ck_assert_uint_eq(serial(NAME(KERNEL, 0xa0)), serial(NAME(KERNEL, 0x20)));
}

TEST(a_promised_handle_ends_with_its_object)
{
    note(NAME(LIBRARY, 0x10), NOBODY);
    note(NAME(KERNEL, 0x20), NAME(LIBRARY, 0x10));
    ath_cuda_object_promise(&table, NAME(LIBRARY, 0x10), 0xa0);
    ath_cuda_object_promise(&table, NAME(KERNEL, 0x20), 0xb0);
    note(NAME(FUNCTION, 0x30), NAME(KERNEL, 0xb0)); /* a child by the promised name */
    end_one(NAME(LIBRARY, 0xa0));
    ck_assert_uint_eq(serial(NAME(LIBRARY, 0x10)), 0);
    ck_assert_uint_eq(serial(NAME(LIBRARY, 0xa0)), 0);
    ck_assert_uint_eq(serial(NAME(KERNEL, 0xb0)), 0);
    ck_assert_uint_eq(serial(NAME(FUNCTION, 0x30)), 0);
    note(NAME(LIBRARY, 0x11), NOBODY); /* loaded again, elsewhere */
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(LIBRARY, 0x11), 0xa0), 0xa0);
    ck_assert_uint_eq(own_of(NAME(LIBRARY, 0xa0)), 0x11);
}

TEST(a_promised_handle_follows_a_function_that_is_found_again)
{
    note(NAME(FUNCTION, 0x30), NOBODY);
    note(NAME(FUNCTION, 0x31), NOBODY); /* in the context after its reset */
    ath_cuda_object_promise(&table, NAME(FUNCTION, 0x30), 0xa0);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(FUNCTION, 0x31), 0xa0), 0xa0);
    ck_assert_uint_eq(own_of(NAME(FUNCTION, 0xa0)), 0x31);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(FUNCTION, 0x30), 0), 0x30);
    end_one(NAME(FUNCTION, 0x30));
    ck_assert_uint_eq(own_of(NAME(FUNCTION, 0xa0)), 0x31);
}

TEST(no_promise_takes_the_place_of_a_drivers_handle)
{
    note(NAME(LIBRARY, 0x10), NOBODY);
    note(NAME(LIBRARY, 0x11), NOBODY);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(LIBRARY, 0x10), 0x11), 0x10);
    ck_assert_uint_eq(own_of(NAME(LIBRARY, 0x11)), 0x11);
}

TEST(a_new_object_of_the_same_handle_has_no_promise)
{
    note(NAME(LIBRARY, 0x10), NOBODY);
    ath_cuda_object_promise(&table, NAME(LIBRARY, 0x10), 0xa0);
    note(NAME(LIBRARY, 0x10), NOBODY); /* made before the end of the other was noted */
    ck_assert_uint_eq(serial(NAME(LIBRARY, 0xa0)), 0);
    ck_assert_uint_eq(ath_cuda_object_promise(&table, NAME(LIBRARY, 0x10), 0), 0x10);
}

/* Every pair of kinds: objects of a module end with it, and so on. A stray pair would end what
 * still lives, or keep what the driver has freed. */
TEST(objects_end_with_objects_of_these_kinds)
{
    static const enum ath_cuda_kind pairs[][2] = {
        { ATH_CUDA_KIND_KERNEL, ATH_CUDA_KIND_LIBRARY },
        { ATH_CUDA_KIND_MODULE, ATH_CUDA_KIND_LIBRARY },
        { ATH_CUDA_KIND_FUNCTION, ATH_CUDA_KIND_LIBRARY },
        { ATH_CUDA_KIND_FUNCTION, ATH_CUDA_KIND_MODULE },
        { ATH_CUDA_KIND_FUNCTION, ATH_CUDA_KIND_KERNEL },
        { ATH_CUDA_KIND_SURFREF, ATH_CUDA_KIND_MODULE },
        { ATH_CUDA_KIND_TEXREF, ATH_CUDA_KIND_MODULE },
        { ATH_CUDA_KIND_GRAPH_NODE, ATH_CUDA_KIND_GRAPH },
        { ATH_CUDA_KIND_GRAPH, ATH_CUDA_KIND_GRAPH_NODE },
        { ATH_CUDA_KIND_ARRAY, ATH_CUDA_KIND_MIPMAPPED_ARRAY },
        { ATH_CUDA_KIND_ARRAY, ATH_CUDA_KIND_ARRAY },
        { ATH_CUDA_KIND_CONTEXT, ATH_CUDA_KIND_GREEN_CTX },
    };
    for (int kind = 0; kind < ATH_CUDA_KIND_COUNT; kind++)
        for (int parent = 0; parent < ATH_CUDA_KIND_COUNT; parent++) {
            bool is_pair = false;
            for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
                is_pair |= (int)pairs[i][0] == kind && (int)pairs[i][1] == parent;
            ck_assert_msg(ath_cuda_object_ends_with((enum ath_cuda_kind)kind,
                                                    (enum ath_cuda_kind)parent) == is_pair,
                          "kind %d, parent %d", kind, parent);
        }
}

/* Handles of all other kinds are read by the driver, so the table must know them. */
TEST(numbers_and_addresses_are_no_objects)
{
    for (int kind = 0; kind < ATH_CUDA_KIND_COUNT; kind++)
        ck_assert_msg(ath_cuda_is_object((enum ath_cuda_kind)kind) ==
                          (kind != ATH_CUDA_KIND_ADDRESS && kind != ATH_CUDA_KIND_HOST &&
                           kind != ATH_CUDA_KIND_DEVICE),
                      "kind %d", kind);
}
