# Programs of the driver API, for whichever libcuda.so.1 LD_LIBRARY_PATH names; they are linked to the simulated one.
DRIVER_API_TESTS = \
	tests/cuda_programs/callbacks \
	tests/cuda_programs/coherence \
	tests/cuda_programs/contexts \
	tests/cuda_programs/faults \
	tests/cuda_programs/graph_memory \
	tests/cuda_programs/graph_nodes \
	tests/cuda_programs/graphs \
	tests/cuda_programs/linker \
	tests/cuda_programs/memory \
	tests/cuda_programs/modules \
	tests/cuda_programs/pinned \
	tests/cuda_programs/pools \
	tests/cuda_programs/several \
	tests/cuda_programs/sharing \
	tests/cuda_programs/streams \
	tests/cuda_programs/threads \
	tests/cuda_programs/training \
	tests/cuda_programs/virtual \
	tests/cuda_programs/wrong
DRIVER_API_TEST_SOURCES = tests/cuda_programs/gpu.c tests/cuda_programs/gpu.h
DRIVER_API_TEST_LDADD = lib/aitherion/sim/libcuda.so.1 -lpthread -lm
tests_cuda_programs_callbacks_SOURCES = tests/cuda_programs/callbacks.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_callbacks_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_coherence_SOURCES = tests/cuda_programs/coherence.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_coherence_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_contexts_SOURCES = tests/cuda_programs/contexts.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_contexts_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_faults_SOURCES = tests/cuda_programs/faults.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_faults_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_graph_memory_SOURCES = tests/cuda_programs/graph_memory.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_graph_memory_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_graph_nodes_SOURCES = tests/cuda_programs/graph_nodes.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_graph_nodes_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_graphs_SOURCES = tests/cuda_programs/graphs.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_graphs_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_linker_SOURCES = tests/cuda_programs/linker.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_linker_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_memory_SOURCES = tests/cuda_programs/memory.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_memory_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_modules_SOURCES = tests/cuda_programs/modules.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_modules_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_pinned_SOURCES = tests/cuda_programs/pinned.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_pinned_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_pools_SOURCES = tests/cuda_programs/pools.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_pools_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_several_SOURCES = tests/cuda_programs/several.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_several_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_sharing_SOURCES = tests/cuda_programs/sharing.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_sharing_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_streams_SOURCES = tests/cuda_programs/streams.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_streams_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_threads_SOURCES = tests/cuda_programs/threads.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_threads_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_training_SOURCES = tests/cuda_programs/training.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_training_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_virtual_SOURCES = tests/cuda_programs/virtual.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_virtual_LDADD = $(DRIVER_API_TEST_LDADD)
tests_cuda_programs_wrong_SOURCES = tests/cuda_programs/wrong.c $(DRIVER_API_TEST_SOURCES)
tests_cuda_programs_wrong_LDADD = $(DRIVER_API_TEST_LDADD)

check_PROGRAMS += $(DRIVER_API_TESTS)
$(addsuffix .o,$(DRIVER_API_TESTS)) tests/cuda_programs/gpu.o: CFLAGS := $(WALKING_CFLAGS)
EXTRA_DIST += tests/cuda_programs/library_calls.cu tests/cuda_programs/kernels.cu tests/cuda_programs/kernels.ptx tests/cuda_programs/programs.py \
	tests/cuda_programs/runtime_api.cu
