/* The address of Docker from the flag, the environment and the document, and the allowed forms. */
#include "config.h"

#include "container/docker/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

static void forget_environment(void)
{
    unsetenv("DOCKER_HOST");
    unsetenv("DOCKER_TLS_VERIFY");
    unsetenv("DOCKER_CERT_PATH");
}

LOOP_TEST(prefers_flag_to_environment_to_document, 0, 7)
{
    static const struct {
        const char *flag, *variable, *document, *expected;
    } rows[] = {
        { NULL, NULL, NULL, "unix:///var/run/docker.sock" },
        { NULL, NULL, "unix:///a", "unix:///a" },
        { NULL, "", "unix:///a", "unix:///a" },
        { NULL, "unix:///b", "unix:///a", "unix:///b" },
        { "", "unix:///b", "unix:///a", "unix:///b" },
        { "unix:///c", "unix:///b", "unix:///a", "unix:///c" },
        { "unix:///c", "nonsense", "nonsense", "unix:///c" },
    };
    forget_environment();
    if (rows[_i].variable)
        setenv("DOCKER_HOST", rows[_i].variable, 1);
    ATH_AUTO(ath_docker_host) host = { 0 };
    struct ath_err err;
    ck_assert_int_eq(ath_docker_host_find(rows[_i].flag, rows[_i].document, &host, &err), 0);
    ck_assert_str_eq(host.text, rows[_i].expected);
    ck_assert_str_eq(host.socket, rows[_i].expected + strlen("unix://"));
    ck_assert_str_eq(host.base, "http://docker");
    ck_assert(!host.is_tls);
}

static const struct {
    const char *text, *base;
} places[] = {
    { "tcp://10.0.0.1", "http://10.0.0.1:2375" },
    { "tcp://10.0.0.1:99", "http://10.0.0.1:99" },
    { "tcp://host.example/", "http://host.example:2375" },
    { "tcp://[fe80::1]", "http://[fe80::1]:2375" },
    { "tcp://[::1]:65535", "http://[::1]:65535" },
    { "http://host", "http://host" },
    { "http://host:8080/", "http://host:8080" },
    { "https://host:2376", "https://host:2376" },
    /* These are refused: */
    { "unix://", NULL },
    { "unix:///", NULL },
    { "unix://var/run/docker.sock", NULL },
    { "/var/run/docker.sock", NULL },
    { "ssh://me@host", NULL },
    { "npipe:////./pipe/docker_engine", NULL },
    { "fd://", NULL },
    { "tcp://", NULL },
    { "tcp://:2375", NULL },
    { "tcp://host:", NULL },
    { "tcp://host:0", NULL },
    { "tcp://host:65536", NULL },
    { "tcp://host:1:2", NULL },
    { "tcp://[::1", NULL },
    { "tcp://[]:1", NULL },
    { "tcp://[::1]x", NULL },
    { "tcp://me@host", NULL },
    { "tcp://host/path", NULL },
    { "http://host?x", NULL },
    { "http://host#x", NULL },
    { "tcp://ho st", NULL },
    { "tcp://host\r\nX: y", NULL },
    { "ftp://host", NULL },
    { "host:2375", NULL },
    { "TCP://host", NULL },
};

LOOP_TEST(reads_and_refuses_addresses, 0, ATH_COUNT(places))
{
    forget_environment();
    struct ath_docker_host host = { 0 };
    struct ath_err err = { 0 };
    int status = ath_docker_host_find(places[_i].text, NULL, &host, &err);
    if (places[_i].base) {
        ck_assert_int_eq(status, 0);
        ck_assert_str_eq(host.base, places[_i].base);
        ck_assert_ptr_null(host.socket);
        ck_assert_int_eq(host.is_tls, !strncmp(places[_i].base, "https", 5));
    } else {
        ck_assert_int_eq(status, -EINVAL);
        ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
        ck_assert_ptr_nonnull(strstr(err.message, "the command line: '"));
        ck_assert_ptr_nonnull(strstr(err.hint, "unix:///"));
        ck_assert_ptr_null(host.text);
    }
    ath_docker_host_free(&host);
}

TEST(names_the_source_of_a_wrong_address)
{
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    forget_environment();
    ck_assert_int_eq(ath_docker_host_find(NULL, "ssh://me@host", &host, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "engine.docker_host: 'ssh://me@host'"));
    ck_assert_ptr_nonnull(
        strstr(err.hint, "ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock me@"));
    setenv("DOCKER_HOST", "x", 1);
    ck_assert_int_eq(ath_docker_host_find(NULL, "unix:///a", &host, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "DOCKER_HOST: 'x'"));
    ck_assert_ptr_nonnull(strstr(err.hint, "tcp://HOST:PORT"));
}

TEST(limits_the_length_of_a_socket_path)
{
    ath_auto_free char *text = ath_xalloc(256);
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    forget_environment();
    strcpy(text, "unix:///");
    memset(text + 8, 'a', 106); /* 107 with the slash; sun_path has 108 bytes */
    ck_assert_int_eq(ath_docker_host_find(text, NULL, &host, &err), 0);
    ath_docker_host_free(&host);
    text[8 + 106] = 'a';
    ck_assert_int_eq(ath_docker_host_find(text, NULL, &host, &err), -ENAMETOOLONG);
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
}

TEST(turns_tls_on)
{
    struct tree tree;
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    tree_make(&tree);
    forget_environment();
    setenv("DOCKER_CERT_PATH", tree.path, 1);

    /* As in Docker's client, certificates alone do not turn TLS on for tcp://. */
    ck_assert_int_eq(ath_docker_host_find("tcp://host", NULL, &host, &err), 0);
    ck_assert_str_eq(host.base, "http://host:2375");
    ath_docker_host_free(&host);

    setenv("DOCKER_TLS_VERIFY", "1", 1);
    ck_assert_int_eq(ath_docker_host_find("tcp://host", NULL, &host, &err), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "/ca.pem"));
    ck_assert_ptr_nonnull(strstr(err.hint, "DOCKER_CERT_PATH"));

    tree_put(&tree, "x", "ca.pem");
    ck_assert_int_eq(ath_docker_host_find("tcp://host", NULL, &host, &err), 0);
    ck_assert_str_eq(host.base, "https://host:2376");
    ck_assert(host.is_tls);
    ck_assert_ptr_nonnull(host.ca);
    ck_assert_ptr_null(host.cert);
    ath_docker_host_free(&host);

    tree_put(&tree, "x", "cert.pem"); /* without its key */
    ck_assert_int_eq(ath_docker_host_find("http://host:1", NULL, &host, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.message, "/key.pem"));
    tree_put(&tree, "x", "key.pem");
    ck_assert_int_eq(ath_docker_host_find("http://host:1", NULL, &host, &err), 0);
    ck_assert_str_eq(host.base, "https://host:1");
    ck_assert_ptr_nonnull(host.key);
    ath_docker_host_free(&host);
    tree_remove(&tree);
}

TEST(needs_no_certificates_for_https)
{
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    forget_environment();
    ck_assert_int_eq(ath_docker_host_find("https://host", NULL, &host, &err), 0);
    ck_assert(host.is_tls);
    ck_assert_ptr_null(host.ca); /* uses the system's authorities */
    ath_docker_host_free(&host);
    setenv("DOCKER_CERT_PATH", "/nonexistent", 1);
    ck_assert_int_eq(ath_docker_host_find("https://host", NULL, &host, &err), -ENOENT);
}

TEST(finds_certificates_in_the_home_folder)
{
    struct tree tree;
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    tree_make(&tree);
    tree_put(&tree, "x", ".docker/ca.pem");
    forget_environment();
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    setenv("HOME", tree.path, 1);
    ck_assert_int_eq(ath_docker_host_find("tcp://host:5", NULL, &host, &err), 0);
    ck_assert_ptr_nonnull(strstr(host.ca, "/.docker/ca.pem"));
    ath_docker_host_free(&host);
    /* A local socket needs no certificates. */
    ck_assert_int_eq(ath_docker_host_find("unix:///a", NULL, &host, &err), 0);
    ck_assert(!host.is_tls);
    ath_docker_host_free(&host);
    tree_remove(&tree);
}
