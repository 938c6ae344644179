libaitherion_a_SOURCES += \
	src/base/alloc.c src/base/alloc.h \
	src/base/bind.c src/base/bind.h \
	src/base/cleanup.h \
	src/base/clock.h \
	src/base/uncancelled.h \
	src/base/fingerprint.c src/base/fingerprint.h \
	src/base/err.c src/base/err.h \
	src/base/file.c src/base/file.h \
	src/base/host_budget.c src/base/host_budget.h \
	src/base/i18n.h \
	src/base/idset.c src/base/idset.h \
	src/base/isolated.c src/base/isolated.h \
	src/base/clean.c src/base/clean.h \
	src/base/key_name.c src/base/key_name.h \
	src/base/late.c src/base/late.h \
	src/base/level.c src/base/level.h \
	src/base/log.c src/base/log.h \
	src/base/map.h \
	src/base/memory_limit.c src/base/memory_limit.h \
	src/base/time_claim.c src/base/time_claim.h \
	src/base/paths.c src/base/paths.h \
	src/base/process_name.h \
	src/base/pci.c src/base/pci.h \
	src/base/pci_names.c src/base/pci_names.h \
	src/base/pci_virtual.c src/base/pci_virtual.h \
	src/base/pcidev.c src/base/pcidev.h \
	src/base/root.c src/base/root.h \
	src/base/text.c src/base/text.h \
	src/base/thread.c src/base/thread.h \
	src/base/unknown.h

# Only the command line tool speaks HTTP to others.
libadmin_a_SOURCES += src/base/curl.c src/base/curl.h
