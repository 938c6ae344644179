libadmin_a_SOURCES += \
	src/health/check.h \
	src/health/check_answers.c \
	src/health/check_document.c \
	src/health/check_engine.c \
	src/health/check_limits.c \
	src/health/check_link.c \
	src/health/check_machine.c \
	src/health/check_macvlan.c \
	src/health/check_plan.c \
	src/health/check_rdma.c \
	src/health/check_runtime.c src/health/check_runtime.h \
	src/health/checks.c \
	src/health/facts.c src/health/facts.h \
	src/health/health.c src/health/health.h \
	src/health/runtimes.c src/health/runtimes.h
