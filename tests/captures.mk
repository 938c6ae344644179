# Captured machines that are shipped (`aitherion discover --root ac922-4gpu`), and the tests written in Python.
CAPTURES = ac922-4gpu ac922-6gpu
CAPTURE_STAMPS = $(CAPTURES:%=tests/captures/%.stamp)
SHARE_FILES += $(CAPTURE_STAMPS)
CLEANFILES += $(CAPTURE_STAMPS)

$(CAPTURE_STAMPS): tests/captures/%.stamp: tests/data/%.root tests/tools/mkroot.py
	$(AM_V_GEN)$(MKDIR_P) $(@D) && umask 022 && \
	$(PYTHON) -B $(srcdir)/tests/tools/mkroot.py $< share/aitherion/captures/$* && touch $@

# Topology files, under their names without what says their kind.
TOPOLOGIES = dgx2-16gpu.hwloc2 power8-minsky-4gpu-nvlink.hwloc2 azure-ndv5-8gpu-8nic.nccl
TOPOLOGY_STAMPS = $(TOPOLOGIES:%=tests/captures/%.stamp)
SHARE_FILES += $(TOPOLOGY_STAMPS)
CLEANFILES += $(TOPOLOGY_STAMPS)

$(TOPOLOGY_STAMPS): tests/captures/%.stamp: tests/data/topologies/%.xml
	$(AM_V_GEN)$(MKDIR_P) $(@D) share/aitherion/captures && \
	cp $< share/aitherion/captures/$(basename $*).xml && touch $@

PYTHON_TESTS = \
	tests/cli/save_crash.py \
	tests/tools/test_tools.py \
	tests/tools/test_mutate.py \
	tests/layers.py \
	tests/words.py \
	tests/documents.py \
	tests/gpu/test_bench.py \
	tests/gpu/test_differential.py \
	tests/gpu/test_run.py \
	tests/gpu/test_session.py \
	tests/golden/run.py \
	tests/golden/renumber.py \
	tests/golden/same_machine.py \
	tests/golden/topo_matrix.py \
	tests/cli/test_completion.py \
	tests/cli/test_cluster.py \
	tests/cli/test_configure_flags.py \
	tests/cli/test_document.py \
	tests/cli/test_machine_states.py \
	tests/cli/test_macvlan.py \
	tests/cli/test_ending.py \
	tests/cli/test_environment.py \
	tests/cli/test_estimate.py \
	tests/cli/test_fingerprint.py \
	tests/cli/test_gpu_health.py \
	tests/cli/test_health.py \
	tests/cli/test_help.py \
	tests/cli/test_hostile.py \
	tests/cli/test_image.py \
	tests/cli/test_export.py \
	tests/cli/test_output.py \
	tests/cli/test_measure.py \
	tests/cli/test_plan.py \
	tests/cli/test_place.py \
	tests/cli/test_process.py \
	tests/cli/test_readme.py \
	tests/cli/test_roce.py \
	tests/cli/test_run.py \
	tests/cli/test_start.py \
	tests/cli/test_texts.py \
	tests/cli/test_topology_json.py \
	tests/cli/test_usage.py \
	tests/cli/test_watching.py \
	tests/cuda/test_generator.py \
	tests/cuda/test_layout.py \
	tests/cuda/test_loopback.py \
	tests/cuda/test_video.py \
	tests/docker/test_engine.py \
	tests/docker/test_faults.py \
	tests/docker/test_image.py \
	tests/docker/test_local.py \
	tests/docker/test_locked_in.py \
	tests/docker/test_nodes.py \
	tests/docker/test_podman.py \
	tests/docker/test_start.py \
	tests/nvml/test_generator.py \
	tests/nvml/test_layout.py \
	tests/nvml/test_loopback.py \
	tests/nvml/test_nvml.py \
	tests/kubernetes/test_agent.py \
	tests/kubernetes/test_manifests.py \
	tests/kubernetes/test_quota.py \
	tests/kubernetes/test_remote.py \
	tests/kubernetes/test_scheduler.py \
	tests/kubernetes/test_webhook.py \
	tests/runtime/test_certificates.py \
	tests/runtime/test_claims.py \
	tests/runtime/test_cluster_measure.py \
	tests/runtime/test_codec.py \
	tests/runtime/test_coherence.py \
	tests/runtime/test_crowds.py \
	tests/runtime/test_cuda.py \
	tests/runtime/test_failing_links.py \
	tests/runtime/test_faults.py \
	tests/runtime/test_figures.py \
	tests/runtime/test_floods.py \
	tests/runtime/test_limits.py \
	tests/runtime/test_local.py \
	tests/runtime/test_local_programs.py \
	tests/runtime/test_lossy_udp.py \
	tests/runtime/test_recording.py \
	tests/runtime/test_remote.py \
	tests/runtime/test_data_addresses.py \
	tests/runtime/test_run_gpus.py \
	tests/runtime/test_sandbox.py \
	tests/runtime/test_server.py \
	tests/runtime/test_keys.py \
	tests/runtime/test_sessions.py \
	tests/runtime/test_several.py \
	tests/runtime/test_net.py \
	tests/runtime/test_parts.py \
	tests/runtime/test_shares.py \
	tests/runtime/test_slow.py \
	tests/runtime/test_starts.py \
	tests/runtime/test_turns.py \
	tests/runtime/test_stripes.py \
	tests/runtime/test_sets.py \
	tests/runtime/test_switches.py \
	tests/runtime/test_tls.py \
	tests/runtime/test_travel.py \
	tests/runtime/test_udp.py \
	tests/runtime/test_wrong.py \
	tests/sim/test_gpu_time.py \
	tests/sim/test_nvcc.py \
	tests/sim/test_programs.py \
	tests/slurm/test_plugin.py \
	tests/slurm/test_slurm.py \
	tests/tui/test_changes.py \
	tests/tui/test_menus.py \
	tests/tui/test_screens.py \
	tests/tui/test_terminal.py \
	tests/tui/test_top.py
TESTS += $(PYTHON_TESTS)
TEST_EXTENSIONS = .py
PY_LOG_COMPILER = $(PYTHON) -B
AM_TESTS_ENVIRONMENT = AITHERION=$(abs_builddir)/$(TESTED); export AITHERION; CK_TIMEOUT_MULTIPLIER=20; export CK_TIMEOUT_MULTIPLIER;

# In a cross build the tests start scripts that give the programs to the emulator.
LOG_COMPILER = $(EXE_WRAPPER)
if EMULATED
TESTED = aitherion-emulated
check_SCRIPTS = aitherion-emulated tests/tools/edit_loop-emulated
CLEANFILES += $(check_SCRIPTS)
else
TESTED = aitherion
endif

aitherion-emulated tests/tools/edit_loop-emulated: Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	printf '#!/bin/sh\nexec %s "%s" "$$@"\n' "$(EXE_WRAPPER)" "$(abs_builddir)/$(@:-emulated=)$(EXEEXT)" > $@ && chmod +x $@

TEST_HELPERS = tests/mutate tests/kubernetes/apiserver.py tests/kubernetes/build tests/kubernetes/control_plane.py tests/kubernetes/real.py tests/nvml/pynvml_manner.py tests/nvml/serving.py tests/runtime/covering.py tests/runtime/fake_cuda.c tests/runtime/flood.py tests/runtime/remote.py tests/runtime/runtime.py tests/slurm/daemons.py tests/docker/engine.py tests/docker/fake.py tests/tui/tui.py tests/cli/cli.py tests/cli/save_crash.py tests/cli/simulated.py \
	tests/tools/authority.py tests/tools/board.py tests/tools/harness.py tests/tools/nodes.py tests/tools/ports.py tests/tools/sim_gpu.py tests/tools/jsonschema.py tests/tools/miniyaml.py tests/tools/mkroot.py tests/tools/root_from_folder.py
EXTRA_DIST += $(PYTHON_TESTS) $(TEST_HELPERS) tests/data tests/golden tests/gpu tests/tui/screens docker docs packaging \
	quickstart .clang-format .clang-tidy .ci/run

# ./check is a file here but a target to make, so it cannot stand in EXTRA_DIST. Folders that stand there are copied with what
# tests have left in them.
dist-hook:
	cp -p $(srcdir)/check $(distdir)/check
	find $(distdir) -name __pycache__ -prune -exec rm -rf {} +
	find $(distdir) -name '*.log' -exec rm -f {} + -o -name '*.trs' -exec rm -f {} +
