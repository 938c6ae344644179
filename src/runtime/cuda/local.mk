# CUDA's calls. The server's side is in libaitherion.a; the client's is a shared library of its own, which stands in for the
# driver's libcuda.so.1 in programs that `aitherion run` starts. It lies where no linker looks by itself.
libaitherion_a_SOURCES += \
	src/runtime/cuda/by_hand/kernel_node.c src/runtime/cuda/by_hand/kernel_node.h \
	src/runtime/cuda/by_hand/regions.h \
	src/runtime/cuda/by_hand/served.h \
	src/runtime/cuda/by_hand/server_callback.c \
	src/runtime/cuda/by_hand/server_copy.c \
	src/runtime/cuda/by_hand/server_launch.c \
	src/runtime/cuda/by_hand/server_memory.c \
	src/runtime/cuda/by_hand/server_misc.c \
	src/runtime/cuda/by_hand/server_module.c \
	src/runtime/cuda/by_hand/server_share.c \
	src/runtime/cuda/by_hand/share.h \
	src/runtime/cuda/bytes.c src/runtime/cuda/bytes.h \
	src/runtime/cuda/captures.c src/runtime/cuda/captures.h \
	src/runtime/cuda/same.c src/runtime/cuda/same.h \
	src/runtime/cuda/server.c src/runtime/cuda/server.h \
	src/runtime/cuda/side.c src/runtime/cuda/side.h
CUDA_SERVER_PROTO_C = proto/cuda-methods.c proto/cuda-server.c proto/cuda-structs.c proto/cuda-wire.c

driverdir = $(pkglibdir)
driver_PROGRAMS = lib/aitherion/libcuda.so.1
# What of the client the tests link too; the rest is in libaitherion.a.
CUDA_CLIENT_SOURCES = \
	src/runtime/cuda/by_hand/attribute.h \
	src/runtime/cuda/by_hand/callback.h \
	src/runtime/cuda/by_hand/capture.h \
	src/runtime/cuda/by_hand/captured.h \
	src/runtime/cuda/by_hand/client_attribute.c \
	src/runtime/cuda/by_hand/client_callback.c \
	src/runtime/cuda/by_hand/client_captured.c \
	src/runtime/cuda/by_hand/client_context.c \
	src/runtime/cuda/by_hand/client_copy.c \
	src/runtime/cuda/by_hand/client_host.c \
	src/runtime/cuda/by_hand/client_kernel_facts.c \
	src/runtime/cuda/by_hand/client_launch.c \
	src/runtime/cuda/by_hand/client_linker.c \
	src/runtime/cuda/by_hand/client_misc.c \
	src/runtime/cuda/by_hand/client_module.c \
	src/runtime/cuda/by_hand/client_names.c \
	src/runtime/cuda/by_hand/client_node.c \
	src/runtime/cuda/by_hand/client_rectangle.c \
	src/runtime/cuda/by_hand/client_share.c \
	src/runtime/cuda/by_hand/client_snapshot.c \
	src/runtime/cuda/by_hand/client_tables.c \
	src/runtime/cuda/by_hand/client_unified.c \
	src/runtime/cuda/by_hand/host.c src/runtime/cuda/by_hand/host.h \
	src/runtime/cuda/by_hand/kernel_facts.h \
	src/runtime/cuda/by_hand/layout.c src/runtime/cuda/by_hand/layout.h \
	src/runtime/cuda/by_hand/locals.h \
	src/runtime/cuda/by_hand/mapped_file.c src/runtime/cuda/by_hand/mapped_file.h \
	src/runtime/cuda/by_hand/options.h \
	src/runtime/cuda/by_hand/program_file.c \
	src/runtime/cuda/by_hand/sides.h \
	src/runtime/cuda/by_hand/staging.c src/runtime/cuda/by_hand/staging.h \
	src/runtime/cuda/by_hand/snapshot.h \
	src/runtime/cuda/by_hand/standin.c src/runtime/cuda/by_hand/standin.h \
	src/runtime/cuda/ahead.c src/runtime/cuda/ahead.h \
	src/runtime/cuda/box.h \
	src/runtime/cuda/cache.c src/runtime/cuda/cache.h \
	src/runtime/cuda/changed.h \
	src/runtime/cuda/client.c src/runtime/cuda/client.h \
	src/runtime/cuda/cuda_api.h \
	src/runtime/cuda/cuda_enums.h \
	src/runtime/cuda/cuda_functions.h \
	src/runtime/cuda/cuda_types.h \
	src/runtime/cuda/handles.c src/runtime/cuda/handles.h \
	src/runtime/cuda/instance.c src/runtime/cuda/instance.h \
	src/runtime/cuda/kept.c src/runtime/cuda/kept.h \
	src/runtime/cuda/memo.c src/runtime/cuda/memo.h \
	src/runtime/cuda/spares.c src/runtime/cuda/spares.h \
	src/runtime/cuda/refuse.c \
	src/runtime/cuda/summary.c src/runtime/cuda/summary.h \
	src/runtime/cuda/symbols.c src/runtime/cuda/symbols.h \
	src/runtime/cuda/written.c src/runtime/cuda/written.h \
	src/runtime/cuda/zeroed.c src/runtime/cuda/zeroed.h \
	src/runtime/tables/tables.c src/runtime/tables/tables.h
lib_aitherion_libcuda_so_1_SOURCES = $(CUDA_CLIENT_SOURCES) \
	src/base/alloc.c src/base/alloc.h \
	src/base/err.c src/base/err.h \
	src/base/file.c src/base/file.h \
	src/base/log.c src/base/log.h \
	src/base/text.c src/base/text.h \
	src/runtime/client/channel.c \
	src/runtime/client/open.c src/runtime/client/open.h \
	src/runtime/client/servers.c src/runtime/client/servers.h \
	src/runtime/client/session.c src/runtime/client/session.h \
	src/runtime/client/stripes.c src/runtime/client/stripes.h \
	src/runtime/cuda/by_hand/kernel_node.c src/runtime/cuda/by_hand/kernel_node.h \
	src/runtime/cuda/bytes.c src/runtime/cuda/bytes.h \
	src/runtime/cuda/captures.c src/runtime/cuda/captures.h \
	src/runtime/cuda/same.c src/runtime/cuda/same.h \
	src/runtime/cuda/side.c src/runtime/cuda/side.h \
	src/runtime/switches.c src/runtime/switches.h \
	src/runtime/transport/link.c src/runtime/transport/link.h \
	src/runtime/transport/look.h \
	src/runtime/transport/printed.c src/runtime/transport/printed.h \
	src/runtime/transport/recording.c src/runtime/transport/recording.h \
	src/runtime/transport/ring.c src/runtime/transport/ring.h \
	src/runtime/transport/shm.c src/runtime/transport/shm.h \
	src/runtime/transport/size_limit.c src/runtime/transport/size_limit.h \
	src/runtime/transport/stream.c src/runtime/transport/stream.h \
	src/runtime/transport/tcp.c \
	src/runtime/transport/team.c src/runtime/transport/team.h \
	src/runtime/wire/builder.c src/runtime/wire/builder.h \
	src/runtime/wire/endpoint.c src/runtime/wire/endpoint.h \
	src/runtime/wire/frame.c src/runtime/wire/frame.h \
	src/runtime/wire/message.c src/runtime/wire/message.h \
	src/runtime/wire/secret.c src/runtime/wire/secret.h
nodist_lib_aitherion_libcuda_so_1_SOURCES = $(PROTO_C) \
	proto/cuda-client.c proto/cuda-methods.c proto/cuda-structs.c proto/cuda-symbols.c proto/cuda-wire.c
# -Bsymbolic: what one of its functions calls is its own, whatever the program calls so.
COMPILE_SHARED = $(AM_CFLAGS) -fPIC -fvisibility=hidden
# They stay once they are loaded: threads of theirs run, and threads that end call them.
LINK_SHARED = $(AM_LDFLAGS) -shared -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,nodelete
lib_aitherion_libcuda_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_libcuda_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-soname,libcuda.so.1 -Wl,--version-script=proto/cuda.map
lib_aitherion_libcuda_so_1_LDADD = $(NETTLE_LIBS) -lpthread
lib_aitherion_libcuda_so_1_DEPENDENCIES = proto/cuda.map
$(lib_aitherion_libcuda_so_1_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
