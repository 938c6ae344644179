# What Prometheus reads: the table of metrics and its text.
libaitherion_a_SOURCES += \
	src/watch/http.c src/watch/http.h \
	src/watch/metric.c src/watch/metric.h \
	src/watch/page.c src/watch/page.h \
	src/watch/places.c src/watch/places.h \
	src/watch/tls.c src/watch/tls.h \
	src/watch/web.c src/watch/web.h
