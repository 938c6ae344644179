# The libcuda.so.1 of programs with several servers: a switch above copies of the one in the folder above it.
severaldir = $(pkglibdir)/several
several_PROGRAMS = lib/aitherion/several/libcuda.so.1
lib_aitherion_several_libcuda_so_1_SOURCES = \
	src/cuda/client/context_locals.h \
	src/cuda/client/instance.h \
	src/cuda/client/jit_options.h \
	src/cuda/common/copy_box.h \
	src/cuda/common/copy_list.c src/cuda/common/copy_list.h \
	src/cuda/several/addresses.c src/cuda/several/addresses.h \
	src/cuda/several/calls.c \
	src/cuda/several/contexts.c \
	src/cuda/several/copies.c src/cuda/several/copies.h \
	src/cuda/several/devices.c \
	src/cuda/several/far_event.c \
	src/cuda/several/handle_table.c src/cuda/several/handle_table.h \
	src/cuda/several/journey.c src/cuda/several/journey.h \
	src/cuda/several/libraries.c src/cuda/several/libraries.h \
	src/cuda/several/several.c src/cuda/several/several.h \
	src/cuda/several/stream_copy.c src/cuda/several/stream_copy.h \
	src/cuda/several/stream_gate.c src/cuda/several/stream_gate.h \
	src/cuda/several/waiting_threads.c src/cuda/several/waiting_threads.h
nodist_lib_aitherion_several_libcuda_so_1_SOURCES = proto/cuda-several.c
lib_aitherion_several_libcuda_so_1_CFLAGS = $(COMPILE_SHARED)
# Its threads, and the copies that it loaded, outlive dlclose().
lib_aitherion_several_libcuda_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-u,cuInit -Wl,-soname,libcuda.so.1 \
	-Wl,--version-script=proto/cuda-several.map
lib_aitherion_several_libcuda_so_1_LDADD = $(LIBCLIENT)
lib_aitherion_several_libcuda_so_1_DEPENDENCIES = libclient.a libaitherion.a proto/cuda-several.map
$(lib_aitherion_several_libcuda_so_1_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
