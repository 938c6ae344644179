/*
 * The library that programs started by `aitherion run` find as NVIDIA's libnvcuvid.so.1 (video and
 * JPEG decoders) and libnvidia-encode.so.1. It cannot be loaded, and the symbol that it lacks tells
 * the reason. Programs are prepared for a missing library, since containers often have CUDA without
 * video: nvJPEG then decodes by kernels, FFmpeg on the CPU. The machine's own libraries, if it has
 * a GPU as well, would bypass CUDA and talk to a driver that a remote GPU does not have, and wait
 * forever (nvJPEG of CUDA 13 on an H200).
 */
#include "config.h"

extern void aitherion_serves_no_video_units(void);

/* A pointer in data is resolved when the library is loaded, also lazily. */
extern void (*const ath_video_reason)(void);
__attribute__((visibility("default"))) void (*const ath_video_reason)(void) =
    aitherion_serves_no_video_units;
