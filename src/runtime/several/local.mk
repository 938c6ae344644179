# The libcuda.so.1 of programs with several servers: a switch above copies of the one in the folder above it.
severaldir = $(pkglibdir)/several
several_PROGRAMS = lib/aitherion/several/libcuda.so.1
lib_aitherion_several_libcuda_so_1_SOURCES = \
	src/base/alloc.c src/base/alloc.h \
	src/base/err.c src/base/err.h \
	src/base/file.c src/base/file.h \
	src/base/log.c src/base/log.h \
	src/base/text.c src/base/text.h \
	src/runtime/client/open.c src/runtime/client/open.h \
	src/runtime/client/servers.c src/runtime/client/servers.h \
	src/runtime/client/session.c src/runtime/client/session.h \
	src/runtime/client/stripes.c src/runtime/client/stripes.h \
	src/runtime/cuda/by_hand/client_names.c \
	src/runtime/cuda/by_hand/client_tables.c \
	src/runtime/cuda/by_hand/locals.h \
	src/runtime/cuda/by_hand/options.h \
	src/runtime/cuda/by_hand/program_file.c \
	src/runtime/cuda/by_hand/standin.c src/runtime/cuda/by_hand/standin.h \
	src/runtime/cuda/box.h \
	src/runtime/cuda/bytes.c src/runtime/cuda/bytes.h \
	src/runtime/cuda/instance.h \
	src/runtime/cuda/refuse.c \
	src/runtime/cuda/symbols.c src/runtime/cuda/symbols.h \
	src/runtime/cuda/zeroed.c src/runtime/cuda/zeroed.h \
	src/runtime/server/visible.c src/runtime/server/visible.h \
	src/runtime/several/addresses.c src/runtime/several/addresses.h \
	src/runtime/several/calls.c \
	src/runtime/several/contexts.c \
	src/runtime/several/copies.c src/runtime/several/copies.h \
	src/runtime/several/devices.c \
	src/runtime/several/gates.c src/runtime/several/gates.h \
	src/runtime/several/jobs.c src/runtime/several/jobs.h \
	src/runtime/several/libraries.c src/runtime/several/libraries.h \
	src/runtime/several/objects.c src/runtime/several/objects.h \
	src/runtime/several/several.c src/runtime/several/several.h \
	src/runtime/switches.c src/runtime/switches.h \
	src/runtime/tables/tables.c src/runtime/tables/tables.h \
	src/runtime/wire/builder.c src/runtime/wire/builder.h \
	src/runtime/wire/endpoint.c src/runtime/wire/endpoint.h \
	src/runtime/wire/frame.c src/runtime/wire/frame.h \
	src/runtime/wire/message.c src/runtime/wire/message.h \
	src/runtime/wire/secret.c src/runtime/wire/secret.h
nodist_lib_aitherion_several_libcuda_so_1_SOURCES = $(PROTO_C) \
	proto/cuda-methods.c proto/cuda-several.c proto/cuda-symbols.c
lib_aitherion_several_libcuda_so_1_CFLAGS = $(COMPILE_SHARED)
# Its threads, and the copies that it loaded, outlive dlclose().
lib_aitherion_several_libcuda_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-soname,libcuda.so.1 \
	-Wl,--version-script=proto/cuda-several.map
lib_aitherion_several_libcuda_so_1_LDADD = $(NETTLE_LIBS) -lpthread
lib_aitherion_several_libcuda_so_1_DEPENDENCIES = proto/cuda-several.map
$(lib_aitherion_several_libcuda_so_1_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
