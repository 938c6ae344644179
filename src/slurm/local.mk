# Slurm's plugin. The parts without Slurm are in the library, for the unit tests.
libaitherion_a_SOURCES += \
	src/slurm/arguments.c src/slurm/arguments.h \
	src/slurm/command.c src/slurm/command.h \
	src/slurm/job.c src/slurm/job.h \
	src/slurm/wishes.c src/slurm/wishes.h
EXTRA_DIST += src/slurm/spank.map
if SLURM
slurmdir = $(pkglibdir)/slurm
slurm_PROGRAMS = lib/aitherion/slurm/spank_aitherion.so
lib_aitherion_slurm_spank_aitherion_so_SOURCES = src/slurm/spank.c
# Slurm looks for symbols that its macro and its header declare with the default visibility.
lib_aitherion_slurm_spank_aitherion_so_CFLAGS = $(AM_CFLAGS) -fPIC
lib_aitherion_slurm_spank_aitherion_so_LDFLAGS = $(LINK_SHARED) -Wl,-z,undefs -Wl,--version-script=$(srcdir)/src/slurm/spank.map
lib_aitherion_slurm_spank_aitherion_so_LDADD = libaitherion.a
lib_aitherion_slurm_spank_aitherion_so_DEPENDENCIES = libaitherion.a src/slurm/spank.map
else
EXTRA_DIST += src/slurm/spank.c
endif
