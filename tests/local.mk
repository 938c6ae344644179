# Tests: unit (Check, one program a module), golden (captures), cli, fuzz.
if HAVE_CHECK
UNIT_TESTS =
check_PROGRAMS += $(UNIT_TESTS)
TESTS = $(UNIT_TESTS)
endif
