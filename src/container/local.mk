libaitherion_a_SOURCES += \
	src/container/cgroup.c src/container/cgroup.h \
	src/container/closure.c src/container/closure.h \
	src/container/digest.c src/container/digest.h \
	src/container/elf.c src/container/elf.h \
	src/container/image_build.c src/container/image_build.h \
	src/container/image_load.c src/container/image_load.h \
	src/container/ld_cache.c src/container/ld_cache.h \
	src/container/tar.c src/container/tar.h \
	src/container/curl.c src/container/curl.h \
	src/container/docker.c src/container/docker.h \
	src/container/docker_container.c src/container/docker_container.h \
	src/container/docker_fault.c src/container/docker_fault.h \
	src/container/docker_host.c src/container/docker_host.h \
	src/container/docker_image.c src/container/docker_image.h \
	src/container/docker_json.c src/container/docker_json.h \
	src/container/docker_network.c src/container/docker_network.h \
	src/container/docker_request.c src/container/docker_request.h \
	src/container/docker_stream.c src/container/docker_stream.h \
	src/container/docker_system.c src/container/docker_system.h \
	src/container/docker_transfer.c src/container/docker_transfer.h \
	src/container/docker_body.c src/container/docker_body.h \
	src/container/engine.c src/container/engine.h src/container/engine_internal.h \
	src/container/engine_docker.c src/container/engine_docker.h \
	src/container/engine_docker_start.c \
	src/container/engine_node.c \
	src/container/engine_process.c \
	src/container/plan.c src/container/plan.h src/container/plan_internal.h \
	src/container/plan_cdi.c src/container/plan_cdi.h \
	src/container/plan_facts.c src/container/plan_facts.h \
	src/container/plan_gpu.c \
	src/container/plan_libraries.c src/container/plan_libraries.h \
	src/container/plan_memory.c \
	src/container/plan_network.c \
	src/container/plan_runtime.c \
	src/container/process_facts.c src/container/process_facts.h \
	src/container/process_state.c src/container/process_state.h \
	src/container/run_folder.c src/container/run_folder.h \
	src/container/run_line.c src/container/run_line.h \
	src/container/supervisor.c src/container/supervisor.h
