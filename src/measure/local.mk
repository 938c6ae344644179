libadmin_a_SOURCES += \
	src/measure/apply.c src/measure/apply.h \
	src/measure/copies.c src/measure/copies.h \
	src/measure/driver.c src/measure/driver.h \
	src/measure/measurement.c src/measure/measurement.h \
	src/measure/record.c src/measure/record.h
