/*
 * Answers of the Docker Engine that never end: JSON values in a row (events, progress) and the
 * frames in which a container's standard output and error come mixed. Both readers take what the
 * network gives, in pieces of any size, and hand on what is whole.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* What a callback answers beside a negative errno (with err): go on, or enough, the request is done
 * and has succeeded. */
enum { ATH_DOCKER_GO_ON, ATH_DOCKER_ENOUGH };

enum ath_docker_stream { ATH_DOCKER_STDOUT = 1, ATH_DOCKER_STDERR = 2 };

/* One JSON value; json_incref() to keep it. */
typedef int ath_docker_on_json(void *context, json_t *value, struct ath_err *err);

/* A piece of a container's output, of any length but 0; it ends anywhere, also within a line or a
 * character. */
typedef int ath_docker_on_output(void *context, enum ath_docker_stream stream, const char *bytes,
                                 size_t length, struct ath_err *err);

/* Lines of JSON. All zero is ready; what is held is at most one line of ATH_DOCKER_LINE_MAX. */
enum { ATH_DOCKER_LINE_MAX = 1 << 20 };
struct ath_docker_lines {
    struct ath_text line;
};
void ath_docker_lines_free(struct ath_docker_lines *lines);

/* Returns ATH_DOCKER_GO_ON, what the callback answered, or -EBADMSG with err "engine-invalid". */
int ath_docker_lines_feed(struct ath_docker_lines *lines, const char *bytes, size_t length,
                          ath_docker_on_json *on_json, void *context, struct ath_err *err);

/* The same for the line that the end of the answer ended. */
int ath_docker_lines_end(struct ath_docker_lines *lines, ath_docker_on_json *on_json, void *context,
                         struct ath_err *err);

/*
 * Frames (Engine API, "Attach to a container: stream format"): a byte that says which stream, three
 * zeros, the length in four bytes, most significant first, and so many bytes. All zero is ready; no
 * frame is ever held, however long it says it is. Stream 3 is an error of the daemon itself.
 */
struct ath_docker_frames {
    bool is_raw; /* a container with a terminal has one stream and no frames */
    unsigned char head[8];
    size_t head_length;
    uint32_t left; /* of the frame that is being read */
    struct ath_text fault;
};
void ath_docker_frames_free(struct ath_docker_frames *frames);

/* Returns as ath_docker_lines_feed(), and -EIO with err "engine-error" for an error of the daemon.
 */
int ath_docker_frames_feed(struct ath_docker_frames *frames, const char *bytes, size_t length,
                           ath_docker_on_output *on_output, void *context, struct ath_err *err);

/* Returns 0, or -EBADMSG with err where the answer ended within a frame. */
int ath_docker_frames_end(const struct ath_docker_frames *frames, struct ath_err *err);
