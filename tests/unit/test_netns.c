/* Named namespaces are made and deleted, and code inside one leaves the caller's namespace
 * alone. */
#include "config.h"

#include "roce/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "patience.h"
#include "roce/netstate.h"
#include "sandbox.h"
#include "tree.h"
#include "unit.h"

#define NAME "aitherion-t"
#define PATH ATH_NETNS_FOLDER "/" NAME

static struct ath_err err;

static void setup(void)
{
    sandbox_fresh();
}

static void teardown(void)
{
    if (ath_netns_exists(NAME))
        sandbox_ok(ath_netns_delete(NAME, &err), &err);
}

static ino_t own_inode(void)
{
    struct stat status;
    ck_assert_int_eq(stat("/proc/thread-self/ns/net", &status), 0);
    return status.st_ino;
}

PREPARE(sandbox_enter);
SECONDS(30);
FIXTURE(setup, teardown);

TEST(makes_and_deletes)
{
    ino_t before = own_inode();
    ck_assert(!ath_netns_exists(NAME));
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    ck_assert(ath_netns_exists(NAME));
    ck_assert_uint_eq(own_inode(), before);
    ck_assert_int_eq(ath_netns_create(NAME, &err), -EEXIST);
    ck_assert_int_eq(err.code, ATH_E_EXISTS);
    sandbox_ok(ath_netns_delete(NAME, &err), &err);
    ck_assert(!ath_netns_exists(NAME));
    ck_assert_int_ne(access(PATH, F_OK), 0);
    ck_assert_int_eq(ath_netns_delete(NAME, &err), -ENOENT);
}

/* A process that was killed between making the file and binding the namespace leaves such a
 * file. */
TEST(reuses_a_leftover_file)
{
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    sandbox_ok(ath_netns_delete(NAME, &err), &err);
    close(open(PATH, O_CREAT | O_WRONLY | O_CLOEXEC, 0));
    ck_assert(!ath_netns_exists(NAME));
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    ck_assert(ath_netns_exists(NAME));
    ath_netns_forget(NAME); /* has no effect: the namespace exists */
    ck_assert(ath_netns_exists(NAME));
    sandbox_ok(ath_netns_delete(NAME, &err), &err);
    close(open(PATH, O_CREAT | O_WRONLY | O_CLOEXEC, 0));
    ath_netns_forget(NAME);
    ck_assert_int_ne(access(PATH, F_OK), 0);
}

TEST(refuses_to_delete_foreign_namespaces)
{
    sandbox_ok(ath_netns_create("blue", &err), &err);
    ck_assert_int_eq(ath_netns_delete("blue", &err), -EPERM);
    ck_assert_int_eq(err.code, ATH_E_FOREIGN);
    ck_assert(ath_netns_exists("blue"));
    umount2(ATH_NETNS_FOLDER "/blue", MNT_DETACH);
    unlink(ATH_NETNS_FOLDER "/blue");
}

/* An older mount namespace sees later changes, as with `ip netns`. Otherwise a container would
 * hold the namespace until its end. */
TEST(is_seen_by_other_mount_namespaces)
{
    int go[2];
    sandbox_ok(ath_netns_create(NAME, &err), &err); /* makes the folder shared */
    sandbox_ok(ath_netns_delete(NAME, &err), &err);
    ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) || write(go[1], "u", 1) != 1)
            _exit(2);
        for (int waited_ms = 0; waited_ms < PATIENCE_MS && !ath_netns_exists(NAME); waited_ms += 20)
            usleep(20000);
        _exit(ath_netns_exists(NAME) ? 0 : 1);
    }
    char byte;
    int status;
    ck_assert_int_eq(read(go[0], &byte, 1), 1);
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static int look_around(void *argument, struct ath_err *out_err)
{
    *(ino_t *)argument = own_inode();
    return ath_err_set(out_err, -EXDEV, ATH_E_IO, "seen");
}

TEST(runs_inside_and_keeps_the_callers_namespace)
{
    ino_t before = own_inode(), inside = 0;
    struct stat named;
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    ath_auto_close int netns = ath_netns_open(PATH, &err);
    ck_assert_int_ge(netns, 0);
    ck_assert_int_eq(ath_netns_run(netns, look_around, &inside, &err), -EXDEV);
    ck_assert_str_eq(err.message, "seen");
    ck_assert_int_eq(stat(PATH, &named), 0);
    ck_assert_uint_eq(inside, named.st_ino);
    ck_assert_uint_ne(inside, before);
    ck_assert_uint_eq(own_inode(), before);
}

TEST(reports_a_path_that_is_no_namespace)
{
    struct ath_netlink *netlink;
    ino_t before = own_inode();
    ck_assert_int_eq(ath_netns_netlink("/proc/version", NETLINK_ROUTE, &netlink, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "'/proc/version'"));
    ck_assert_int_eq(ath_netns_netlink("/nowhere", NETLINK_ROUTE, &netlink, &err), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_uint_eq(own_inode(), before);
}

/* Starts a child that holds an unnamed namespace; the test kills it. */
static pid_t hold_namespace(void)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNET) || write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    return child;
}

TEST(lists_every_namespace_once)
{
    ATH_AUTO(ath_netnses) list = { 0 };
    pid_t child = hold_namespace();
    struct stat held;
    char path[64];
    size_t own = 0, named = 0, of_child = 0;
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)child);
    ck_assert_int_eq(stat(path, &held), 0);
    sandbox_ok(ath_netns_create(NAME, &err), &err);

    ath_netnses_read(&list);
    for (size_t i = 0; i < list.count; i++) {
        own += list.items[i].inode == own_inode();
        named += list.items[i].name && !strcmp(list.items[i].name, NAME);
        of_child += list.items[i].inode == held.st_ino;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_ptr_null(list.items[0].path);
    ck_assert_uint_eq(list.items[0].inode, own_inode());
    ck_assert_uint_eq(own, 1);
    ck_assert_uint_eq(named, 1);
    ck_assert_uint_eq(of_child, 1);
}

/* `ip netns add` makes namespaces without our label. */
TEST(recognizes_foreign_namespaces_by_their_lo)
{
    ATH_AUTO(ath_netstate) state = { 0 };
    struct ath_netlink *there;
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    sandbox_ok(ath_netns_netlink(PATH, NETLINK_ROUTE, &there, &err), &err);
    sandbox_ok(ath_link_set_alias(there, "lo", "", &err), &err);
    ath_netlink_close(there);
    sandbox_ok(ath_netstate_read(&state, &err), &err);
    ck_assert(!ath_netstate_is_ours(ath_netstate_named(&state, NAME)));
}

TEST(reads_the_links_of_every_namespace)
{
    ATH_AUTO(ath_netstate) state = { 0 };
    struct ath_netlink *there;
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    sandbox_ok(ath_netns_netlink(PATH, NETLINK_ROUTE, &there, &err), &err);
    sandbox_pair(there, "a0", "b0");
    ath_netlink_close(there);
    sandbox_ok(ath_netstate_read(&state, &err), &err);
    const struct ath_netstate_place *place = ath_netstate_named(&state, NAME);
    ck_assert_ptr_nonnull(place);
    ck_assert_ptr_nonnull(ath_links_find(&place->links, "a0"));
    ck_assert(ath_netstate_is_ours(place) && !ath_netstate_is_host(place));
    ck_assert_ptr_eq(ath_netstate_at(&state, PATH), place);
    ck_assert(ath_netstate_is_host(&state.places[0]));
    ck_assert_ptr_null(ath_links_find(&state.places[0].links, "a0"));
}

/* If a namespace of aitherion cannot be entered, reading fails, and a dry run notes its name. */
TEST(reports_own_namespaces_that_cannot_be_entered)
{
    ATH_AUTO(ath_netstate) state = { 0 };
    sandbox_ok(ath_netns_create(NAME, &err), &err);
    pid_t child = fork();
    if (child == 0) {
        if (setuid(65534))
            _exit(2);
        int status = ath_netstate_read(&state, &err);
        if (status != -EPERM || err.code != ATH_E_NO_ACCESS || !strstr(err.hint, "sudo"))
            _exit(1);
        if (ath_netstate_look(&state, &err) || ath_netstate_named(&state, NAME))
            _exit(3);
        bool is_told = ath_netstate_is_unseen(&state, NAME) &&
                       !ath_netstate_is_unseen(&state, NAME "x") &&
                       !ath_netstate_is_unseen(&state, "aitherion-");
        _exit(is_told && ath_netstate_is_host(&state.places[0]) ? 0 : 4);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
