/*
 * Fuzzes the readers of captured roots: the input is a .root text (tests/tools/mkroot.py has the
 * form), made into a folder on a memory file system and read as `discover --root` and a plan do.
 *
 * Nothing is ever written outside that folder: a path with a link, "." or ".." in it is passed
 * over. Links themselves may say anything, since the reader must stay inside on its own.
 */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "container/plan/facts.h"
#include "numa/discover.h"

enum { LINES_MAX = 400, PATH_MAX_BYTES = 256, CONTENT_MAX_BYTES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder_path[] = "/dev/shm/aitherion-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder_path);
}

/* The folder, which is made at the first input and emptied after each. */
static char *folder(void)
{
    static bool is_made;
    if (!is_made && (!mkdtemp(folder_path) || atexit(remove_folder)))
        abort();
    is_made = true;
    return folder_path;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type;
    return place->level ? remove(path) : 0;
}

static bool is_plain_path(const char *path)
{
    for (const char *part = path; *part; part += strcspn(part, "/")) {
        part += *part == '/';
        size_t length = strcspn(part, "/");
        if (!length || (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.'))))
            return false;
    }
    return *path && *path != '/';
}

/*
 * Opens the folder that holds path's last part, making what is missing on the way and never going
 * through a link; *out_name is that last part.
 */
static int open_parent(const char *path, char **out_name)
{
    int fd = open(folder(), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    ath_auto_free char *copy = ath_xstrdup(path);
    char *rest = copy;

    for (char *slash; fd >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
        *slash = '\0';
        mkdirat(fd, rest, 0700);
        int next = openat(fd, rest, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    *out_name = ath_xstrdup(rest);
    return fd;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c | 0x20) : NULL;
    return found ? (int)(found - digits) : 0;
}

/* The escapes of a content: \n \t \xNN \c; returns the length in out. */
static size_t unescape(const char *text, char out[CONTENT_MAX_BYTES])
{
    size_t length = 0;
    for (; *text && length < CONTENT_MAX_BYTES - 1; text++) {
        if (*text != '\\' || !text[1]) {
            out[length++] = *text;
            continue;
        }
        switch (*++text) {
        case 'c':
            return length;
        case 'n':
            out[length++] = '\n';
            break;
        case 't':
            out[length++] = '\t';
            break;
        case 'x':
            if (text[1] && text[2]) {
                out[length++] = (char)(hex_digit(text[1]) << 4 | hex_digit(text[2]));
                text += 2;
            }
            break;
        default:
            out[length++] = *text;
        }
    }
    out[length++] = '\n';
    return length;
}

static void make_file(int parent, const char *name, const char *content)
{
    char bytes[CONTENT_MAX_BYTES];
    size_t length = unescape(content, bytes);
    ath_auto_close int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, bytes, length) < 0)
        abort(); /* the memory file system is full, so nothing would be tested */
}

static void make_line(char *line)
{
    char *value = NULL;
    char *equals = strstr(line, " ="), *arrow = strstr(line, " -> ");
    size_t length = strlen(line);
    bool is_link = !equals && arrow;

    if (equals) {
        *equals = '\0';
        value = equals + 2 + (equals[2] == ' ');
    } else if (is_link) {
        *arrow = '\0';
        value = arrow + 4;
    } else if (length && line[length - 1] == '/') {
        line[length - 1] = '\0';
    } else {
        return;
    }
    if (!is_plain_path(line) || strlen(line) > PATH_MAX_BYTES)
        return;

    ath_auto_free char *name = NULL;
    ath_auto_close int parent = open_parent(line, &name);
    if (parent < 0)
        return;
    if (is_link)
        (void)!symlinkat(value, parent, name);
    else if (value)
        make_file(parent, name, value);
    else
        mkdirat(parent, name, 0700);
}

static void read_facts(const struct ath_machine *machine)
{
    ATH_AUTO(ath_plan_facts) facts = { 0 };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_err err;
    if (!ath_root_open(folder(), &root, &err))
        ath_plan_facts_read(&root, machine, &facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ath_auto_free char *text = ath_xalloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text, *line;
    for (int count = 0; count < LINES_MAX && (line = strsep(&rest, "\n")); count++)
        make_line(line);

    struct ath_machine_source source = { .root = folder() };
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err err;
    if (!ath_machine_discover(&source, &machine, &err))
        read_facts(&machine);
    nftw(folder(), remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return 0;
}
