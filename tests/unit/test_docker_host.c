/* Where Docker listens: flag, environment, document; what is allowed. */
#include "config.h"

#include "container/docker_host.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"

static void forget_environment(void)
{
    unsetenv("DOCKER_HOST");
    unsetenv("DOCKER_TLS_VERIFY");
    unsetenv("DOCKER_CERT_PATH");
}

START_TEST(takes_the_nearest)
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
END_TEST

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
    /* Refused: */
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

START_TEST(reads_and_refuses_places)
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
END_TEST

START_TEST(names_who_gave_a_wrong_place)
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
END_TEST

START_TEST(knows_how_long_a_socket_path_may_be)
{
    ath_auto_free char *text = ath_xalloc(256);
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    forget_environment();
    strcpy(text, "unix:///");
    memset(text + 8, 'a', 106); /* with the slash 107, and sun_path has 108 */
    ck_assert_int_eq(ath_docker_host_find(text, NULL, &host, &err), 0);
    ath_docker_host_free(&host);
    text[8 + 106] = 'a';
    ck_assert_int_eq(ath_docker_host_find(text, NULL, &host, &err), -ENAMETOOLONG);
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
}
END_TEST

START_TEST(turns_tls_on)
{
    struct tree tree;
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    tree_make(&tree);
    forget_environment();
    setenv("DOCKER_CERT_PATH", tree.path, 1);

    /* As with Docker's client, certificates alone do not make tcp:// safe. */
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

    tree_put(&tree, "x", "cert.pem"); /* half a pair */
    ck_assert_int_eq(ath_docker_host_find("http://host:1", NULL, &host, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.message, "/key.pem"));
    tree_put(&tree, "x", "key.pem");
    ck_assert_int_eq(ath_docker_host_find("http://host:1", NULL, &host, &err), 0);
    ck_assert_str_eq(host.base, "https://host:1");
    ck_assert_ptr_nonnull(host.key);
    ath_docker_host_free(&host);
    tree_remove(&tree);
}
END_TEST

START_TEST(needs_no_certificates_for_https)
{
    struct ath_docker_host host = { 0 };
    struct ath_err err;
    forget_environment();
    ck_assert_int_eq(ath_docker_host_find("https://host", NULL, &host, &err), 0);
    ck_assert(host.is_tls);
    ck_assert_ptr_null(host.ca); /* the system's authorities */
    ath_docker_host_free(&host);
    setenv("DOCKER_CERT_PATH", "/nonexistent", 1);
    ck_assert_int_eq(ath_docker_host_find("https://host", NULL, &host, &err), -ENOENT);
}
END_TEST

START_TEST(looks_for_certificates_at_home)
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
    /* The socket of this machine needs none of that. */
    ck_assert_int_eq(ath_docker_host_find("unix:///a", NULL, &host, &err), 0);
    ck_assert(!host.is_tls);
    ath_docker_host_free(&host);
    tree_remove(&tree);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker host");
    tcase_add_loop_test(cases, takes_the_nearest, 0, 7);
    tcase_add_loop_test(cases, reads_and_refuses_places, 0, (int)ATH_COUNT(places));
    tcase_add_test(cases, names_who_gave_a_wrong_place);
    tcase_add_test(cases, knows_how_long_a_socket_path_may_be);
    tcase_add_test(cases, turns_tls_on);
    tcase_add_test(cases, needs_no_certificates_for_https);
    tcase_add_test(cases, looks_for_certificates_at_home);
    return run_case(cases, "docker host");
}
