# The simulated driver: a replacement of NVIDIA's libcuda.so.1, in a folder that no program searches by itself.
# automake builds it as a program, which needs no libtool. The build tree has the installed layout: lib/aitherion/sim.
simdir = $(pkglibdir)/sim
sim_PROGRAMS = lib/aitherion/sim/libcuda.so.1
lib_aitherion_sim_libcuda_so_1_SOURCES = \
	src/cuda/api/symbols.c src/cuda/api/symbols.h \
	sim/address_space.c sim/address_space.h \
	sim/arena.c sim/arena.h \
	sim/array.c sim/array.h \
	sim/capture.c sim/capture.h \
	sim/condition.c sim/condition.h \
	sim/context.c sim/context.h \
	sim/context_local.c sim/context_local.h \
	sim/context_settings.c \
	sim/copies.c \
	sim/copy.c sim/copy.h \
	sim/current_context.c sim/current_context.h \
	sim/device.c sim/device.h \
	sim/device_memory.c sim/device_memory.h \
	sim/entry.c \
	sim/event.c sim/event.h \
	sim/export_tables.c sim/export_tables.h \
	sim/facts.c sim/facts.h \
	sim/function.c sim/function.h \
	sim/function_attribute.c \
	sim/gpu_time.c sim/gpu_time.h \
	sim/graph.c sim/graph.h \
	sim/graph_edges.c sim/graph_edges.h \
	sim/graph_exec.c sim/graph_exec.h \
	sim/graph_exec_node.c \
	sim/graph_exec_update.c \
	sim/graph_list.c sim/graph_list.h \
	sim/graph_memory.c sim/graph_memory.h \
	sim/graph_node.c sim/graph_node.h \
	sim/green.c sim/green.h \
	sim/host_memory.c sim/host_memory.h \
	sim/image.c sim/image.h \
	sim/image_kernels.c sim/image_kernels.h \
	sim/ipc.c sim/ipc.h \
	sim/jit_log.c sim/jit_log.h \
	sim/kernel.c sim/kernel.h \
	sim/launch.c sim/launch.h \
	sim/launch_attribute.c sim/launch_attribute.h \
	sim/library.c sim/library.h \
	sim/linker.c \
	sim/lock.c sim/lock.h \
	sim/managed_hints.c \
	sim/mipmap.c \
	sim/module.c sim/module.h \
	sim/object.c sim/object.h \
	sim/occupancy.c sim/occupancy.h \
	sim/peer.c sim/peer.h \
	sim/pointer.c \
	sim/pool.c sim/pool.h \
	sim/primary_context.c sim/primary_context.h \
	sim/programs.c sim/programs.h \
	sim/range.c sim/range.h \
	sim/settings.c \
	sim/sim.h \
	sim/stream.c sim/stream.h \
	sim/stream_memory.c \
	sim/thread.c sim/thread.h \
	sim/user_object.c \
	sim/variable.c sim/variable.h \
	sim/virtual.c sim/virtual.h \
	sim/work.c sim/work.h
nodist_lib_aitherion_sim_libcuda_so_1_SOURCES = proto/cuda-methods.c proto/cuda-sim.c proto/cuda-symbols.c
lib_aitherion_sim_libcuda_so_1_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) -DATH_CUDA_SYMBOLS_ONLY
lib_aitherion_sim_libcuda_so_1_CFLAGS = $(AM_CFLAGS) -fPIC
# Its functions call each other even if the process has another libcuda.so.1; worker threads outlive dlclose().
lib_aitherion_sim_libcuda_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic \
	-Wl,-z,nodelete -Wl,--version-script=$(srcdir)/sim/libcuda.map
lib_aitherion_sim_libcuda_so_1_LDADD = -lpthread
lib_aitherion_sim_libcuda_so_1_DEPENDENCIES = sim/libcuda.map
EXTRA_DIST += sim/libcuda.map
$(lib_aitherion_sim_libcuda_so_1_OBJECTS): | proto/cuda-generated.stamp
$(lib_aitherion_sim_libcuda_so_1_OBJECTS): CFLAGS := $(WALKING_CFLAGS)

if RUNTIME_TABLES
lib_aitherion_sim_libcuda_so_1_SOURCES += src/cuda/api/export_tables.c src/cuda/api/export_tables.h
lib_aitherion_sim_libcuda_so_1_LDADD += $(NETTLE_LIBS)
endif

# The simulated NVML in the same folder.
sim_PROGRAMS += lib/aitherion/sim/libnvidia-ml.so.1
lib_aitherion_sim_libnvidia_ml_so_1_SOURCES = \
	src/nvml/api/nvml_functions.h \
	src/nvml/api/nvml_types.h \
	src/nvml/api/words.c \
	sim/facts.c sim/facts.h \
	sim/nvml.c sim/nvml_device.h \
	sim/nvml_events.c sim/nvml_links.c \
	sim/nvml_figures.c sim/nvml_figures.h \
	sim/nvml_faults.c sim/nvml_faults.h
nodist_lib_aitherion_sim_libnvidia_ml_so_1_SOURCES = proto/nvml-absent.c
lib_aitherion_sim_libnvidia_ml_so_1_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
lib_aitherion_sim_libnvidia_ml_so_1_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
lib_aitherion_sim_libnvidia_ml_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-Bsymbolic
$(lib_aitherion_sim_libnvidia_ml_so_1_OBJECTS): | proto/nvml-generated.stamp
