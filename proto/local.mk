# The wire protocol: C written from the schemas, which the tests read too.
SCHEMAS = proto/common.capnp proto/control.capnp proto/gpu-control.capnp proto/nvml-wire.capnp
PROTO_TOOLS = proto/generate.py proto/request.py
PROTO_H = $(SCHEMAS:.capnp=.h) $(SCHEMAS:.capnp=-types.h)
PROTO_C = $(SCHEMAS:.capnp=.c)

proto/generated.stamp: $(SCHEMAS) $(PROTO_TOOLS)
	$(AM_V_GEN)$(MKDIR_P) proto && \
	$(CAPNP) compile -o- $(SCHEMAS:%=$(srcdir)/%) > proto/schemas.request && \
	$(PYTHON) -B $(srcdir)/proto/generate.py proto < proto/schemas.request && touch $@
$(PROTO_H) $(PROTO_C): proto/generated.stamp ;

BUILT_SOURCES += $(PROTO_H)
# For `make aitherion-runtime` as well, which BUILT_SOURCES is not made for.
$(libadmin_a_OBJECTS) $(libaitherion_a_OBJECTS) $(aitherion_runtime_OBJECTS): | proto/generated.stamp
nodist_libaitherion_a_SOURCES = $(PROTO_C) $(CUDA_SERVER_PROTO_C) $(NVML_SERVER_PROTO_C)
CLEANFILES += proto/generated.stamp proto/schemas.request $(PROTO_H) $(PROTO_C)
EXTRA_DIST += $(SCHEMAS) $(PROTO_TOOLS)

# CUDA's driver interface: from its table the messages' schema, and C for both sides.
CUDA_TABLE = proto/cuda.capnp proto/cuda-errors.txt proto/cuda-symbols.txt
CUDA_TABLE_H = src/cuda/api/cuda_enums.h src/cuda/api/cuda_functions.h src/cuda/api/cuda_types.h
CUDA_PROTO_TOOLS = proto/cuda_client.py proto/cuda_generate.py proto/cuda_header.py proto/cuda_local.py proto/cuda_part.py proto/cuda_quota.py proto/cuda_server.py \
	proto/cuda_several.py proto/cuda_sim.py proto/cuda_structs.py proto/cuda_table.py proto/cuda_turns.py \
	proto/cuda_wrong.py
CUDA_PROTO_H = proto/cuda-client.h proto/cuda-methods.h proto/cuda-part.h proto/cuda-quota.h proto/cuda-server.h proto/cuda-several.h proto/cuda-structs.h \
	proto/cuda-wire.h proto/cuda-wire-types.h proto/cuda-wrong.h
CUDA_PROTO_C = proto/cuda-client.c proto/cuda-local.c proto/cuda-methods.c proto/cuda-part.c proto/cuda-server.c proto/cuda-several.c proto/cuda-sim.c \
	proto/cuda-structs.c proto/cuda-symbols.c proto/cuda-turns.c proto/cuda-wire.c
CUDA_PROTO_MADE = proto/cuda.request proto/cuda-wire.capnp proto/cuda-wire.request proto/cuda.map \
	proto/cuda-several.map proto/coverage.md

proto/cuda-generated.stamp: $(CUDA_TABLE) $(CUDA_TABLE_H) proto/common.capnp $(CUDA_PROTO_TOOLS) $(PROTO_TOOLS)
	$(AM_V_GEN)$(MKDIR_P) proto && \
	$(CAPNP) compile -o- --src-prefix=$(srcdir)/proto $(srcdir)/proto/cuda.capnp > proto/cuda.request && \
	$(PYTHON) -B $(srcdir)/proto/cuda_generate.py $(srcdir)/src/cuda/api $(srcdir)/proto/cuda-symbols.txt proto \
	< proto/cuda.request && \
	$(CAPNP) compile -I$(srcdir)/proto -o- proto/cuda-wire.capnp > proto/cuda-wire.request && \
	$(PYTHON) -B $(srcdir)/proto/generate.py proto < proto/cuda-wire.request && touch $@
$(CUDA_PROTO_H) $(CUDA_PROTO_C) proto/cuda.map proto/cuda-several.map proto/cuda-wire.capnp: proto/cuda-generated.stamp ;

BUILT_SOURCES += $(CUDA_PROTO_H)
$(libadmin_a_OBJECTS) $(libaitherion_a_OBJECTS) $(aitherion_runtime_OBJECTS): | proto/cuda-generated.stamp

# Each function that takes, gives or counts GPU memory has its wrapper.
QUOTA_C = src/runtime/quota/allocations.c src/runtime/quota/arrays.c src/runtime/quota/contexts.c \
	src/runtime/quota/graphs.c src/runtime/quota/info.c src/runtime/quota/kernels.c src/runtime/quota/modules.c src/runtime/quota/pools.c src/runtime/quota/shared.c \
	src/runtime/quota/virtual.c
proto/cuda-quota.stamp: proto/cuda-generated.stamp proto/cuda_quota.py $(QUOTA_C)
	$(AM_V_GEN)$(PYTHON) -B $(srcdir)/proto/cuda_quota.py proto/cuda-quota.h $(QUOTA_C:%=$(srcdir)/%) && touch $@
# Each function that a part of the multiprocessors treats by hand is there.
proto/cuda-part.stamp: proto/cuda_part.py src/runtime/part/wrappers.c
	$(AM_V_GEN)$(MKDIR_P) proto && $(PYTHON) -B $(srcdir)/proto/cuda_part.py $(srcdir)/src/runtime/part/wrappers.c && touch $@
$(aitherion_runtime_OBJECTS): | proto/cuda-quota.stamp proto/cuda-part.stamp
CLEANFILES += proto/cuda-quota.stamp proto/cuda-part.stamp
CLEANFILES += proto/cuda-generated.stamp $(CUDA_PROTO_H) $(CUDA_PROTO_C) $(CUDA_PROTO_MADE)
EXTRA_DIST += $(CUDA_TABLE) $(CUDA_PROTO_TOOLS)

# NVML: C for both sides from its table; what travels is in nvml-wire.capnp.
NVML_TABLE = proto/nvml.capnp proto/nvml-symbols.txt
NVML_TABLE_H = src/nvml/api/nvml_functions.h src/nvml/api/nvml_types.h
NVML_PROTO_TOOLS = proto/nvml_generate.py
NVML_PROTO_H = proto/nvml-client.h proto/nvml-functions.h proto/nvml-server.h
NVML_PROTO_C = proto/nvml-absent.c proto/nvml-client.c proto/nvml-functions.c proto/nvml-server.c

proto/nvml-generated.stamp: $(NVML_TABLE) $(NVML_TABLE_H) $(NVML_PROTO_TOOLS) $(CUDA_PROTO_TOOLS) $(PROTO_TOOLS)
	$(AM_V_GEN)$(MKDIR_P) proto && \
	$(CAPNP) compile -o- --src-prefix=$(srcdir)/proto $(srcdir)/proto/nvml.capnp > proto/nvml.request && \
	$(PYTHON) -B $(srcdir)/proto/nvml_generate.py $(srcdir)/src/nvml/api $(srcdir)/proto/nvml-symbols.txt proto \
	< proto/nvml.request && touch $@
$(NVML_PROTO_H) $(NVML_PROTO_C) proto/nvml.map: proto/nvml-generated.stamp ;

BUILT_SOURCES += $(NVML_PROTO_H)
$(libadmin_a_OBJECTS) $(libaitherion_a_OBJECTS) $(aitherion_runtime_OBJECTS): | proto/nvml-generated.stamp
CLEANFILES += proto/nvml-generated.stamp proto/nvml.request proto/nvml.map proto/nvml.md $(NVML_PROTO_H) $(NVML_PROTO_C)
EXTRA_DIST += $(NVML_TABLE) $(NVML_PROTO_TOOLS)

# The schemas that people need to read a recorded stream (AITHERION_RECORD) by capnp.
protodir = $(pkgdatadir)/proto
proto_DATA = proto/common.capnp proto/cuda-wire.capnp
