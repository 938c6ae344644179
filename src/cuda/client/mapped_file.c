/* Reads the program's mappings (/proc/self/maps) and opens the files behind them. */
#include "config.h"

#include "cuda/client/mapped_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

struct mapping {
    uint64_t first, end, offset, inode;
    dev_t device;
    bool is_shared;
    const char *path; /* points into the line */
};

/* Reads a number and the character behind it. */
static bool take_number(const char **at, int base, char stop, uint64_t *out)
{
    char *end;
    *out = strtoull(*at, &end, base);
    if (end == *at || *end != stop)
        return false;
    *at = end + 1;
    return true;
}

/* "7f0a1000-7f0a3000 rw-s 00000000 00:1a 42        /dev/shm/name" */
static bool parse_mapping(char *line, struct mapping *out)
{
    uint64_t major, minor;
    const char *at = line;
    line[strcspn(line, "\n")] = '\0';
    if (!take_number(&at, 16, '-', &out->first) || !take_number(&at, 16, ' ', &out->end) ||
        strlen(at) < 5)
        return false;
    out->is_shared = at[3] == 's';
    at += 5;
    if (!take_number(&at, 16, ' ', &out->offset) || !take_number(&at, 16, ':', &major) ||
        !take_number(&at, 16, ' ', &minor) || !take_number(&at, 10, ' ', &out->inode))
        return false;
    out->device = makedev((unsigned int)major, (unsigned int)minor);
    out->path = at + strspn(at, " ");
    return true;
}

static bool is_it(const struct stat *status, const struct mapping *mapping)
{
    return S_ISREG(status->st_mode) && status->st_ino == mapping->inode &&
           status->st_dev == mapping->device;
}

/* Returns fd if it is the mapped file and can be written, else closes it and returns -1. */
static int checked(int fd, const struct mapping *mapping)
{
    struct stat status;
    if (fd >= 0 && !fstat(fd, &status) && is_it(&status, mapping) &&
        (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Opening a device would have effects, so the name is checked with stat() before. */
static int open_by_name(const struct mapping *mapping)
{
    struct stat status;
    return !stat(mapping->path, &status) && is_it(&status, mapping)
               ? checked(open(mapping->path, O_RDWR | O_CLOEXEC | O_NONBLOCK), mapping)
               : -1;
}

/* Finds a file without a name: a program that maps such a file usually keeps it open. */
static int find_open(const struct mapping *mapping)
{
    ath_auto_closedir DIR *folder = opendir("/proc/self/fd");
    int found = -1;
    for (const struct dirent *entry; found < 0 && folder && (entry = readdir(folder));) {
        struct stat status;
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (*entry->d_name != '.' && !fstat(fd, &status) && is_it(&status, mapping))
            found = checked(fcntl(fd, F_DUPFD_CLOEXEC, 3), mapping);
    }
    return found;
}

bool ath_cuda_mapped_file(const void *address, size_t bytes, int *out_fd, uint64_t *out_offset)
{
    ath_auto_fclose FILE *maps = fopen("/proc/self/maps", "re");
    ath_auto_free char *line = NULL;
    size_t room = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = (uintptr_t)address, end = first + bytes;
    *out_fd = -1;
    while (maps && getline(&line, &room, maps) > 0) {
        struct mapping mapping;
        if (!parse_mapping(line, &mapping) || mapping.first >= end || first >= mapping.end ||
            !mapping.is_shared || !mapping.inode)
            continue;
        if (first >= mapping.first && end <= mapping.end) {
            *out_offset = mapping.offset + (first / page * page - mapping.first);
            *out_fd = open_by_name(&mapping);
            if (*out_fd < 0)
                *out_fd = find_open(&mapping);
        }
        return true;
    }
    return false;
}
