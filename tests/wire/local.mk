# The wire's codec against capnp itself: every struct of the schemas, and of one that has every form, is printed and copied.
TEST_SCHEMAS = tests/wire/everything.capnp

tests/wire/generated.stamp: $(TEST_SCHEMAS) $(SCHEMAS) $(PROTO_TOOLS) tests/wire/copier.py
	$(AM_V_GEN)$(MKDIR_P) tests/wire proto && \
	$(CAPNP) compile -o- $(TEST_SCHEMAS:%=$(srcdir)/%) > tests/wire/test.request && \
	$(PYTHON) -B $(srcdir)/proto/generate.py proto < tests/wire/test.request && \
	$(CAPNP) compile -o- $(SCHEMAS:%=$(srcdir)/%) $(TEST_SCHEMAS:%=$(srcdir)/%) > tests/wire/all.request && \
	$(PYTHON) -B $(srcdir)/tests/wire/copier.py < tests/wire/all.request > tests/wire/copies.c && touch $@
tests/wire/copies.c proto/everything.c proto/everything.h: tests/wire/generated.stamp
CLEANFILES += tests/wire/generated.stamp tests/wire/test.request tests/wire/all.request tests/wire/copies.c \
	proto/everything.c proto/everything.h

check_LIBRARIES = tests/wire/libcopies.a
nodist_tests_wire_libcopies_a_SOURCES = tests/wire/copies.c proto/everything.c
tests_wire_libcopies_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/wire
$(tests_wire_libcopies_a_OBJECTS): | proto/generated.stamp tests/wire/generated.stamp

check_PROGRAMS += tests/tools/wire_copy
tests_tools_wire_copy_LDADD = tests/wire/libcopies.a $(LDADD)
tests_tools_wire_copy_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/wire
tests_fuzz_fuzz_wire_LDADD = tests/wire/libcopies.a $(LDADD)
tests_fuzz_fuzz_wire_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/wire
tests_fuzz_fuzz_wire_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
EXTRA_DIST += $(TEST_SCHEMAS) tests/wire/copier.py tests/wire/seeds.py tests/wire/copies.h
