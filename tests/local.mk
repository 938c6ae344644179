# Tests: unit (Check, one program a module), golden (captures), cli, fuzz.

# A program's source is its name with .c, and it links the whole library: a new test is one line here.
LDADD = $(LIBAITHERION) $(CHECK_LIBS)
AM_CFLAGS += $(CHECK_CFLAGS)

TESTS =
if HAVE_CHECK
UNIT_TESTS = \
	tests/unit/test_addresses \
	tests/unit/test_arbiter \
	tests/unit/test_answer_cache \
	tests/unit/test_byte_mask \
	tests/unit/test_call_rooms \
	tests/unit/test_call_threads \
	tests/unit/test_card \
	tests/unit/test_carrier \
	tests/unit/test_channels \
	tests/unit/test_check \
	tests/unit/test_closure \
	tests/unit/test_cluster \
	tests/unit/test_cluster_links \
	tests/unit/test_command \
	tests/unit/test_cuda_image \
	tests/unit/test_data_paths \
	tests/unit/test_docker_answer \
	tests/unit/test_docker_fault \
	tests/unit/test_docker_host \
	tests/unit/test_docker_stream \
	tests/unit/test_document \
	tests/unit/test_edit \
	tests/unit/test_elf \
	tests/unit/test_err \
	tests/unit/test_estimate \
	tests/unit/test_fields \
	tests/unit/test_figures \
	tests/unit/test_file \
	tests/unit/test_fingerprint \
	tests/unit/test_gid \
	tests/unit/test_gpu \
	tests/unit/test_gpu_health \
	tests/unit/test_gpu_models \
	tests/unit/test_health \
	tests/unit/test_idset \
	tests/unit/test_image_memory \
	tests/unit/test_instance \
	tests/unit/test_isolated \
	tests/unit/test_lack \
	tests/unit/test_kubernetes \
	tests/unit/test_kubernetes_agent \
	tests/unit/test_kubernetes_guard \
	tests/unit/test_kubernetes_quota \
	tests/unit/test_ld_cache \
	tests/unit/test_library_kernels \
	tests/unit/test_line_loss \
	tests/unit/test_link \
	tests/unit/test_link_gid \
	tests/unit/test_log \
	tests/unit/test_machine \
	tests/unit/test_macvlan \
	tests/unit/test_macvlan_apply \
	tests/unit/test_managed_memory \
	tests/unit/test_map \
	tests/unit/test_measure \
	tests/unit/test_memory_limit \
	tests/unit/test_session_words \
	tests/unit/test_time_claim \
	tests/unit/test_net_limit \
	tests/unit/test_netlink \
	tests/unit/test_netns \
	tests/unit/test_metrics \
	tests/unit/test_nic \
	tests/unit/test_node \
	tests/unit/test_nvml \
	tests/unit/test_object_table \
	tests/unit/test_output \
	tests/unit/test_pair \
	tests/unit/test_smi_topo \
	tests/unit/test_parameter_layout \
	tests/unit/test_pace \
	tests/unit/test_paths \
	tests/unit/test_part \
	tests/unit/test_pci \
	tests/unit/test_perf \
	tests/unit/test_place \
	tests/unit/test_plan \
	tests/unit/test_places \
	tests/unit/test_process_facts \
	tests/unit/test_propose \
	tests/unit/test_qp \
	tests/unit/test_rdma \
	tests/unit/test_locked_in \
	tests/unit/test_retry \
	tests/unit/test_review_json \
	tests/unit/test_ring \
	tests/unit/test_roce_edit \
	tests/unit/test_root \
	tests/unit/test_save \
	tests/unit/test_schema \
	tests/unit/test_host_limits \
	tests/unit/test_jit_options \
	tests/unit/test_ledger \
	tests/unit/test_listen_address \
	tests/unit/test_local_driver \
	tests/unit/test_memory_room \
	tests/unit/test_copy_source \
	tests/unit/test_cuda_common \
	tests/unit/test_served_calls \
	tests/unit/test_session_contexts \
	tests/unit/test_session_turns \
	tests/unit/test_set \
	tests/unit/test_shares \
	tests/unit/test_slurm \
	tests/unit/test_stream_pool \
	tests/unit/test_stripes \
	tests/unit/test_tar \
	tests/unit/test_text \
	tests/unit/test_thread \
	tests/unit/test_top \
	tests/unit/test_tls \
	tests/unit/test_topology_xml \
	tests/unit/test_trial \
	tests/unit/test_turns \
	tests/unit/test_turn_gate \
	tests/unit/test_turn_parts \
	tests/unit/test_udp \
	tests/unit/test_unused \
	tests/unit/test_visible_devices \
	tests/unit/test_wire \
	tests/unit/test_wrong_handles
if RUNTIME_TABLES
UNIT_TESTS += tests/unit/test_tables
tests_unit_test_tables_SOURCES = tests/unit/test_tables.c src/cuda/api/export_tables.c src/cuda/api/export_tables.h
endif
tests_unit_test_estimate_SOURCES = tests/unit/test_estimate.c tests/unit/made_machines.c tests/unit/made_machines.h tests/unit/tree.h
tests_unit_test_place_SOURCES = tests/unit/test_place.c tests/unit/made_machines.c tests/unit/made_machines.h tests/unit/tree.h
tests_unit_test_output_SOURCES = tests/unit/test_output.c tests/unit/made_machines.c tests/unit/made_machines.h

# Beside the sources named after them: the helpers of the tests about documents.
tests_unit_test_check_SOURCES = tests/unit/test_check.c tests/unit/documents.h
tests_unit_test_document_SOURCES = tests/unit/test_document.c tests/unit/documents.h
tests_unit_test_edit_SOURCES = tests/unit/test_edit.c tests/unit/documents.h
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c tests/unit/documents.h tests/unit/tree.h
tests_unit_test_unused_SOURCES = tests/unit/test_unused.c tests/unit/tree.h
tests_unit_test_host_limits_SOURCES = tests/unit/test_host_limits.c tests/unit/tree.h
tests_unit_test_process_facts_SOURCES = tests/unit/test_process_facts.c tests/unit/tree.h
tests_unit_test_health_SOURCES = tests/unit/test_health.c tests/unit/documents.h
tests_unit_test_turns_SOURCES = tests/unit/test_turns.c tests/unit/turns_world.h
tests_unit_test_docker_fault_SOURCES = tests/unit/test_docker_fault.c tests/unit/tree.h
tests_unit_test_slurm_SOURCES = tests/unit/test_slurm.c tests/unit/tree.h
tests_unit_test_net_limit_SOURCES = tests/unit/test_net_limit.c tests/unit/patience.h
tests_unit_test_carrier_SOURCES = tests/unit/test_carrier.c tests/unit/patience.h
tests_unit_test_thread_SOURCES = tests/unit/test_thread.c tests/unit/patience.h
tests_unit_test_udp_SOURCES = tests/unit/test_udp.c tests/unit/udp_world.h
tests_unit_test_top_SOURCES = tests/unit/test_top.c tests/unit/tree.h
tests_unit_test_propose_SOURCES = tests/unit/test_propose.c tests/unit/documents.h
tests_unit_test_lack_SOURCES = tests/unit/test_lack.c tests/unit/documents.h
tests_unit_test_roce_edit_SOURCES = tests/unit/test_roce_edit.c tests/unit/documents.h
tests_unit_test_save_SOURCES = tests/unit/test_save.c tests/unit/documents.h
tests_unit_test_schema_SOURCES = tests/unit/test_schema.c tests/unit/documents.h

# The sandbox and the driver's library are the test's own.
tests_unit_test_trial_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic -Wl,--wrap=ath_sandbox_enter -Wl,--wrap=ath_driver_library_open

# RDMA devices, made.
tests_unit_test_qp_SOURCES = tests/unit/test_qp.c tests/unit/made_rdma.c tests/unit/made_rdma.h tests/unit/rdma_machine.h tests/unit/tree.h
tests_unit_test_rdma_SOURCES = tests/unit/test_rdma.c tests/unit/made_rdma.c tests/unit/made_rdma.h tests/unit/rdma_machine.h tests/unit/tree.h
tests_unit_test_qp_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ath_late_load
tests_unit_test_rdma_LDFLAGS = $(tests_unit_test_qp_LDFLAGS)

# Files of the dynamic linker, made.
tests_unit_test_closure_SOURCES = tests/unit/test_closure.c tests/unit/made_cache.h tests/unit/made_elf.h
tests_unit_test_elf_SOURCES = tests/unit/test_elf.c tests/unit/made_elf.h
tests_unit_test_ld_cache_SOURCES = tests/unit/test_ld_cache.c tests/unit/made_cache.h

# A session at a driver of the test's own.
tests_unit_test_jit_options_SOURCES = tests/unit/test_jit_options.c tests/unit/session.h
tests_unit_test_library_kernels_SOURCES = tests/unit/test_library_kernels.c tests/unit/session.h
tests_unit_test_managed_memory_SOURCES = tests/unit/test_managed_memory.c tests/unit/session.h
tests_unit_test_served_calls_SOURCES = tests/unit/test_served_calls.c tests/unit/session.h
tests_unit_test_session_contexts_SOURCES = tests/unit/test_session_contexts.c tests/unit/session.h
tests_unit_test_wrong_handles_SOURCES = tests/unit/test_wrong_handles.c tests/unit/session.h

# Files of the client, with a client made up around them.
tests_unit_test_answer_cache_SOURCES = tests/unit/test_answer_cache.c src/cuda/client/answer_cache.c
tests_unit_test_addresses_SOURCES = tests/unit/test_addresses.c src/cuda/several/addresses.c
tests_unit_test_instance_SOURCES = tests/unit/test_instance.c src/cuda/client/instance.c
tests_unit_test_local_driver_SOURCES = tests/unit/test_local_driver.c \
	src/cuda/local/driver.c src/cuda/local/entry_points.c
tests_unit_test_parameter_layout_SOURCES = tests/unit/test_parameter_layout.c src/cuda/client/parameter_layout.c
tests_unit_test_stream_pool_SOURCES = tests/unit/test_stream_pool.c src/cuda/client/stream_pool.c
$(tests_unit_test_addresses_OBJECTS) \
	$(tests_unit_test_answer_cache_OBJECTS) \
	$(tests_unit_test_call_rooms_OBJECTS) \
	$(tests_unit_test_call_threads_OBJECTS) \
	$(tests_unit_test_copy_source_OBJECTS) \
	$(tests_unit_test_cuda_common_OBJECTS) \
	$(tests_unit_test_host_limits_OBJECTS) \
	$(tests_unit_test_instance_OBJECTS) \
	$(tests_unit_test_jit_options_OBJECTS) \
	$(tests_unit_test_ledger_OBJECTS) \
	$(tests_unit_test_library_kernels_OBJECTS) \
	$(tests_unit_test_listen_address_OBJECTS) \
	$(tests_unit_test_local_driver_OBJECTS) \
	$(tests_unit_test_managed_memory_OBJECTS) \
	$(tests_unit_test_memory_room_OBJECTS) \
	$(tests_unit_test_parameter_layout_OBJECTS) \
	$(tests_unit_test_part_OBJECTS) \
	$(tests_unit_test_served_calls_OBJECTS) \
	$(tests_unit_test_session_contexts_OBJECTS) \
	$(tests_unit_test_stream_pool_OBJECTS) \
	$(tests_unit_test_trial_OBJECTS) \
	$(tests_unit_test_turn_gate_OBJECTS) \
	$(tests_unit_test_wrong_handles_OBJECTS): | \
	proto/generated.stamp proto/cuda-generated.stamp

# The unit tests alone, without the programs and libraries that other tests need.
unit-tests: $(UNIT_TESTS)

# Writes docs/schema after a change of an output's table of fields.
update-schemas: tests/unit/test_fields
	AITHERION_UPDATE=1 srcdir=$(srcdir) tests/unit/test_fields

# Links and namespaces of a test's own.
tests_unit_test_arbiter_SOURCES = tests/unit/test_arbiter.c tests/unit/patience.h
tests_unit_test_data_paths_SOURCES = tests/unit/test_data_paths.c tests/unit/patience.h tests/unit/sandbox.h
tests_unit_test_link_SOURCES = tests/unit/test_link.c tests/unit/patience.h tests/unit/sandbox.h
tests_unit_test_macvlan_apply_SOURCES = tests/unit/test_macvlan_apply.c tests/unit/sandbox.h
tests_unit_test_netlink_SOURCES = tests/unit/test_netlink.c tests/unit/sandbox.h
tests_unit_test_netns_SOURCES = tests/unit/test_netns.c tests/unit/patience.h tests/unit/sandbox.h

# Libraries that look like NVIDIA's NVML, of a new and of an old driver.
FAKE_NVML = tests/unit/fake_nvml.so tests/unit/fake_nvml_old.so
FAKE_NVML_FLAGS = -shared -fPIC -Wl,-soname,libnvidia-ml.so.1
tests/unit/fake_nvml.so tests/unit/fake_nvml_old.so: tests/unit/fake_nvml.c src/numa/nvml_api.h
	$(AM_V_GEN)$(MKDIR_P) tests/unit && $(CC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
	$(FAKE_NVML_FLAGS) $(if $(findstring _old,$@),-DOLD_DRIVER) $(LDFLAGS) -o $@ $(srcdir)/tests/unit/fake_nvml.c
check_DATA = $(FAKE_NVML) tests/unit/fake_cuda.so
# The same for CUDA's driver library.
tests/unit/fake_cuda.so: tests/unit/fake_cuda.c
	$(AM_V_GEN)$(MKDIR_P) tests/unit && $(CC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
	-shared -fPIC -Wl,-soname,libcuda.so.1 $(LDFLAGS) -o $@ $(srcdir)/tests/unit/fake_cuda.c
tests_unit_test_turn_gate_SOURCES = tests/unit/test_turn_gate.c tests/unit/patience.h
tests_unit_test_measure_SOURCES = tests/unit/test_measure.c tests/unit/patience.h tests/unit/tree.h
EXTRA_tests_unit_test_measure_DEPENDENCIES = tests/unit/fake_cuda.so
EXTRA_tests_unit_test_nvml_DEPENDENCIES = $(FAKE_NVML)
EXTRA_tests_unit_test_turn_gate_DEPENDENCIES = lib/aitherion/sim/libcuda.so.1
EXTRA_tests_unit_test_wire_DEPENDENCIES = lib/aitherion/sim/libnvidia-ml.so.1
CLEANFILES += $(FAKE_NVML) tests/unit/fake_cuda.so
EXTRA_DIST += tests/unit/fake_cuda.c tests/unit/fake_nvml.c tests/unit/patience.h tests/unit/tree.h tests/unit/unit.h

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif

# The programs that all other tests need, and the unit tests that tests/vm/macvlan.sh runs in the guest.
test-programs: $(filter-out $(UNIT_TESTS),$(check_PROGRAMS)) $(filter $(addprefix %/test_,link macvlan netlink netns),$(UNIT_TESTS))

# tests/cli/save_crash.py kills this program while it saves.
check_PROGRAMS += tests/tools/edit_loop
# tests/cli/test_plan.py drives this program.
check_PROGRAMS += tests/tools/plan_show
# tests/docker drives this program.
check_PROGRAMS += tests/tools/docker_steps
tests_tools_docker_steps_SOURCES = tests/tools/docker_steps.c tests/tools/steps.h
# tests/docker and tests/vm start and stop nodes with this program.
check_PROGRAMS += tests/tools/engine_steps
tests_tools_engine_steps_SOURCES = tests/tools/engine_steps.c tests/tools/steps.h
# tests/vm/macvlan.sh drives this program.
check_PROGRAMS += tests/tools/macvlan_steps
EXTRA_DIST += tests/vm tests/cross

# Fuzz targets: one entry LLVMFuzzerTestOneInput each; ./configure --enable-fuzzers CC=clang.
FUZZERS_ALL = \
	tests/fuzz/fuzz_answers \
	tests/fuzz/fuzz_cluster \
	tests/fuzz/fuzz_cuda_client \
	tests/fuzz/fuzz_cuda_server \
	tests/fuzz/fuzz_cuda_session \
	tests/fuzz/fuzz_docker \
	tests/fuzz/fuzz_document \
	tests/fuzz/fuzz_elf \
	tests/fuzz/fuzz_files \
	tests/fuzz/fuzz_image \
	tests/fuzz/fuzz_kubernetes \
	tests/fuzz/fuzz_listener \
	tests/fuzz/fuzz_netlink \
	tests/fuzz/fuzz_nvml \
	tests/fuzz/fuzz_root \
	tests/fuzz/fuzz_session \
	tests/fuzz/fuzz_several \
	tests/fuzz/fuzz_shm \
	tests/fuzz/fuzz_topology_xml \
	tests/fuzz/fuzz_udp \
	tests/fuzz/fuzz_wire
if FUZZERS
noinst_PROGRAMS += $(FUZZERS_ALL)
endif
tests_fuzz_fuzz_answers_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=ath_endpoint_connect -Wl,--wrap=ath_secret_check
tests_fuzz_fuzz_cluster_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_cuda_client_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_cuda_server_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_cuda_session_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=ath_pinned_room_make \
	-Wl,--wrap=ath_pinned_room_end
tests_fuzz_fuzz_docker_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_document_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_elf_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_files_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_image_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_kubernetes_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_listener_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=ath_clients_start -Wl,--wrap=kill
tests_fuzz_fuzz_netlink_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=ath_late_load
tests_fuzz_fuzz_nvml_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_root_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_session_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=_exit -Wl,--wrap=ath_driver_library_open \
	-Wl,--wrap=ath_program_session_begin_watch -Wl,--wrap=ath_net_talk_await \
	-Wl,--wrap=ath_kernel_output_catch -Wl,--wrap=ath_secret_check
tests_fuzz_fuzz_several_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=ath_several_load -Wl,--wrap=ath_several_count
tests_fuzz_fuzz_shm_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_topology_xml_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_udp_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_cuda_session_LDADD = $(LDADD) -ldl
tests_fuzz_fuzz_cuda_session_DEPENDENCIES = libaitherion.a lib/aitherion/sim/libcuda.so.1
$(tests_fuzz_fuzz_answers_OBJECTS) $(tests_fuzz_fuzz_listener_OBJECTS) $(tests_fuzz_fuzz_session_OBJECTS): | proto/generated.stamp
$(tests_fuzz_fuzz_cuda_session_OBJECTS) $(tests_fuzz_fuzz_image_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
EXTRA_DIST += tests/fuzz/fuzz.h tests/fuzz/seeds.py

include tests/wire/local.mk
include tests/cuda/local.mk
include tests/nvml/local.mk
include tests/cuda_programs/local.mk
include tests/gpu/differential/local.mk
include tests/runtime/local.mk
include tests/captures.mk
