/* Splits streamed answers into lines of JSON and frames of output. */
#include "config.h"

#include "container/docker/stream.h"

#include <errno.h>
#include <string.h>

#include "base/i18n.h"

enum { STREAM_FAULT = 3, FAULT_MAX = 512 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- lines ---- */

void ath_docker_lines_free(struct ath_docker_lines *lines)
{
    if (lines)
        ath_text_free(&lines->line);
}

static bool is_blank(const struct ath_text *text)
{
    return strspn(text->data ? text->data : "", " \t\r") == text->length;
}

static int hand_on_line(struct ath_text *line, ath_docker_on_json *on_json, void *context,
                        struct ath_err *err)
{
    if (is_blank(line)) {
        line->length = 0;
        return ATH_DOCKER_GO_ON;
    }
    json_error_t fault;
    json_auto_t *value = json_loadb(line->data, line->length, JSON_ALLOW_NUL, &fault);
    line->length = 0;
    if (!json_is_object(value))
        return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                           _("a line of the answer is not a JSON object: %s"),
                           value ? _("it is another value") : fault.text);
    return on_json(context, value, err);
}

int ath_docker_lines_feed(struct ath_docker_lines *lines, const char *bytes, size_t length,
                          ath_docker_on_json *on_json, void *context, struct ath_err *err)
{
    while (length) {
        const char *newline = memchr(bytes, '\n', length);
        size_t part = newline ? (size_t)(newline - bytes) : length;
        if (lines->line.length + part > ATH_DOCKER_LINE_MAX)
            return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                               _("a line of the answer is longer than %d bytes"),
                               ATH_DOCKER_LINE_MAX);
        ath_text_add_bytes(&lines->line, bytes, part);
        if (!newline)
            break;
        int status = hand_on_line(&lines->line, on_json, context, err);
        if (status)
            return status;
        bytes += part + 1;
        length -= part + 1;
    }
    return ATH_DOCKER_GO_ON;
}

int ath_docker_lines_end(struct ath_docker_lines *lines, ath_docker_on_json *on_json, void *context,
                         struct ath_err *err)
{
    return hand_on_line(&lines->line, on_json, context, err);
}

/* ---- frames ---- */

void ath_docker_frames_free(struct ath_docker_frames *frames)
{
    if (frames)
        ath_text_free(&frames->fault);
}

/* Reads part of a frame's header of eight bytes. Returns how many bytes it used. */
static size_t take_head(struct ath_docker_frames *frames, const char *bytes, size_t length)
{
    size_t part = smaller(length, sizeof frames->head - frames->head_length);
    memcpy(frames->head + frames->head_length, bytes, part);
    frames->head_length += part;
    return part;
}

static int report_fault(const struct ath_docker_frames *frames, struct ath_err *err)
{
    return ath_err_set(err, -EIO, ATH_E_ENGINE_ERROR, _("Docker says: %s"),
                       frames->fault.data ? frames->fault.data : "");
}

static int begin_frame(struct ath_docker_frames *frames, struct ath_err *err)
{
    const unsigned char *head = frames->head;
    if (head[0] > STREAM_FAULT || head[1] || head[2] || head[3])
        return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                           _("the output is not in Docker's frames"));
    frames->head_length = 0;
    frames->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 |
                   (uint32_t)head[7];
    return head[0] == STREAM_FAULT && !frames->left ? report_fault(frames, err) : 0;
}

/* Passes on a part of a frame's content; keeps it instead if the frame is an error of the
 * daemon. */
static int take_content(struct ath_docker_frames *frames, const char *bytes, size_t length,
                        ath_docker_on_output *on_output, void *context, struct ath_err *err)
{
    bool is_error = frames->head[0] == ATH_DOCKER_STDERR;
    frames->left -= (uint32_t)length;
    if (frames->head[0] != STREAM_FAULT)
        return on_output(context, is_error ? ATH_DOCKER_STDERR : ATH_DOCKER_STDOUT, bytes, length,
                         err);
    ath_text_add_bytes(&frames->fault, bytes, smaller(length, FAULT_MAX - frames->fault.length));
    return frames->left ? 0 : report_fault(frames, err);
}

int ath_docker_frames_feed(struct ath_docker_frames *frames, const char *bytes, size_t length,
                           ath_docker_on_output *on_output, void *context, struct ath_err *err)
{
    if (frames->is_raw)
        return length ? on_output(context, ATH_DOCKER_STDOUT, bytes, length, err)
                      : ATH_DOCKER_GO_ON;
    while (length) {
        size_t part =
            frames->left ? smaller(length, frames->left) : take_head(frames, bytes, length);
        int status = 0;
        if (frames->left)
            status = take_content(frames, bytes, part, on_output, context, err);
        else if (frames->head_length == sizeof frames->head)
            status = begin_frame(frames, err);
        if (status)
            return status;
        bytes += part;
        length -= part;
    }
    return ATH_DOCKER_GO_ON;
}

int ath_docker_frames_end(const struct ath_docker_frames *frames, struct ath_err *err)
{
    if (!frames->head_length && !frames->left)
        return 0;
    return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                       _("the output ended in the middle of a frame"));
}
