/*
 * Streamed answers of the Docker Engine: a sequence of JSON values (events, progress), and the
 * frames in which a container's standard output and error arrive. Both readers accept pieces of any
 * size as the network delivers them.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* A callback's result beside a negative errno (with err): GO_ON, or ENOUGH, which ends the request
 * as a success. */
enum { ATH_DOCKER_GO_ON, ATH_DOCKER_ENOUGH };

enum ath_docker_stream { ATH_DOCKER_STDOUT = 1, ATH_DOCKER_STDERR = 2 };

/* Receives one JSON value; json_incref() to keep it. */
typedef int ath_docker_on_json(void *context, json_t *value, struct ath_err *err);

/* Receives a piece of a container's output, never empty. A piece may end within a line or a
 * character. */
typedef int ath_docker_on_output(void *context, enum ath_docker_stream stream, const char *bytes,
                                 size_t length, struct ath_err *err);

/* Lines of JSON. All zero is the initial state. Holds at most one line of ATH_DOCKER_LINE_MAX
 * bytes. */
enum { ATH_DOCKER_LINE_MAX = 1 << 20 };
struct ath_docker_lines {
    struct ath_text line;
};
void ath_docker_lines_free(struct ath_docker_lines *lines);

/* Returns ATH_DOCKER_GO_ON, the callback's result, or -EBADMSG with err "engine-invalid". */
int ath_docker_lines_feed(struct ath_docker_lines *lines, const char *bytes, size_t length,
                          ath_docker_on_json *on_json, void *context, struct ath_err *err);

/* Handles a last line without a newline. Call at the end of the answer. Returns as above. */
int ath_docker_lines_end(struct ath_docker_lines *lines, ath_docker_on_json *on_json, void *context,
                         struct ath_err *err);

/*
 * Frames (Engine API, "Attach to a container: stream format"): a byte with the stream, three zeros,
 * the length in four bytes, most significant first, and that many bytes. Stream 3 is an error of
 * the daemon itself. All zero is the initial state. The reader never stores a frame, whatever its
 * length.
 */
struct ath_docker_frames {
    bool is_raw; /* the container has a terminal: one stream without frames */
    unsigned char head[8];
    size_t head_length;
    uint32_t left; /* bytes of the current frame */
    struct ath_text fault;
};
void ath_docker_frames_free(struct ath_docker_frames *frames);

/* Returns as ath_docker_lines_feed() does, or -EIO with err "engine-error" for an error of the
 * daemon. */
int ath_docker_frames_feed(struct ath_docker_frames *frames, const char *bytes, size_t length,
                           ath_docker_on_output *on_output, void *context, struct ath_err *err);

/* Returns 0, or -EBADMSG with err if the answer ended within a frame. */
int ath_docker_frames_end(const struct ath_docker_frames *frames, struct ath_err *err);
