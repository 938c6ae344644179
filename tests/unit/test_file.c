/* Files are replaced whole, and only one writer at a time holds the lock. */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_err err;

static void setup(void)
{
    tree_make(&tree);
    err = (struct ath_err){ 0 };
}

static void teardown(void)
{
    tree_remove(&tree);
}

/* Returns the path of a file in the test's folder; the caller frees it. */
static char *path_of(const char *name)
{
    return ath_xasprintf("%s/%s", tree.path, name);
}

static void expect_file(const char *path, const char *expected)
{
    size_t length;
    ath_auto_free char *text = NULL;
    ck_assert_int_eq(ath_file_read(path, 1 << 20, &text, &length, &err), 0);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(length, strlen(expected));
}

FIXTURE(setup, teardown);

TEST(saves_and_reads)
{
    ath_auto_free char *path = path_of("a.yaml");
    ath_auto_free char *left = path_of(".a.yaml.new");
    struct stat status;

    ck_assert_int_eq(ath_file_save(path, "one", 3, &err), 0);
    expect_file(path, "one");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0644);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(ath_file_save(path, "", 0, &err), 0);
    expect_file(path, "");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    ck_assert_int_ne(access(left, F_OK), 0);
}

/* Gives one byte, and notes the mode of the file that it goes to. */
static ssize_t next_byte(void *context, char *buffer, size_t size, struct ath_err *ignored)
{
    mode_t *mode = context;
    ath_auto_free char *new_path = path_of(".a.key.new");
    struct stat status;

    (void)size, (void)ignored;
    if (*mode)
        return 0;
    ck_assert_int_eq(stat(new_path, &status), 0);
    *mode = status.st_mode & 07777;
    *buffer = 'x';
    return 1;
}

/* A key must not be readable for others until its file has the old one's mode. */
TEST(others_cannot_read_a_file_while_it_is_written)
{
    ath_auto_free char *path = path_of("a.key");
    mode_t mode = 0, mask = umask(0);

    ck_assert_int_eq(ath_file_save_stream(path, next_byte, &mode, &err), 0);
    umask(mask);
    ck_assert_uint_eq(mode, 0600);
    expect_file(path, "x");
}

/* The calls of a save, in order. The two functions below replace those of the C library. */
static char asked[512];
static bool is_watched;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    size_t length = strlen(asked);
    va_list args;
    va_start(args, format);
    if (is_watched)
        vsnprintf(asked + length, sizeof asked - length, format, args);
    va_end(args);
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int fsync(int fd)
{
    struct stat status;
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    if (!fstat(fd, &status) && S_ISDIR(status.st_mode))
        note("sync the folder; ");
    else
        note("sync %s of %lld bytes; ", name_in(path), (long long)status.st_size);
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    note("%s becomes %s; ", name_in(from), name_in(to));
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* A power cut then leaves the old file or the whole new one. */
TEST(a_save_is_on_the_disk_in_the_right_order)
{
    ath_auto_free char *path = path_of("a.yaml");
    ath_auto_free char *large = ath_xalloc(1 << 20);

    memset(large, 'x', 1 << 20);
    is_watched = true;
    ck_assert_int_eq(ath_file_save(path, "one", 3, &err), 0);
    ck_assert_str_eq(asked, "sync .a.yaml.new of 3 bytes; .a.yaml.new becomes a.yaml; "
                            "sync the folder; ");
    asked[0] = '\0';
    ck_assert_int_eq(ath_file_save(path, large, 1 << 20, &err), 0);
    ck_assert_str_eq(asked, "sync .a.yaml.new of 1048576 bytes; .a.yaml.new becomes a.yaml; "
                            "sync the folder; ");
}

/* Fails once if asked to; otherwise it does what the C library's function does. */
static int fstat_errno;

int fstat(int fd, struct stat *out)
{
    if (!fstat_errno)
        return fstatat(fd, "", out, AT_EMPTY_PATH);
    errno = fstat_errno;
    fstat_errno = 0;
    return -1;
}

static int lowest_free_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

TEST(closes_a_file_that_cannot_be_examined)
{
    ath_auto_free char *path = path_of("a.yaml");
    ath_auto_free char *text = NULL;
    size_t length;
    int before = lowest_free_descriptor();

    tree_put(&tree, "text", "a.yaml");
    fstat_errno = EIO;
    ck_assert_int_eq(ath_file_read(path, 100, &text, &length, &err), -EIO);
    ck_assert_int_eq(err.code, ATH_E_IO);
    ck_assert_int_eq(lowest_free_descriptor(), before);
    ck_assert_int_eq(ath_file_read(path, 100, &text, &length, &err), 0);
    ck_assert_int_eq(lowest_free_descriptor(), before);
}

TEST(follows_a_link)
{
    ath_auto_free char *link = path_of("link.yaml");
    ath_auto_free char *real = path_of("real.yaml");
    struct stat status;

    tree_put(&tree, "old", "real.yaml");
    ck_assert_int_eq(symlink("real.yaml", link), 0);
    ck_assert_int_eq(ath_file_save(link, "new", 3, &err), 0);
    expect_file(real, "new");
    ck_assert_int_eq(lstat(link, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
}

TEST(follows_a_dangling_link)
{
    ath_auto_free char *link = path_of("link.yaml");
    ath_auto_free char *real = path_of("folder/real.yaml");
    struct stat status;

    tree_put(&tree, "", "folder/other");
    ck_assert_int_eq(symlink("folder/real.yaml", link), 0);
    ck_assert_int_eq(ath_file_save(link, "new", 3, &err), 0);
    expect_file(real, "new");
    ck_assert_int_eq(lstat(link, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
}

/* As in a container started with `docker run -v FILE:FILE`. */
TEST(gives_a_hint_for_a_mounted_file)
{
    ath_auto_free char *path = path_of("a.yaml");

    if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL)) {
        puts("skipped test: gives_a_hint_for_a_mounted_file: only root may mount");
        return;
    }
    tree_put(&tree, "old", "a.yaml");
    ck_assert_int_eq(mount(path, path, "none", MS_BIND, NULL), 0);
    ck_assert_int_eq(ath_file_save(path, "new", 3, &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.hint, "folder"));
    expect_file(path, "old");
    ck_assert_int_eq(umount(path), 0);
}

TEST(changes_nothing_if_the_folder_cannot_be_opened)
{
    ath_auto_free char *path = path_of("folder/a.yaml");
    ath_auto_free char *folder = path_of("folder");
    struct stat status;

    if (!geteuid()) {
        puts("skipped test: changes_nothing_if_the_folder_cannot_be_opened: root may open every "
             "folder");
        return;
    }
    tree_put(&tree, "old", "folder/a.yaml");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(chmod(folder, 0300), 0);
    ck_assert_int_eq(ath_file_save(path, "new", 3, &err), -EACCES);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    expect_file(path, "old");
}

TEST(keeps_the_old_file_when_there_is_no_room)
{
    ath_auto_free char *path = path_of("a.yaml");
    ath_auto_free char *left = path_of(".a.yaml.new");
    char data[8192];
    struct rlimit limit = { 4096, 4096 };

    memset(data, 'x', sizeof data);
    tree_put(&tree, "old", "a.yaml");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_lt(ath_file_save(path, data, sizeof data, &err), 0);
    expect_file(path, "old");
    ck_assert_int_ne(access(left, F_OK), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "a.yaml'"));
}

TEST(refuses_special_files)
{
    ath_auto_free char *fifo = path_of("fifo");
    ath_auto_free char *large = path_of("large");
    ath_auto_free char *missing = path_of("missing");
    char *text = NULL;
    size_t length;

    ck_assert_int_eq(mkfifo(fifo, 0644), 0);
    tree_put(&tree, "12345", "large");
    ck_assert_int_lt(ath_file_read(fifo, 100, &text, &length, &err), 0);
    ck_assert_int_eq(ath_file_read(large, 4, &text, &length, &err), -EFBIG);
    ck_assert_int_eq(ath_file_read(missing, 4, &text, &length, &err), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_int_lt(ath_file_read(tree.path, 4, &text, &length, &err), 0);
    ck_assert_ptr_null(text);
}

/* A program may be started without standard input: then 0 is the number of the next descriptor. */
TEST(uses_the_descriptor_0_as_any_other)
{
    ath_auto_free char *path = path_of("file");
    ath_auto_free char *fifo = path_of("fifo");
    char got[8] = "";

    close(STDIN_FILENO);
    ck_assert_int_eq(ath_file_save(path, "one", 3, &err), 0);
    expect_file(path, "one");
    ck_assert_int_eq(mkfifo(fifo, 0644), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_eq(reader, STDIN_FILENO);
    reader = fcntl(reader, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(STDIN_FILENO);
    ck_assert_int_eq(ath_file_save(fifo, "two", 3, &err), 0);
    ck_assert_int_eq(read(reader, got, sizeof got), 3);
    ck_assert_str_eq(got, "two");
    close(reader);
    ath_auto_close int lock = -1;
    ck_assert_msg(!ath_file_lock(path, 0, &lock, &err), "%s", err.message);
    ck_assert_int_eq(lock, STDIN_FILENO);
}

TEST(locks_out_a_second_writer)
{
    ath_auto_free char *path = path_of("deep/er/a.yaml");
    int first = -1, second = -1;

    ck_assert_int_eq(ath_file_lock(path, 0, &first, &err), 0);
    ck_assert_int_eq(ath_file_lock(path, 50, &second, &err), -EAGAIN);
    ck_assert_int_eq(err.code, ATH_E_LOCKED);
    ck_assert_uint_gt(strlen(err.hint), 0);
    close(first);
    ck_assert_int_eq(ath_file_lock(path, 0, &second, &err), 0);
    close(second);
}

/* A reader sees either the old or the new text, whenever the writer is killed. */
TEST(survives_being_killed)
{
    ath_auto_free char *path = path_of("a.yaml");
    char data[65536];

    memset(data, 'a', sizeof data);
    ck_assert_int_eq(ath_file_save(path, data, sizeof data, &err), 0);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0)
            for (int i = 0;; i++) {
                memset(data, 'a' + i % 26, sizeof data);
                ath_file_save(path, data, sizeof data, &err);
            }
        usleep(3000u + (unsigned int)round * 500u);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);

        size_t length;
        ath_auto_free char *text = NULL;
        ck_assert_int_eq(ath_file_read(path, 1 << 20, &text, &length, &err), 0);
        ck_assert_uint_eq(length, sizeof data);
        ck_assert_uint_eq(strspn(text, (char[]){ text[0], '\0' }), sizeof data);
    }
}

TEST(closes_descriptors_from_one_on)
{
    enum { FIRST = 60, LAST = 70 };
    pid_t child = fork();
    if (!child) {
        for (int fd = FIRST - 1; fd <= LAST; fd++)
            if (dup2(STDERR_FILENO, fd) != fd)
                _exit(1);
        ath_close_from(FIRST);
        for (int fd = FIRST; fd <= LAST; fd++)
            if (fcntl(fd, F_GETFD) != -1)
                _exit(2);
        _exit(fcntl(FIRST - 1, F_GETFD) == -1 ? 3 : 0);
    }
    int code;
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    ck_assert_int_eq(code, 0);
}
