# Each function of NVML that travels: a library that looks at what it is given, and a program that calls the client's.
tests/nvml/fake.c tests/nvml/loopback.c: proto/nvml-generated.stamp tests/nvml/loopback.py
	$(AM_V_GEN)$(MKDIR_P) tests/nvml && \
	$(PYTHON) -B $(srcdir)/tests/nvml/loopback.py $(srcdir)/src/nvml/api $(srcdir)/proto/nvml-symbols.txt \
	`basename $@ .c` < proto/nvml.request > $@
CLEANFILES += tests/nvml/fake.c tests/nvml/loopback.c
EXTRA_DIST += tests/nvml/loopback.py

check_PROGRAMS += tests/nvml/fake/libnvidia-ml.so.1 tests/nvml/loopback
tests_nvml_fake_libnvidia_ml_so_1_SOURCES =
nodist_tests_nvml_fake_libnvidia_ml_so_1_SOURCES = tests/nvml/fake.c
tests_nvml_fake_libnvidia_ml_so_1_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
tests_nvml_fake_libnvidia_ml_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-Bsymbolic
tests_nvml_fake_libnvidia_ml_so_1_LDADD =
tests_nvml_loopback_SOURCES =
nodist_tests_nvml_loopback_SOURCES = tests/nvml/loopback.c
tests_nvml_loopback_LDADD = lib/aitherion/libnvidia-ml.so.1

$(tests_fuzz_fuzz_nvml_OBJECTS): | proto/nvml-generated.stamp
