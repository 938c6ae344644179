# NVML's calls, as CUDA's: the server's side is in libaitherion.a, the client's a library of its own beside libcuda.so.1.
libaitherion_a_SOURCES += \
	src/runtime/nvml/nvml_functions.h \
	src/runtime/nvml/nvml_types.h \
	src/runtime/nvml/server.c src/runtime/nvml/server.h \
	src/runtime/nvml/server_by_hand.c \
	src/runtime/nvml/table.h
NVML_SERVER_PROTO_C = proto/nvml-functions.c proto/nvml-server.c

driver_PROGRAMS += lib/aitherion/libnvidia-ml.so.1
lib_aitherion_libnvidia_ml_so_1_SOURCES = \
	src/base/alloc.c src/base/alloc.h \
	src/base/err.c src/base/err.h \
	src/base/file.c src/base/file.h \
	src/base/log.c src/base/log.h \
	src/base/text.c src/base/text.h \
	src/runtime/client/open.c src/runtime/client/open.h \
	src/runtime/client/servers.c src/runtime/client/servers.h \
	src/runtime/client/session.c src/runtime/client/session.h \
	src/runtime/client/stripes.c src/runtime/client/stripes.h \
	src/runtime/nvml/client.c src/runtime/nvml/client.h \
	src/runtime/nvml/client_by_hand.c \
	src/runtime/nvml/client_table.c \
	src/runtime/nvml/nvml_functions.h \
	src/runtime/nvml/nvml_types.h \
	src/runtime/nvml/several.c \
	src/runtime/nvml/table.h \
	src/runtime/nvml/words.c \
	src/runtime/switches.c src/runtime/switches.h \
	src/runtime/wire/builder.c src/runtime/wire/builder.h \
	src/runtime/wire/endpoint.c src/runtime/wire/endpoint.h \
	src/runtime/wire/frame.c src/runtime/wire/frame.h \
	src/runtime/wire/message.c src/runtime/wire/message.h \
	src/runtime/wire/secret.c src/runtime/wire/secret.h
nodist_lib_aitherion_libnvidia_ml_so_1_SOURCES = $(PROTO_C) proto/nvml-client.c proto/nvml-functions.c
lib_aitherion_libnvidia_ml_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_libnvidia_ml_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-soname,libnvidia-ml.so.1 -Wl,--version-script=proto/nvml.map
lib_aitherion_libnvidia_ml_so_1_LDADD = $(NETTLE_LIBS) -lpthread
lib_aitherion_libnvidia_ml_so_1_DEPENDENCIES = proto/nvml.map
$(lib_aitherion_libnvidia_ml_so_1_OBJECTS): | proto/generated.stamp proto/nvml-generated.stamp
