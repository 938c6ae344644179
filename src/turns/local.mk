# Turns on GPUs: a state machine without clock, lock or I/O. Its tests live for days of its time.
libaitherion_a_SOURCES += \
	src/turns/bits.h \
	src/turns/decide.c \
	src/turns/inside.h \
	src/turns/lag.c src/turns/lag.h \
	src/turns/pass.c src/turns/pass.h \
	src/turns/private_page.h \
	src/turns/shares.c src/turns/shares.h \
	src/turns/slot.h \
	src/turns/turns.c src/turns/turns.h

src/turns/libaitherion_a-decide.o src/turns/libaitherion_a-lag.o src/turns/libaitherion_a-pass.o src/turns/libaitherion_a-turns.o tests/unit/test_turns.o: CFLAGS := $(WALKING_CFLAGS)
