/*
 * Fuzzes a session's process from the first byte of its client on: the handshake, with and without
 * TLS and keys, the questions of a control session, a program's request with its environment, the
 * tests of the network, and the requests for metrics.
 *
 * The first byte of an input chooses the server and the connection, the second the client's rights.
 * The third is the length of what another session, which an attacker has taken over, wrote into its
 * entry of the board. The rest is what the client sends.
 *
 * These functions of the program are replaced here (ld --wrap): _exit(), because a program's
 * session ends with its process; the loading of the driver, where the session ends, and the
 * catching of its output; the check of the client's proof, so that this client may have the key;
 * the thread that watches a session, which would outlive it here; and the waiting for a test of the
 * network, to free what the process would end with.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/net_test/talk.h"
#include "remote/tls/tls.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"
#include "runtime/metrics.h"
#include "runtime/program_session_state.h"
#include "runtime/session.h"
#include "watch/http.h"

#include "fuzz.h"

enum { OTHER_SLOT, OWN_SLOT, LEAST_SECRET = 16 };

enum server_bits { HAS_KEY = 1, HAS_FOLDER = 2, IS_TCP = 4, IS_METRICS = 8, IS_PLAIN = 16 };
enum client_bits { KNOWS_KEY = 1, HAS_NO_ROW = 2 };

int __lsan_is_turned_off(void);
void __wrap__exit(int status) __attribute__((noreturn));
int __wrap_ath_driver_library_open(bool is_simulated, const char *soname, void **out_library,
                                   struct ath_err *err);
int __wrap_ath_kernel_output_catch(int *out_log_fd);
bool __wrap_ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                             const struct ath_transcript *transcript, const uint8_t *proof,
                             size_t length);
bool __real_ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                             const struct ath_transcript *transcript, const uint8_t *proof,
                             size_t length);

void __wrap_ath_program_session_begin_watch(struct ath_program_session *program);
int __wrap_ath_net_talk_await(struct ath_net_talk *talk, enum ath_control_message_which wanted,
                              struct ath_control_message *out);
int __real_ath_net_talk_await(struct ath_net_talk *talk, enum ath_control_message_which wanted,
                              struct ath_control_message *out);

/* Memory that a session holds ends with its process, which does not end here. */
int __lsan_is_turned_off(void)
{
    return 1;
}

static jmp_buf end_of_process;
static bool knows_key;
static struct ath_net_talk *talked; /* on the stack of the session; NULL: it has no tests */

void __wrap__exit(int status)
{
    if (talked)
        ath_net_talk_free(talked);
    talked = NULL;
    longjmp(end_of_process, status + 1);
}

int __wrap_ath_driver_library_open(bool is_simulated, const char *soname, void **out_library,
                                   struct ath_err *err)
{
    (void)is_simulated;
    (void)out_library;
    return ath_err_set(err, -ENOENT, ATH_E_LIBRARY, "'%s' is not loaded here", soname);
}

bool __wrap_ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                             const struct ath_transcript *transcript, const uint8_t *proof,
                             size_t length)
{
    bool is_right = __real_ath_secret_check(secret, side, transcript, proof, length);
    return is_right || (knows_key && length == ATH_PROOF_BYTES);
}

void __wrap_ath_program_session_begin_watch(struct ath_program_session *program)
{
    (void)program;
}

int __wrap_ath_net_talk_await(struct ath_net_talk *talk, enum ath_control_message_which wanted,
                              struct ath_control_message *out)
{
    talked = talk;
    return __real_ath_net_talk_await(talk, wanted, out);
}

/* This process needs its output itself. */
int __wrap_ath_kernel_output_catch(int *out_log_fd)
{
    (void)out_log_fd;
    return -ENOSYS;
}

/* ---- the server ---- */

static struct ath_server server;
static struct ath_identities rows;
static char folder[] = "/dev/shm/aitherion-fuzz-XXXXXX";

static void remove_folder(void)
{
    char path[sizeof folder + sizeof "/alice"];
    snprintf(path, sizeof path, "%s/alice", folder);
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    char path[sizeof folder + sizeof "/alice"];
    insist(mkdtemp(folder) && !atexit(remove_folder), "there is room for a key");
    snprintf(path, sizeof path, "%s/alice", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    insist(fd >= 0 && write(fd, "0123456789abcdef\n", LEAST_SECRET) == LEAST_SECRET && !close(fd),
           "a key is written");
}

static void make_server(void)
{
    struct ath_err err;
    server.board = ath_session_board_make();
    insist(server.board && !ath_tls_load(&err), "there is a server");
    insist(!ath_identities_parse("default memory_percent=50 sessions=3 gpus=0000:01:00.0\n"
                                 "alice admin\n",
                                 &rows, &err),
           "rows are right");
    ath_event_log_to(open("/dev/null", O_WRONLY | O_CLOEXEC));
    make_folder();
    server.report_fd = -1;
    server.turns_fd = -1;
    server.vram_fraction = server.host_fraction = 0.5;
    server.handshake_ms = server.idle_ms = server.answer_ms = 50;
    server.started_ms = ath_now_ms();
    server.owner = geteuid();
    server.devices.count = 2;
    for (int i = 0; i < 2; i++) {
        struct ath_device *device = &server.devices.items[i];
        snprintf(device->pci, sizeof device->pci, "0000:0%d:00.0", i + 1);
        snprintf(device->uuid, sizeof device->uuid, "GPU-%d0000000", i);
        device->memory_total_bytes = 1 << 30;
    }
}

static void choose_server(uint64_t bits, uint64_t rights)
{
    static const uint8_t key[LEAST_SECRET] = "fedcba9876543210";
    ath_secret_free(&server.secret);
    server.key_folder = bits & HAS_FOLDER ? folder : NULL;
    if (bits & HAS_KEY) {
        server.secret.bytes = malloc(sizeof key);
        insist(server.secret.bytes != NULL, "there is memory");
        memcpy(server.secret.bytes, key, sizeof key);
        server.secret.length = sizeof key;
    }
    server.encrypt = bits & IS_PLAIN ? ATH_ENCRYPT_OFF : ATH_ENCRYPT_AUTO;
    server.identities = rights & HAS_NO_ROW ? NULL : &rows;
    knows_key = rights & KNOWS_KEY;
    *server.identity = '\0';
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* A session of another client, whose process an attacker has taken over: the process can write its
 * own entry of the board, and the listening process knows who it is. */
static void spoil_other(struct fuzz_input bytes)
{
    struct ath_session_board_entry *entry =
        ath_session_board_add(server.board, OTHER_SLOT, 7, "10.0.0.7:5");
    ath_session_board_note(server.board, OTHER_SLOT, 1, "default");
    fuzz_fill(&bytes, entry, sizeof *entry);
}

/* ---- the connection ---- */

static int listener = -1;

static void make_tcp_pair(int out[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    if (listener < 0) {
        listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        insist(!bind(listener, (struct sockaddr *)&address, length) && !listen(listener, 1),
               "there is a loopback");
    }
    getsockname(listener, (struct sockaddr *)&address, &length);
    out[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    insist(!connect(out[1], (struct sockaddr *)&address, sizeof address), "the loopback connects");
    out[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    /* A closed connection leaves nothing behind, so that no port is used up. */
    setsockopt(out[1], SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
}

static void connect_client(bool is_tcp, struct fuzz_input sent, int out[2])
{
    if (is_tcp)
        make_tcp_pair(out);
    else
        insist(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out), "there are sockets");
    (void)!send(out[1], sent.at, fuzz_left(&sent), MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(out[1], SHUT_WR);
}

/* Reads what the server sends, and closes the connection after a megabyte: a server that writes to
 * a client which does not read waits for it. */
static void *read_some(void *argument)
{
    const int client = *(const int *)argument;
    char bytes[4096];
    size_t got = 0;
    for (ssize_t count; got < 1 << 20 && (count = recv(client, bytes, sizeof bytes, 0)) > 0;)
        got += (size_t)count;
    close(client);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    int ends[2];
    pthread_t reader;
    if (!server.board) {
        make_server();
        insist(!ath_metrics_http_load(NULL, NULL), "there is libmicrohttpd");
    }
    uint64_t bits = fuzz_take(&input, 1);
    choose_server(bits, fuzz_take(&input, 1));
    spoil_other(fuzz_part(&input, (size_t)fuzz_take(&input, 1) * 8));
    struct ath_session_board_entry *own =
        ath_session_board_add(server.board, OWN_SLOT, 8, "10.0.0.8:6");
    connect_client(bits & IS_TCP, input, ends);
    insist(!pthread_create(&reader, NULL, read_some, &ends[1]), "there are threads");
    if (!setjmp(end_of_process)) {
        if (bits & IS_METRICS)
            ath_metrics_serve(ends[0], &server, NULL);
        else
            ath_session_serve(ends[0], &server, own);
    }
    shutdown(ends[0], SHUT_RDWR);
    pthread_join(reader, NULL);
    close(ends[0]);
    ath_session_board_remove(server.board, OWN_SLOT);
    ath_session_board_remove(server.board, OTHER_SLOT);
    return 0;
}
