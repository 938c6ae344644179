# CUDA's calls. The server's side is in libaitherion.a; the client's is a shared library of its own, which stands in for the
# driver's libcuda.so.1 in programs that `aitherion run` starts. It lies where no linker looks by itself.
# Sources of both processes.
libaitherion_a_SOURCES += \
	src/cuda/common/byte_mask.h \
	src/cuda/common/copy_box.h \
	src/cuda/common/memory_token.h \
	src/cuda/common/open_result.h \
	src/cuda/common/promise.h \
	src/cuda/common/bytes.c src/cuda/common/bytes.h \
	src/cuda/common/call_side.c src/cuda/common/call_side.h \
	src/cuda/common/capture_list.c src/cuda/common/capture_list.h \
	src/cuda/common/deferred_limits.h \
	src/cuda/common/kernel_node.c src/cuda/common/kernel_node.h \
	src/cuda/common/shadow_copy.c src/cuda/common/shadow_copy.h

# Also in the library for programs that have the driver in their own process (local/).
libaitherion_a_SOURCES += \
	src/cuda/turns/callers.c src/cuda/turns/callers.h \
	src/cuda/turns/contexts.c src/cuda/turns/contexts.h \
	src/cuda/turns/gate.c src/cuda/turns/gate.h \
	src/cuda/turns/gate_state.h \
	src/cuda/turns/turn_thread.c \
	src/cuda/turns/used_streams.c src/cuda/turns/used_streams.h

# The server's side.
libaitherion_a_SOURCES += \
	src/cuda/server/call_answer.c src/cuda/server/call_answer.h \
	src/cuda/server/call_counts.h \
	src/cuda/server/call_head.c src/cuda/server/call_head.h \
	src/cuda/server/call_rooms.c src/cuda/server/call_rooms.h \
	src/cuda/server/call_threads.c src/cuda/server/call_threads.h \
	src/cuda/server/capture_threads.c src/cuda/server/capture_threads.h \
	src/cuda/server/code_image.c src/cuda/server/code_image.h \
	src/cuda/server/copy.c \
	src/cuda/server/copy_source.c src/cuda/server/copy_source.h \
	src/cuda/server/current_context.c src/cuda/server/current_context.h \
	src/cuda/server/deferred_copy.c src/cuda/server/deferred_copy.h \
	src/cuda/server/driver_thread.c src/cuda/server/driver_thread.h \
	src/cuda/server/handle_conversion.c src/cuda/server/handle_conversion.h \
	src/cuda/server/host_callback.c \
	src/cuda/server/jit_options.c src/cuda/server/jit_options.h \
	src/cuda/server/kernel_facts.c \
	src/cuda/server/kernel_layout.c src/cuda/server/kernel_layout.h \
	src/cuda/server/kernel_output.c src/cuda/server/kernel_output.h \
	src/cuda/server/graph_node.c \
	src/cuda/server/launch.c \
	src/cuda/server/linker.c src/cuda/server/linker.h \
	src/cuda/server/managed_memory.c \
	src/cuda/server/mirror_changes.c \
	src/cuda/server/misc.c \
	src/cuda/server/module.c \
	src/cuda/server/object_table.c src/cuda/server/object_table.h \
	src/cuda/server/pinned_memory.c \
	src/cuda/server/pinned_room.c src/cuda/server/pinned_room.h \
	src/cuda/server/region.h \
	src/cuda/server/regions.c src/cuda/server/regions.h \
	src/cuda/server/served_call.h \
	src/cuda/server/server.c src/cuda/server/server.h \
	src/cuda/server/share_memory.c \
	src/cuda/server/thread_stream.c src/cuda/server/thread_stream.h
CUDA_SERVER_PROTO_C = proto/cuda-methods.c proto/cuda-part.c proto/cuda-server.c proto/cuda-structs.c proto/cuda-turns.c proto/cuda-wire.c

driverdir = $(pkglibdir)
driver_PROGRAMS = lib/aitherion/libcuda.so.1
# The client's sources beside those of both processes.
CUDA_CLIENT_SOURCES = \
	src/cuda/api/cuda_api.h \
	src/cuda/api/cuda_enums.h \
	src/cuda/api/cuda_functions.h \
	src/cuda/api/cuda_types.h \
	src/cuda/client/answer_cache.c src/cuda/client/answer_cache.h \
	src/cuda/client/call.c \
	src/cuda/client/call_summary.c src/cuda/client/call_summary.h \
	src/cuda/client/capture_state.c src/cuda/client/capture_state.h \
	src/cuda/client/child_graph_node.c src/cuda/client/child_graph_node.h \
	src/cuda/client/captured_copy.c src/cuda/client/captured_copy.h \
	src/cuda/client/client.h \
	src/cuda/client/code_facts.c src/cuda/client/code_facts.h \
	src/cuda/client/code_image.c src/cuda/client/code_image.h \
	src/cuda/client/connect.c \
	src/cuda/client/connection.c src/cuda/client/connection.h \
	src/cuda/client/context.c \
	src/cuda/client/context_locals.h \
	src/cuda/client/copy.c \
	src/cuda/client/copy_batch.c \
	src/cuda/common/copy_list.c src/cuda/common/copy_list.h \
	src/cuda/client/copy_node.c \
	src/cuda/client/copy_rectangle.c src/cuda/client/copy_rectangle.h \
	src/cuda/client/copy_unified.c \
	src/cuda/client/deferred_copy.c src/cuda/client/deferred_copy.h \
	src/cuda/client/device_facts.c src/cuda/client/device_facts.h \
	src/cuda/client/graph_kernel_node.c \
	src/cuda/client/graph_memory.c src/cuda/client/graph_memory.h \
	src/cuda/client/graph_node.c \
	src/cuda/client/graph_update.c \
	src/cuda/client/handle_conversion.c \
	src/cuda/client/handles.c src/cuda/client/handles.h \
	src/cuda/client/host_callback.c src/cuda/client/host_callback.h \
	src/cuda/client/host_memory.c \
	src/cuda/client/init.c \
	src/cuda/client/instance.c src/cuda/client/instance.h \
	src/cuda/client/jit_options.c src/cuda/client/jit_options.h \
	src/cuda/client/kernel_attribute.c src/cuda/client/kernel_attribute.h \
	src/cuda/client/kernel_facts.c src/cuda/client/kernel_facts.h \
	src/cuda/client/kernel_output.c src/cuda/client/kernel_output.h \
	src/cuda/client/lasting_results.c src/cuda/client/lasting_results.h \
	src/cuda/client/kernel_parameters.c src/cuda/client/kernel_parameters.h \
	src/cuda/client/launch.c src/cuda/client/launch_fit.c src/cuda/client/launch_fit.h \
	src/cuda/client/library_kernels.c src/cuda/client/library_kernels.h \
	src/cuda/client/link.c src/cuda/client/link.h \
	src/cuda/client/link_open.c src/cuda/client/link_internal.h \
	src/cuda/client/linker.c \
	src/cuda/client/managed_memory.c \
	src/cuda/client/mapped_file.c src/cuda/client/mapped_file.h \
	src/cuda/client/memory_ahead.c src/cuda/client/memory_ahead.h \
	src/cuda/client/memory_reuse.c src/cuda/client/memory_reuse.h \
	src/cuda/client/mirror.h \
	src/cuda/client/mirror_entry.h \
	src/cuda/client/mirror_map.c \
	src/cuda/client/mirror_pull.c \
	src/cuda/client/mirror_push.c \
	src/cuda/client/module.c \
	src/cuda/client/occupancy.c \
	src/cuda/client/page_tracking.c src/cuda/client/page_tracking.h \
	src/cuda/client/parameter_layout.c src/cuda/client/parameter_layout.h \
	src/cuda/client/path_words.c src/cuda/client/path_words.h \
	src/cuda/client/pinned_memory.c src/cuda/client/pinned_memory.h \
	src/cuda/client/pointer_attribute.c \
	src/cuda/client/pointer_scan.c \
	src/cuda/client/prefetch.c src/cuda/client/prefetch.h \
	src/cuda/client/program_memory.c src/cuda/client/program_memory.h \
	src/cuda/client/recording.c src/cuda/client/recording.h \
	src/cuda/client/remote_limits.c \
	src/cuda/client/share_memory.c \
	src/cuda/client/staging.c src/cuda/client/staging.h \
	src/cuda/client/fact_file.c src/cuda/client/fact_file.h \
	src/cuda/client/start_plan.c src/cuda/client/start_plan.h \
	src/cuda/client/start_stock.c src/cuda/client/start_stock.h \
	src/cuda/client/stream_pool.c src/cuda/client/stream_pool.h \
	src/cuda/client/stream_rest.c src/cuda/client/stream_rest.h \
	src/cuda/client/synchronize.c \
	src/cuda/client/text_files.c \
	src/cuda/client/thread.c \
	src/cuda/client/thread_cache.c src/cuda/client/thread_cache.h
lib_aitherion_libcuda_so_1_SOURCES = $(CUDA_CLIENT_SOURCES)
nodist_lib_aitherion_libcuda_so_1_SOURCES = proto/cuda-client.c
# -Bsymbolic: what one of its functions calls is its own, whatever the program calls so.
# They stay once they are loaded: threads of theirs run, and threads that end call them.
LINK_SHARED = $(AM_LDFLAGS) -shared -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,nodelete
lib_aitherion_libcuda_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_libcuda_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-u,cuInit -Wl,-soname,libcuda.so.1 -Wl,--version-script=proto/cuda.map
lib_aitherion_libcuda_so_1_LDADD = $(LIBCLIENT)
lib_aitherion_libcuda_so_1_DEPENDENCIES = libclient.a libaitherion.a proto/cuda.map
$(lib_aitherion_libcuda_so_1_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
