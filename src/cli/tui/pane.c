/*
 * The pane is a terminal that knows what our commands print: lines, colours, carriage returns and
 * "erase to the end of the line" of the progress bar, and the echo of typed keys with backspaces.
 */
#include "config.h"

#include "cli/tui/pane.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/lines.h"

/* Lines beyond LINES_MAX are forgotten, the oldest first. */
enum { TAB_COLUMNS = 8, WAIT_MS = 100, LINES_MAX = 10000 };

struct showing {
    const struct ath_pane *pane;
    struct ath_lines lines;
    size_t whole;           /* lines that are complete; the rest shows `now` */
    struct ath_text now;    /* the line being printed */
    bool is_returned;       /* after a carriage return: what follows replaces the line */
    struct ath_text escape; /* an escape sequence that is not complete yet */
    bool is_back;           /* the user scrolled back: new lines do not move the text */
    struct winsize size;    /* as the command knows it */
    int fd;                 /* the command's terminal, or -1 */
    pid_t process;          /* 0 after the end */
    int result;
};

/* ---- what the command prints ---- */

static void begin_again(struct showing *showing)
{
    if (showing->is_returned)
        ath_text_free(&showing->now);
    showing->is_returned = false;
}

static void end_line(struct showing *showing)
{
    ath_lines_add(&showing->lines, showing->now.data ? showing->now.data : "",
                  showing->size.ws_col);
    ath_text_free(&showing->now);
    showing->is_returned = false;
    showing->whole = showing->lines.count;
}

static void add_byte(struct showing *showing, char byte)
{
    begin_again(showing);
    ath_text_add_bytes(&showing->now, &byte, 1);
}

static void erase_letter(struct showing *showing)
{
    struct ath_text *now = &showing->now;
    while (now->length && ath_utf8_is_inside(now->data[now->length - 1]))
        now->length--;
    if (now->length)
        now->data[--now->length] = '\0';
}

/* Keeps our colours and does "erase the line"; other sequences have no meaning here. */
static void end_escape(struct showing *showing, char final)
{
    enum ath_role role;
    if (final == 'K')
        begin_again(showing);
    if (final == 'm' && ath_lines_sequence(showing->escape.data, &role)) {
        begin_again(showing);
        ath_text_add(&showing->now, "%s", showing->escape.data);
    }
    ath_text_free(&showing->escape);
}

/* A sequence is ESC [, parameters below '@' and a final byte, or ESC and one byte (ECMA-48). */
static void add_escape(struct showing *showing, char byte)
{
    ath_text_add_bytes(&showing->escape, &byte, 1);
    size_t length = showing->escape.length;
    if ((length == 2 && byte != '[') || (length > 2 && byte >= '@'))
        end_escape(showing, byte);
}

static void take(struct showing *showing, char byte)
{
    if (showing->escape.length || byte == '\033') {
        add_escape(showing, byte);
    } else if (byte == '\n') {
        end_line(showing);
    } else if (byte == '\r') {
        showing->is_returned = true;
    } else if (byte == '\b') {
        erase_letter(showing);
    } else if (byte == '\t') {
        do
            add_byte(showing, ' ');
        while (showing->now.length % TAB_COLUMNS);
    } else if ((unsigned char)byte >= ' ') {
        add_byte(showing, byte);
    }
}

static void forget(struct showing *showing)
{
    struct ath_lines *lines = &showing->lines;
    size_t gone = lines->count > LINES_MAX ? lines->count - LINES_MAX : 0;

    showing->whole = lines->count - gone;
    if (!gone)
        return;
    for (size_t i = 0; i < gone; i++)
        free(lines->items[i]);
    lines->count -= gone;
    memmove(lines->items, lines->items + gone, lines->count * sizeof *lines->items);
    lines->first -= (int)gone;
}

static void show_bytes(struct showing *showing, const char *bytes, size_t length)
{
    ath_lines_cut(&showing->lines, showing->whole);
    for (size_t i = 0; i < length; i++)
        take(showing, bytes[i]);
    forget(showing);
    if (showing->now.length)
        ath_lines_add(&showing->lines, showing->now.data, showing->size.ws_col);
    if (!showing->is_back)
        ath_lines_end(&showing->lines);
}

/* ---- the command ---- */

static void close_terminal(struct ath_tui *tui, struct showing *showing)
{
    ath_screen_watch(tui->terminal, -1);
    if (showing->fd >= 0)
        close(showing->fd);
    showing->fd = -1;
}

/* Shows what the command has printed. At the end of its output closes its terminal. */
static void read_output(struct ath_tui *tui, struct showing *showing)
{
    char bytes[4096];
    ssize_t length = 1;

    while (showing->fd >= 0 && length > 0) {
        length = read(showing->fd, bytes, sizeof bytes);
        if (length > 0)
            show_bytes(showing, bytes, (size_t)length);
    }
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
        close_terminal(tui, showing); /* EIO: no process has the terminal open any longer */
}

static void look_for_end(struct ath_tui *tui, struct showing *showing)
{
    int status;

    if (!showing->process || waitpid(showing->process, &status, WNOHANG) != showing->process)
        return;
    read_output(tui, showing);
    close_terminal(tui, showing); /* a process that the command left behind may hold it */
    showing->process = 0;
    showing->result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (showing->result)
        ath_tui_say(tui, ATH_ROLE_BAD, _("the command ended with exit code %d"), showing->result);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("the command is done"));
}

/* Returns the letter that a terminal sends for a key, or 0 for none. */
static wchar_t letter_of(enum ath_action action, int key)
{
    switch (action) {
    case ATH_ACTION_OPEN:
        return L'\r';
    case ATH_ACTION_ERASE:
        return L'\177';
    case ATH_ACTION_NONE:
    case ATH_ACTION_STOP:
        return key < ATH_KEY_FUNCTION ? (wchar_t)key : 0;
    default:
        return 0;
    }
}

static void write_key(const struct showing *showing, enum ath_action action, int key)
{
    char bytes[16]; /* MB_LEN_MAX */
    wchar_t letter = letter_of(action, key);
    int length = letter ? wctomb(bytes, letter) : 0;

    if (length > 0 && showing->fd >= 0 && write(showing->fd, bytes, (size_t)length) != length)
        return; /* the command reads nothing: as on a terminal, the key is lost */
}

/* Ends a command that still runs with the signal that ends the menus, and waits for it. */
static void end_command(struct ath_tui *tui, struct showing *showing)
{
    if (showing->process)
        kill(showing->process, ath_screen_signal(tui->terminal));
    while (showing->process) {
        struct pollfd input = { .fd = showing->fd, .events = POLLIN };
        poll(&input, 1, WAIT_MS);
        read_output(tui, showing);
        look_for_end(tui, showing);
    }
}

/* ---- the screen ---- */

/* The pane leaves a column free on both sides, like a page. */
static struct winsize size_of(const struct ath_tui *tui)
{
    return (struct winsize){
        .ws_row = (unsigned short)ath_tui_body_rows(tui),
        .ws_col = (unsigned short)(ath_screen_columns(tui->terminal) - 2),
    };
}

static void fit_size(const struct ath_tui *tui, struct showing *showing)
{
    struct winsize size = size_of(tui);

    if (showing->fd < 0 || !memcmp(&size, &showing->size, sizeof size))
        return;
    showing->size = size;
    ioctl(showing->fd, TIOCSWINSZ, &size);
}

/* Shows where typed letters go. */
static void draw_cursor(struct ath_tui *tui, const struct showing *showing, int end_row)
{
    const struct ath_lines *lines = &showing->lines;
    bool is_new_line = lines->count == showing->whole;
    const char *last = is_new_line ? "" : lines->items[lines->count - 1];

    ath_screen_cursor(tui->terminal, is_new_line ? end_row : end_row - 1,
                      1 + (int)ath_text_width(last));
}

static enum ath_key_place place_of(const struct showing *showing)
{
    return showing->process ? ATH_IN_RUN : ATH_IN_RESULT;
}

static void draw_pane(struct ath_tui *tui, void *data)
{
    struct showing *showing = data;
    int rows = ath_tui_body_rows(tui);

    fit_size(tui, showing);
    int end = ath_lines_draw(tui, &showing->lines, ATH_TUI_BODY, rows);
    ath_auto_free char *place = ath_lines_place(&showing->lines, rows);
    ath_tui_draw_around(tui, showing->pane->title,
                        showing->process ? _("the command runs; typed letters go to it") : place,
                        showing->pane->command, place_of(showing));
    if (showing->process && !showing->is_back)
        draw_cursor(tui, showing, end);
}

static void act(struct ath_tui *tui, struct showing *showing, enum ath_action action, int key)
{
    int rows = ath_tui_body_rows(tui);

    ath_lines_act(tui, &showing->lines, action, rows);
    showing->is_back = showing->lines.first + rows < (int)showing->lines.count;
    if (showing->process)
        write_key(showing, action, key);
}

/* Returns false when the user goes back. */
static bool turn(struct ath_tui *tui, struct showing *showing)
{
    int key;
    enum ath_action action = ath_tui_key(tui, place_of(showing), -1, &key);

    read_output(tui, showing);
    if (tui->is_over || (action == ATH_ACTION_BACK && !showing->process))
        return false;
    if (key != ATH_KEY_PROGRAM)
        act(tui, showing, action, key);
    look_for_end(tui, showing);
    return true;
}

static void free_showing(struct showing *showing)
{
    ath_lines_free(&showing->lines);
    ath_text_free(&showing->now);
    ath_text_free(&showing->escape);
}

int ath_pane_run(struct ath_tui *tui, const struct ath_pane *pane)
{
    __attribute__((cleanup(free_showing))) struct showing showing = { .pane = pane, .fd = -1 };
    struct ath_tui_frame frame = { .draw = draw_pane, .data = &showing, .is_full = true };
    struct ath_err err = { 0 };

    showing.size = size_of(tui);
    int status = ath_screen_start(tui->terminal, pane->argv, &showing.size, &showing.process,
                                  &showing.fd, &err);
    if (status) {
        ath_tui_say_error(tui, &err);
        return status;
    }
    ath_tui_hush(tui);
    ath_tui_push(tui, &frame);
    ath_screen_watch(tui->terminal, showing.fd);
    while (turn(tui, &showing))
        ;
    end_command(tui, &showing);
    ath_tui_pop(tui);
    return showing.result;
}
