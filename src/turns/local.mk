libaitherion_a_SOURCES += \
	src/turns/slot.h src/turns/turns.h
