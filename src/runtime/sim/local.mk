# The simulated driver: what looks like NVIDIA's libcuda.so.1, in a folder where no program finds it by itself.
# A program for automake, since that needs no libtool; the build tree is laid out as installed: lib/aitherion/sim.
simdir = $(pkglibdir)/sim
sim_PROGRAMS = lib/aitherion/sim/libcuda.so.1
lib_aitherion_sim_libcuda_so_1_SOURCES = \
	src/runtime/cuda/symbols.c src/runtime/cuda/symbols.h \
	src/runtime/sim/aliases.c \
	src/runtime/sim/array.c \
	src/runtime/sim/mipmap.c \
	src/runtime/sim/capture.c \
	src/runtime/sim/condition.c \
	src/runtime/sim/context.c \
	src/runtime/sim/copies.c \
	src/runtime/sim/copy.c \
	src/runtime/sim/core.c \
	src/runtime/sim/device.c \
	src/runtime/sim/entry.c \
	src/runtime/sim/event.c \
	src/runtime/sim/facts.c src/runtime/sim/facts.h \
	src/runtime/sim/graph.c \
	src/runtime/sim/green.c \
	src/runtime/sim/image.c \
	src/runtime/sim/ipc.c \
	src/runtime/sim/launch.c \
	src/runtime/sim/memory.c \
	src/runtime/sim/module.c \
	src/runtime/sim/per_thread.c \
	src/runtime/sim/pointer.c \
	src/runtime/sim/pool.c \
	src/runtime/sim/programs.c \
	src/runtime/sim/refused.c \
	src/runtime/sim/sim.h \
	src/runtime/sim/stream.c \
	src/runtime/sim/tables.c src/runtime/sim/tables.h \
	src/runtime/sim/user_object.c \
	src/runtime/sim/virtual.c \
	src/runtime/sim/work.c
nodist_lib_aitherion_sim_libcuda_so_1_SOURCES = proto/cuda-methods.c proto/cuda-symbols.c
lib_aitherion_sim_libcuda_so_1_CPPFLAGS = $(AM_CPPFLAGS) -DATH_CUDA_SYMBOLS_ONLY
lib_aitherion_sim_libcuda_so_1_CFLAGS = $(AM_CFLAGS) -fPIC
# Its own functions call each other, whatever other libcuda.so.1 the process has; workers outlive dlclose().
lib_aitherion_sim_libcuda_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic \
	-Wl,-z,nodelete -Wl,--version-script=$(srcdir)/src/runtime/sim/libcuda.map
lib_aitherion_sim_libcuda_so_1_LDADD = -lpthread
lib_aitherion_sim_libcuda_so_1_DEPENDENCIES = src/runtime/sim/libcuda.map
EXTRA_DIST += src/runtime/sim/libcuda.map
$(lib_aitherion_sim_libcuda_so_1_OBJECTS): | proto/cuda-generated.stamp

if RUNTIME_TABLES
lib_aitherion_sim_libcuda_so_1_SOURCES += src/runtime/tables/tables.c src/runtime/tables/tables.h
lib_aitherion_sim_libcuda_so_1_LDADD += $(NETTLE_LIBS)
endif

# The simulated NVML beside it.
sim_PROGRAMS += lib/aitherion/sim/libnvidia-ml.so.1
lib_aitherion_sim_libnvidia_ml_so_1_SOURCES = \
	src/runtime/nvml/nvml_functions.h \
	src/runtime/nvml/nvml_types.h \
	src/runtime/nvml/words.c \
	src/runtime/sim/facts.c src/runtime/sim/facts.h \
	src/runtime/sim/nvml.c
nodist_lib_aitherion_sim_libnvidia_ml_so_1_SOURCES = proto/nvml-absent.c
lib_aitherion_sim_libnvidia_ml_so_1_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
lib_aitherion_sim_libnvidia_ml_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-Bsymbolic
$(lib_aitherion_sim_libnvidia_ml_so_1_OBJECTS): | proto/nvml-generated.stamp
