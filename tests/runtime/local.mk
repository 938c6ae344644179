# The program that tests/runtime/test_cuda.py drives. Like tests/cuda_programs it runs on any libcuda.so.1.
check_PROGRAMS += tests/runtime/cuda_steps
tests_runtime_cuda_steps_LDADD = lib/aitherion/sim/libcuda.so.1 -lpthread
# And test_parts.py; tests/gpu/session runs it on a GPU.
check_PROGRAMS += tests/runtime/part_steps
tests_runtime_part_steps_LDADD = lib/aitherion/sim/libcuda.so.1 -lpthread
EXTRA_DIST += tests/runtime/attack.py tests/runtime/cuda.py
check_PROGRAMS += tests/runtime/program_start
tests_runtime_program_start_LDADD = lib/aitherion/sim/libcuda.so.1 -lpthread

# The attempts of an attacker in a session's process: preloaded into a server by tests/runtime/test_sandbox.py.
check_PROGRAMS += tests/runtime/attacker.so
tests_runtime_attacker_so_SOURCES = tests/runtime/attacker.c
tests_runtime_attacker_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_runtime_attacker_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_runtime_attacker_so_LDADD = -ldl

# A driver that does nothing, for fuzzing the server; the client is fuzzed with its own objects.
tests/fuzz/driver.h: proto/cuda-generated.stamp tests/fuzz/driver.py
	$(AM_V_GEN)$(MKDIR_P) tests/fuzz && $(PYTHON) -B $(srcdir)/tests/fuzz/driver.py proto/cuda-server.h > $@
tests_fuzz_fuzz_cuda_client_LDADD = $(lib_aitherion_libcuda_so_1_OBJECTS) libclient.a $(LDADD)
$(tests_fuzz_fuzz_cuda_client_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
$(tests_fuzz_fuzz_cuda_server_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp tests/fuzz/driver.h
# The libraries of hostile servers, for fuzzing the switch between servers with its own objects.
tests/fuzz/servers.h: proto/cuda-generated.stamp tests/fuzz/servers.py tests/fuzz/driver.py tests/fuzz/fuzz_several.c
	$(AM_V_GEN)$(MKDIR_P) tests/fuzz && $(PYTHON) -B $(srcdir)/tests/fuzz/servers.py proto/cuda-several.h $(srcdir)/tests/fuzz/fuzz_several.c > $@
tests_fuzz_fuzz_several_LDADD = $(lib_aitherion_several_libcuda_so_1_OBJECTS) libclient.a $(LDADD)
$(tests_fuzz_fuzz_several_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp tests/fuzz/servers.h
CLEANFILES += tests/fuzz/driver.h tests/fuzz/servers.h
EXTRA_DIST += tests/fuzz/driver.py tests/fuzz/servers.py tests/runtime/cuda_seeds.py
