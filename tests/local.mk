# Tests: unit (Check, one program a module), golden (captures), cli, fuzz.

# A program's source is its name with .c, and it links the whole library: a new test is one line here.
LDADD = $(LIBAITHERION) $(CHECK_LIBS)
AM_CFLAGS += $(CHECK_CFLAGS)

TESTS =
if HAVE_CHECK
UNIT_TESTS = \
	tests/unit/test_command \
	tests/unit/test_output \
	tests/unit/test_topology_xml
tests_unit_test_output_SOURCES = tests/unit/test_output.c tests/unit/made_machines.c tests/unit/made_machines.h
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif

# Fuzz targets: one entry LLVMFuzzerTestOneInput each; ./configure --enable-fuzzers CC=clang.
FUZZERS_ALL = tests/fuzz/fuzz_root tests/fuzz/fuzz_topology_xml
if FUZZERS
noinst_PROGRAMS += $(FUZZERS_ALL)
endif
tests_fuzz_fuzz_root_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_topology_xml_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

include tests/captures.mk
