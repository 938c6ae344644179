# The wire protocol: C written from the schemas, which the tests read too.
SCHEMAS = proto/common.capnp proto/control.capnp proto/gpu-control.capnp
PROTO_TOOLS = proto/generate.py proto/request.py
PROTO_H = $(SCHEMAS:.capnp=.h)
PROTO_C = $(SCHEMAS:.capnp=.c)

proto/generated.stamp: $(SCHEMAS) $(PROTO_TOOLS)
	$(AM_V_GEN)$(MKDIR_P) proto && \
	$(CAPNP) compile -o- $(SCHEMAS:%=$(srcdir)/%) > proto/schemas.request && \
	$(PYTHON) -B $(srcdir)/proto/generate.py proto < proto/schemas.request && touch $@
$(PROTO_H) $(PROTO_C): proto/generated.stamp

BUILT_SOURCES += $(PROTO_H)
# For `make aitherion-runtime` as well, which BUILT_SOURCES is not made for.
$(libaitherion_a_OBJECTS) $(aitherion_runtime_OBJECTS): | proto/generated.stamp
nodist_libaitherion_a_SOURCES = $(PROTO_C)
CLEANFILES += proto/generated.stamp proto/schemas.request $(PROTO_H) $(PROTO_C)
EXTRA_DIST += $(SCHEMAS) $(PROTO_TOOLS)
