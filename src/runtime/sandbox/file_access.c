/* Makes a ruleset from tables of paths. */
#include "config.h"

#include "runtime/sandbox/file_access.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/paths.h"

/* From linux/landlock.h, which older systems do not have. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { GET_VERSION = 1, RULE_PATH_BENEATH = 1 };
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    REMOVE_FOLDER = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_FOLDER = 1 << 7,
    MAKE_FILE = 1 << 8,
    MAKE_SOCKET = 1 << 9,
    FIRST_VERSION = (1 << 13) - 1,
    REFER = 1 << 13,     /* version 2 */
    TRUNCATE = 1 << 14,  /* version 3 */
    IOCTL_DEV = 1 << 15, /* version 5 */
    READING = READ_FILE | READ_FOLDER,
    DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV,
    CHANGING = READING | WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKE_FOLDER | MAKE_FILE |
               MAKE_SOCKET | REFER | TRUNCATE,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV, /* the rest is of folders */
};
enum { NET_BIND_AND_CONNECT = 3 };
enum { SCOPE_SIGNAL = 2 };

struct ruleset {
    uint64_t files, net, scoped;
};

struct rule {
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

struct access {
    const char *path;
    uint64_t access;
};

/* The home folders and /var are missing. */
static const struct access readable[] = {
    { "/usr", READING }, { "/lib", READING }, { "/lib64", READING }, { "/etc", READING },
    { "/opt", READING }, { "/sys", READING }, { "/proc", READING },  { "/run", READING },
    { "/nix", READING }, { "/gnu", READING }, { "/dev", READING },
};

static const struct access changeable[] = {
    { "/dev/shm", CHANGING },
    { "/dev/null", DEVICE },
    { "/dev/zero", DEVICE },
    { "/dev/full", DEVICE },
    { "/dev/random", DEVICE },
    { "/dev/urandom", DEVICE },
    { "/dev/infiniband", DEVICE },
    { "/dev/dri", DEVICE },
    { "/proc/self", READING | WRITE_FILE | TRUNCATE }, /* the driver writes its threads' names */
};

int ath_sandbox_landlock_version(void)
{
    long version = syscall(CREATE_RULESET, NULL, 0, GET_VERSION);
    return version > 0 ? (int)version : 0;
}

static uint64_t handled_by(int version)
{
    uint64_t all = FIRST_VERSION;
    all |= version >= 2 ? REFER : 0;
    all |= version >= 3 ? TRUNCATE : 0;
    return all | (version >= 5 ? IOCTL_DEV : 0);
}

/* A path that does not exist needs no rule. */
static int allow_opened(int ruleset, int version, int fd, uint64_t access)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status))
        return 0;
    uint64_t fitting = S_ISDIR(status.st_mode) ? access : access & OF_FILES;
    struct rule rule = { .access = fitting & handled_by(version), .fd = fd };
    return syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

static int allow(int ruleset, int version, const char *path, uint64_t access)
{
    ath_auto_close int fd = open(path, O_PATH | O_CLOEXEC);
    return allow_opened(ruleset, version, fd, access);
}

static int allow_all(int ruleset, int version, const struct access *list, size_t count)
{
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        status = allow(ruleset, version, list[i].path, list[i].access);
    return status;
}

/* The GPUs: /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-caps/... */
static int allow_gpus(int ruleset, int version)
{
    int status = 0;
    ath_auto_closedir DIR *folder = opendir("/dev");
    const struct dirent *entry;
    while (!status && folder && (entry = readdir(folder))) {
        ath_auto_free char *path = ath_xasprintf("/dev/%s", entry->d_name);
        if (!strncmp(entry->d_name, "nvidia", strlen("nvidia")))
            status = allow(ruleset, version, path, DEVICE | READ_FOLDER);
    }
    return status;
}

int ath_sandbox_open_libraries(void)
{
    ath_auto_free char *own = ath_path_library(".");
    return own ? open(own, O_PATH | O_CLOEXEC) : -1;
}

/* The driver may lie in a folder of LD_LIBRARY_PATH, the simulated one beside our programs. */
static int allow_libraries(int ruleset, int version, int own)
{
    const char *listed = getenv("LD_LIBRARY_PATH");
    ath_auto_free char *copy = ath_xstrdup(listed ? listed : "");
    char *rest = copy, *folder;
    int status = allow_opened(ruleset, version, own, READING);
    while (!status && (folder = strsep(&rest, ":")))
        status = *folder == '/' ? allow(ruleset, version, folder, READING) : 0;
    return status;
}

static int allow_reading(int ruleset, int version, bool reads_all, int libraries)
{
    if (reads_all)
        return allow(ruleset, version, "/", READING);
    int status = allow_all(ruleset, version, readable, ATH_COUNT(readable));
    return status ? status : allow_libraries(ruleset, version, libraries);
}

int ath_sandbox_limit_files(int version, bool reads_all, int libraries, const char *folder)
{
    struct ruleset wanted = { .files = handled_by(version),
                              .net = version >= 4 ? NET_BIND_AND_CONNECT : 0,
                              .scoped = version >= 6 ? SCOPE_SIGNAL : 0 };
    size_t bytes = version >= 6   ? sizeof wanted
                   : version >= 4 ? offsetof(struct ruleset, scoped)
                                  : offsetof(struct ruleset, net);
    ath_auto_close int ruleset = (int)syscall(CREATE_RULESET, &wanted, bytes, 0);
    if (ruleset < 0)
        return -errno;
    int status = allow_reading(ruleset, version, reads_all, libraries);
    if (!status)
        status = allow_all(ruleset, version, changeable, ATH_COUNT(changeable));
    if (!status)
        status = allow_gpus(ruleset, version);
    if (!status && folder)
        status = allow(ruleset, version, folder, CHANGING);
    if (status)
        return status;
    return syscall(RESTRICT_SELF, ruleset, 0) ? -errno : 0;
}
