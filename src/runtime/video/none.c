/*
 * What programs that `aitherion run` starts find as NVIDIA's libnvcuvid.so.1 (video and JPEG
 * decoders) and libnvidia-encode.so.1: a library that cannot be loaded, with the reason as the
 * symbol that it lacks. To load nothing is what such programs are ready for, since containers have
 * CUDA without video more often than not: nvJPEG then decodes by kernels, FFmpeg on the CPU. This
 * machine's own libraries, where it has a GPU as well, talk past CUDA to a driver that a remote GPU
 * has not, and wait for ever (nvJPEG of CUDA 13 on an H200).
 */
#include "config.h"

extern void aitherion_serves_no_video_units(void);

/* A pointer in data is resolved when the library is loaded, also lazily. */
extern void (*const ath_video_reason)(void);
__attribute__((visibility("default"))) void (*const ath_video_reason)(void) =
    aitherion_serves_no_video_units;
