/*
 * Fuzzes the readers of netlink: the first byte of an input chooses a request, the rest is what
 * comes as its answer, in pieces, each with its length in two bytes. The messages of a piece get
 * the sequence number and the port of the request, as the kernel's have them, if the length is
 * even.
 *
 * The socket is replaced where libmnl is loaded (ld --wrap).
 */
#include "config.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/late.h"
#include "roce/link.h"
#include "roce/netlink.h"
#include "roce/rdma_netlink.h"

#include "fuzz.h"

enum { PORT = 4242 };

int __wrap_ath_late_load(const char *soname, const char *package, const char *const *names,
                         void *out, struct ath_err *err);
int __real_ath_late_load(const char *soname, const char *package, const char *const *names,
                         void *out, struct ath_err *err);

static struct fuzz_input input;
static uint32_t sequence;

/* ---- a socket that has the input's answers ---- */

static struct mnl_socket *open_socket(int bus, int flags)
{
    static int socket;
    (void)bus;
    (void)flags;
    return (struct mnl_socket *)(void *)&socket;
}

static int bind_socket(struct mnl_socket *socket, unsigned int groups, pid_t pid)
{
    (void)socket;
    (void)groups;
    (void)pid;
    return 0;
}

static int close_socket(struct mnl_socket *socket)
{
    (void)socket;
    return 0;
}

static int set_option(const struct mnl_socket *socket, int type, void *bytes, socklen_t length)
{
    (void)socket;
    (void)type;
    (void)bytes;
    (void)length;
    return 0;
}

static unsigned int port_of(const struct mnl_socket *socket)
{
    (void)socket;
    return PORT;
}

static ssize_t send_request(const struct mnl_socket *socket, const void *request, size_t length)
{
    struct nlmsghdr header;
    (void)socket;
    insist(length >= sizeof header, "a request has a header");
    memcpy(&header, request, sizeof header);
    insist(header.nlmsg_len == length, "a request is sent whole");
    sequence = header.nlmsg_seq;
    return (ssize_t)length;
}

static void address_messages(uint8_t *bytes, size_t length)
{
    struct nlmsghdr header;
    for (size_t at = 0; at + sizeof header <= length;) {
        memcpy(&header, bytes + at, sizeof header);
        header.nlmsg_seq = sequence;
        header.nlmsg_pid = PORT;
        memcpy(bytes + at, &header, sizeof header);
        size_t step = ((size_t)header.nlmsg_len + 3) & ~(size_t)3;
        if (step < sizeof header || step > length - at)
            return;
        at += step;
    }
}

static ssize_t receive(const struct mnl_socket *socket, void *out, size_t room)
{
    (void)socket;
    if (!fuzz_left(&input)) {
        errno = ENOBUFS;
        return -1;
    }
    size_t length = (size_t)fuzz_take(&input, 2);
    struct fuzz_input piece = fuzz_part(&input, length < room ? length : room);
    memset(out, 0xee, room); /* no part of an earlier answer stays */
    memcpy(out, piece.at, fuzz_left(&piece));
    if (length % 2 == 0)
        address_messages(out, fuzz_left(&piece));
    return (ssize_t)fuzz_left(&piece);
}

static const struct {
    const char *name;
    void (*function)(void);
} replaced[] = {
    { "mnl_socket_open2", (void (*)(void))open_socket },
    { "mnl_socket_bind", (void (*)(void))bind_socket },
    { "mnl_socket_close", (void (*)(void))close_socket },
    { "mnl_socket_setsockopt", (void (*)(void))set_option },
    { "mnl_socket_get_portid", (void (*)(void))port_of },
    { "mnl_socket_sendto", (void (*)(void))send_request },
    { "mnl_socket_recvfrom", (void (*)(void))receive },
};

int __wrap_ath_late_load(const char *soname, const char *package, const char *const *names,
                         void *out, struct ath_err *err)
{
    void (**functions)(void) = out;
    int status = __real_ath_late_load(soname, package, names, out, err);
    for (size_t i = 0; !status && names[i]; i++)
        for (size_t at = 0; at < sizeof replaced / sizeof *replaced; at++)
            if (!strcmp(names[i], replaced[at].name))
                functions[i] = replaced[at].function;
    return status;
}

/* ---- requests ---- */

static void list_links(struct ath_netlink *netlink)
{
    ATH_AUTO(ath_links) links = { 0 };
    struct ath_err err;
    if (ath_links_read(netlink, &links, &err))
        return;
    for (size_t i = 0; i < links.count; i++) {
        const struct ath_link *link = &links.items[i];
        insist(strnlen(link->name, sizeof link->name) < sizeof link->name, "a name ends");
        ath_macvlan_mode_word(link->macvlan_mode);
        ath_link_is_settled(link);
        for (size_t at = 0; at < link->address_count; at++)
            free(ath_address_format(&link->addresses[at]));
        for (size_t at = 0; at < link->route_count; at++)
            free(ath_address_format(&link->routes[at]));
    }
}

static void find_link(struct ath_netlink *netlink)
{
    struct ath_link link = { 0 };
    struct ath_err err;
    if (!ath_link_read(netlink, "eth0", &link, &err))
        ath_link_free(&link);
}

static void change_link(struct ath_netlink *netlink)
{
    struct ath_err err;
    ath_link_set_up(netlink, "eth0", true, &err);
}

static void list_rdma(struct ath_netlink *netlink)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_nldevs) devices = { 0 };
    struct ath_err err;
    (void)netlink;
    if (!ath_root_open("/", &root, &err) && !ath_nldevs_read(&root, &devices, &err))
        ath_nldevs_port(&devices, "mlx5_0", 1);
}

static void read_mode(struct ath_netlink *netlink)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_err err;
    (void)netlink;
    if (!ath_root_open("/", &root, &err))
        ath_rdma_netns_mode_word(ath_rdma_netns_mode_read(&root));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const requests[])(struct ath_netlink *) = { list_links, find_link, change_link,
                                                              list_rdma, read_mode };
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    struct ath_err err;
    input = (struct fuzz_input){ data, data + size };
    uint64_t which = fuzz_take(&input, 1);
    insist(!ath_netlink_open(0, &netlink, &err), "libmnl is installed");
    requests[which % (sizeof requests / sizeof *requests)](netlink);
    return 0;
}
