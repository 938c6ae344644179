# The differential test of the driver API. It opens whichever libcuda.so.1 LD_LIBRARY_PATH names, and is linked to none.
check_PROGRAMS += tests/gpu/differential/differential
tests_gpu_differential_differential_SOURCES = \
	tests/gpu/differential/arrays.c \
	tests/gpu/differential/captures.c \
	tests/gpu/differential/contexts.c \
	tests/gpu/differential/copies.c \
	tests/gpu/differential/devices.c \
	tests/gpu/differential/driver.c \
	tests/gpu/differential/driver.h \
	tests/gpu/differential/engine.c \
	tests/gpu/differential/engine.h \
	tests/gpu/differential/events.c \
	tests/gpu/differential/faults.c \
	tests/gpu/differential/graphs.c \
	tests/gpu/differential/ipc.c \
	tests/gpu/differential/launches.c \
	tests/gpu/differential/memory.c \
	tests/gpu/differential/modules.c \
	tests/gpu/differential/nodes.c \
	tests/gpu/differential/nodes.h \
	tests/gpu/differential/objects.c \
	tests/gpu/differential/objects.h \
	tests/gpu/differential/parameters.c \
	tests/gpu/differential/pools.c \
	tests/gpu/differential/streams.c \
	tests/gpu/differential/textures.c \
	tests/gpu/differential/virtual.c
tests_gpu_differential_differential_LDADD = -ldl -lpthread
