/* Named network namespaces after ip-netns(8) and network_namespaces(7). */
#include "config.h"

#include "roce/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/root.h"
#include "base/text.h"
#include "base/thread.h"
#include "roce/link.h"
#include "roce/netlink.h"

enum { NSFS = 0x6e736673 }; /* NSFS_MAGIC of linux/magic.h */

#define OWN_NAMESPACE "/proc/thread-self/ns/net"

char *ath_netns_name_of(const char *macvlan)
{
    return ath_xasprintf(ATH_NETNS_PREFIX "%s", macvlan);
}

char *ath_netns_path(const char *name)
{
    return ath_xasprintf(ATH_NETNS_FOLDER "/%s", name);
}

char *ath_netns_label(const char *name)
{
    if (!ath_starts_with(name, ATH_NETNS_PREFIX))
        return NULL;
    return ath_xasprintf(ATH_LINK_ALIAS_PREFIX "%s", name + strlen(ATH_NETNS_PREFIX));
}

bool ath_netns_is_permitted(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    const uint32_t needed = 1u << CAP_NET_ADMIN | 1u << CAP_SYS_ADMIN;

    return !syscall(SYS_capget, &header, data) && (data[0].effective & needed) == needed;
}

static bool is_namespace(const char *path)
{
    struct statfs status;
    return !statfs(path, &status) && status.f_type == NSFS;
}

bool ath_netns_exists(const char *name)
{
    ath_auto_free char *path = ath_netns_path(name);
    return is_namespace(path);
}

static int fail(int status, struct ath_err *err, const char *what, const char *name)
{
    ath_err_system(err, status, what, name);
    if (status == -EPERM || status == -EACCES)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    return status;
}

struct work {
    int netns;
    int (*function)(void *argument, struct ath_err *err);
    void *argument;
    struct ath_err *err;
    int status;
};

static void *work_inside(void *data)
{
    struct work *work = data;
    if (work->netns >= 0 && setns(work->netns, CLONE_NEWNET))
        work->status = fail(-errno, work->err, _("cannot enter the network namespace%s"), "");
    else
        work->status = work->function(work->argument, work->err);
    return NULL;
}

/* Runs the work on a new thread. With netns -1 the thread stays in the caller's namespace, and may
 * leave by itself. */
static int run_in_thread(struct work *work)
{
    pthread_t thread;
    int status = ath_thread_start(&thread, work_inside, work);
    if (status)
        return ath_err_system(work->err, status, _("cannot start a thread"));
    pthread_join(thread, NULL);
    return work->status;
}

int ath_netns_run(int netns, int (*function)(void *argument, struct ath_err *err), void *argument,
                  struct ath_err *err)
{
    struct work work = { .netns = netns, .function = function, .argument = argument, .err = err };
    return run_in_thread(&work);
}

/*
 * Makes the folder a mount that is shared with other mount namespaces. Without that, a container
 * that starts now would keep a copy of the mount, and the namespace could never be deleted. A
 * folder that is not a mount yet is first bound to itself.
 */
static int make_folder(struct ath_err *err)
{
    if (mkdir(ATH_NETNS_FOLDER, 0755) && errno != EEXIST)
        return fail(-errno, err, _("cannot make the folder '%s'"), ATH_NETNS_FOLDER);
    if (!mount("", ATH_NETNS_FOLDER, "none", MS_SHARED | MS_REC, ""))
        return 0;
    if (errno != EINVAL ||
        mount(ATH_NETNS_FOLDER, ATH_NETNS_FOLDER, "none", MS_BIND | MS_REC, "") ||
        mount("", ATH_NETNS_FOLDER, "none", MS_SHARED | MS_REC, ""))
        return fail(-errno, err, _("cannot share the mount '%s'"), ATH_NETNS_FOLDER);
    return 0;
}

static int label_lo(const char *label, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    int status = ath_netlink_open(NETLINK_ROUTE, &netlink, err);
    return status ? status : ath_link_set_alias(netlink, "lo", label, err);
}

struct making {
    const char *path, *label; /* label NULL: none */
};

/* The label is set before the name: if aitherion is killed in between, the namespace vanishes. */
static int leave_and_bind(void *argument, struct ath_err *err)
{
    const struct making *making = argument;
    const char *path = making->path;
    if (unshare(CLONE_NEWNET))
        return fail(-errno, err, _("cannot make a network namespace%s"), "");
    int status = making->label ? label_lo(making->label, err) : 0;
    if (status)
        return status;
    if (mount(OWN_NAMESPACE, path, "none", MS_BIND, ""))
        return fail(-errno, err, _("cannot bind a network namespace to '%s'"), path);
    return 0;
}

int ath_netns_create(const char *name, struct ath_err *err)
{
    ath_auto_free char *path = ath_netns_path(name);
    if (is_namespace(path))
        return ath_err_set(err, -EEXIST, ATH_E_EXISTS,
                           _("the network namespace '%s' exists already"), name);
    int status = make_folder(err);
    if (status)
        return status;
    /* An existing plain file was left by a process that was killed before the bind; it is used. */
    ath_auto_close int file = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0);
    if (file < 0)
        return fail(-errno, err, _("cannot make the file '%s'"), path);

    ath_auto_free char *label = ath_netns_label(name);
    struct making making = { .path = path, .label = label };
    struct work work = { .netns = -1, .function = leave_and_bind, .argument = &making, .err = err };
    status = run_in_thread(&work);
    if (status)
        unlink(path);
    return status;
}

int ath_netns_delete(const char *name, struct ath_err *err)
{
    ath_auto_free char *path = ath_netns_path(name);
    if (!ath_starts_with(name, ATH_NETNS_PREFIX))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                           _("the network namespace '%s' was not made by aitherion"), name);
    /* The file cannot be unlinked while a namespace is bound over it. */
    if (umount2(path, MNT_DETACH) && errno != EINVAL)
        return fail(-errno, err, _("cannot delete the network namespace '%s'"), name);
    if (unlink(path))
        return fail(-errno, err, _("cannot delete the network namespace '%s'"), name);
    return 0;
}

void ath_netns_forget(const char *name)
{
    ath_auto_free char *path = ath_netns_path(name);
    if (!is_namespace(path))
        unlink(path);
}

int ath_netns_open(const char *path, struct ath_err *err)
{
    int fd = open(path ? path : OWN_NAMESPACE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(-errno, err, _("cannot open the network namespace '%s'"),
                    path ? path : OWN_NAMESPACE);
    return fd;
}

struct opening {
    int bus;
    struct ath_netlink *netlink;
};

static int open_netlink(void *argument, struct ath_err *err)
{
    struct opening *opening = argument;
    return ath_netlink_open(opening->bus, &opening->netlink, err);
}

int ath_netns_netlink(const char *path, int bus, struct ath_netlink **out, struct ath_err *err)
{
    struct opening opening = { .bus = bus };
    if (!path)
        return ath_netlink_open(bus, out, err);
    ath_auto_close int netns = ath_netns_open(path, err);
    if (netns < 0)
        return netns;
    int status = ath_netns_run(netns, open_netlink, &opening, err);
    if (status)
        return ath_err_wrap(err, status, "'%s'", path);
    *out = opening.netlink;
    return 0;
}

void ath_netnses_free(struct ath_netnses *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].path);
    }
    free(list->items);
    *list = (struct ath_netnses){ 0 };
}

static bool has_inode(const struct ath_netnses *list, uint64_t inode)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].inode == inode)
            return true;
    return false;
}

/* Takes ownership of path. Adds nothing if the path is not a namespace or the namespace is in the
 * list already. */
static void add(struct ath_netnses *list, const char *name, char *path)
{
    ath_auto_free char *owned = path;
    struct stat status;
    if (stat(path ? path : OWN_NAMESPACE, &status) || has_inode(list, status.st_ino))
        return;
    struct ath_netns *netns = ath_push(&list->items, &list->count, sizeof *netns);
    netns->name = ath_xstrdup(name);
    netns->path = ath_steal(&owned);
    netns->inode = status.st_ino;
}

static void add_named(struct ath_netnses *list, const struct ath_root *root)
{
    char **names;
    size_t count;
    ath_root_list(root, &ATH_NETNS_FOLDER[1], &names, &count);
    for (size_t i = 0; i < count; i++)
        if (ath_netns_exists(names[i]))
            add(list, names[i], ath_netns_path(names[i]));
    ath_names_free(names, count);
}

static void add_of_processes(struct ath_netnses *list, const struct ath_root *root)
{
    char **names;
    size_t count;
    uint64_t pid;
    ath_root_list(root, "proc", &names, &count);
    for (size_t i = 0; i < count; i++)
        if (!ath_parse_u64(names[i], 10, &pid))
            add(list, NULL, ath_xasprintf("/proc/%s/ns/net", names[i]));
    ath_names_free(names, count);
}

void ath_netnses_read(struct ath_netnses *out)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };

    *out = (struct ath_netnses){ 0 };
    add(out, NULL, NULL);
    if (ath_root_open("/", &root, NULL))
        return;
    add_named(out, &root);
    add_of_processes(out, &root);
}
