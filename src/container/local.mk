libadmin_a_SOURCES += \
	src/container/docker/body.c src/container/docker/body.h \
	src/container/docker/container.c src/container/docker/container.h \
	src/container/docker/docker.c src/container/docker/docker.h \
	src/container/docker/fault.c src/container/docker/fault.h \
	src/container/docker/host.c src/container/docker/host.h \
	src/container/docker/image.c src/container/docker/image.h \
	src/container/docker/json.c src/container/docker/json.h \
	src/container/docker/network.c src/container/docker/network.h \
	src/container/docker/request.c src/container/docker/request.h \
	src/container/docker/run_line.c src/container/docker/run_line.h \
	src/container/docker/stream.c src/container/docker/stream.h \
	src/container/docker/system.c src/container/docker/system.h \
	src/container/docker/transfer.c src/container/docker/transfer.h \
	src/container/engine/cgroup.c src/container/engine/cgroup.h \
	src/container/engine/clean.c \
	src/container/engine/docker_chain.h \
	src/container/engine/docker_decide.c \
	src/container/engine/docker_end.c \
	src/container/engine/docker_engine.c src/container/engine/docker_engine.h \
	src/container/engine/docker_failure.c \
	src/container/engine/docker_present.c src/container/engine/docker_present.h \
	src/container/engine/docker_remains.c src/container/engine/docker_remains.h \
	src/container/engine/docker_start.c \
	src/container/engine/docker_survey.c \
	src/container/engine/docker_work.c \
	src/container/engine/engine.c src/container/engine/engine.h \
	src/container/engine/engine_words.c \
	src/container/engine/kinds.h \
	src/container/engine/node.c \
	src/container/engine/process_clean.c \
	src/container/engine/process_engine.c src/container/engine/process_engine.h \
	src/container/engine/process_facts.c src/container/engine/process_facts.h \
	src/container/engine/process_log.c src/container/engine/process_log.h \
	src/container/engine/process_start.c \
	src/container/engine/process_state.c src/container/engine/process_state.h \
	src/container/engine/process_survey.c \
	src/container/engine/run_folder.c src/container/engine/run_folder.h \
	src/container/engine/supervisor.c src/container/engine/supervisor.h \
	src/container/engine/supervisor_child.c \
	src/container/engine/supervisor_log.c \
	src/container/engine/supervisor_parts.h \
	src/container/image/build.c src/container/image/build.h \
	src/container/image/digest.c src/container/image/digest.h \
	src/container/image/load.c src/container/image/load.h \
	src/container/image/tar.c src/container/image/tar.h \
	src/container/linker/closure.c src/container/linker/closure.h \
	src/container/linker/elf.c src/container/linker/elf.h \
	src/container/linker/ld_cache.c src/container/linker/ld_cache.h \
	src/container/plan/cdi.c src/container/plan/cdi.h \
	src/container/plan/data.c \
	src/container/plan/facts.c src/container/plan/facts.h \
	src/container/plan/gpu.c \
	src/container/plan/libraries.c src/container/plan/libraries.h \
	src/container/plan/memory.c \
	src/container/plan/network.c \
	src/container/plan/parts.h \
	src/container/plan/plan.c src/container/plan/plan.h \
	src/container/plan/runtime.c
