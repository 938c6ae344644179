/* aitherion kubernetes manifests: the objects that set aitherion up in a cluster. */
#include "config.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/json_yaml.h"
#include "kubernetes/authority.h"
#include "kubernetes/manifests.h"

#define TEMPLATE "aitherion/kubernetes/aitherion.yaml"

enum { FILE_MAX = 1 << 20, DAYS = 3650, DAYS_MAX = 36500, NAMESPACE_MAX = 40, SERIAL_BYTES = 8 };

struct options {
    const char *space, *image, *version, *days;
};

/* The texts of the manifests. */
struct work {
    const struct options *options;
    const char *space;
    int days;
    char *scheduler_image;
    char *authority, *certificate, *key; /* in base64 */
    char serial[2 * SERIAL_BYTES + 1];   /* other for each certificate */
};

static void work_free(struct work *work)
{
    if (work->key)
        explicit_bzero(work->key, strlen(work->key));
    free(work->scheduler_image);
    free(work->authority);
    free(work->certificate);
    free(work->key);
}

/* ---- reading the command line ---- */

/* A namespace is a DNS label, and part of the webhook's name. */
static bool is_space(const char *text)
{
    size_t length = strlen(text);
    return length && length <= NAMESPACE_MAX && text[0] != '-' && text[length - 1] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static int refuse(const char *value, const char *option, const char *hint, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '%s'"), value, option);
    return ath_err_hint(err, -EINVAL, "%s", hint);
}

static int read_options(struct work *work, struct ath_err *err)
{
    const struct options *options = work->options;

    if (!options->image || !*options->image) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is missing"), "--image");
        return ath_err_hint(err, -EINVAL, "docker build -f packaging/kubernetes/Dockerfile .");
    }
    if (!options->version || strspn(options->version, "0123456789.") != strlen(options->version))
        return refuse(options->version ? options->version : "", "--kubernetes",
                      _("give the version of the cluster, like 1.34.1: kubectl version"), err);
    work->space = options->space ? options->space : "aitherion";
    if (!is_space(work->space))
        return refuse(work->space, "--namespace",
                      _("small letters, digits and '-', at most 40 of them"), err);
    work->days = DAYS;
    if (options->days && ath_parse_int(options->days, 1, DAYS_MAX, &work->days))
        return refuse(options->days, "--days", _("give a number from 1 to 36500"), err);
    work->scheduler_image = ath_xasprintf("registry.k8s.io/kube-scheduler:v%s", options->version);
    return 0;
}

/* ---- the certificate ---- */

/* Returns a text in base64. The caller frees it. */
static char *encoded(const char *text)
{
    size_t length = strlen(text);
    char *out = ath_xalloc(BASE64_ENCODE_RAW_LENGTH(length) + 1);
    base64_encode_raw(out, length, (const uint8_t *)text);
    return out;
}

/* A changed annotation makes Kubernetes start the webhook again, with the new certificate. */
static void set_serial(struct work *work, const char *certificate)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    sha256_update(&context, strlen(certificate), (const uint8_t *)certificate);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < SERIAL_BYTES; i++)
        snprintf(work->serial + 2 * i, 3, "%02x", digest[i]);
}

static int make_certificate(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_kube_certificate) made = { 0 };
    ath_auto_free char *name = ath_xasprintf("aitherion-webhook.%s.svc", work->space);
    int status = ath_kube_certificate_make(name, work->days, &made, err);

    if (status)
        return status;
    work->authority = encoded(made.authority);
    work->certificate = encoded(made.certificate);
    work->key = encoded(made.key);
    set_serial(work, made.certificate);
    return 0;
}

/* ---- the objects ---- */

static int read_template(char **out, struct ath_err *err)
{
    ath_auto_free char *path = ath_path_share(TEMPLATE);
    size_t length;

    if (!path) {
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("'%s' is not installed"), TEMPLATE);
        return ath_err_hint(err, -ENOENT, "make install");
    }
    return ath_file_read(path, FILE_MAX, out, &length, err);
}

/* Prints a List as JSON, or documents of YAML. */
static int show(const struct ath_cli *cli, json_t *objects, struct ath_err *err)
{
    if (ath_cli_format(cli) == ATH_FORMAT_JSON) {
        json_auto_t *list =
            json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", objects);
        ath_auto_free char *text = json_dumps(list, JSON_INDENT(2));
        return puts(text) < 0 ? ath_err_system(err, -errno, _("cannot write the output")) : 0;
    }
    for (size_t i = 0; i < json_array_size(objects); i++) {
        fputs(i ? "---\n" : "", stdout);
        int status = ath_json_write_yaml(json_array_get(objects, i), stdout, err);
        if (status)
            return status;
    }
    return 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(work) work = { .options = data };
    ath_auto_free char *text = NULL;
    json_auto_t *objects = NULL;

    int status = read_options(&work, err);
    if (!status)
        status = read_template(&text, err);
    if (!status)
        status = make_certificate(&work, err);
    const struct ath_kube_word words[] = {
        { "@NAMESPACE@", work.space },
        { "@IMAGE@", work.options->image },
        { "@SCHEDULER_IMAGE@", work.scheduler_image },
        { "@AUTHORITY@", work.authority },
        { "@CERTIFICATE@", work.certificate },
        { "@KEY@", work.key },
        { "@SERIAL@", work.serial },
        { NULL, NULL },
    };
    if (!status)
        status = ath_kube_manifests_make(text, words, &objects, err);
    return status ? status : show(cli, objects, err);
}

static const struct ath_option option_table[] = {
    { .name = "image",
      .type = ATH_OPTION_TEXT,
      .metavar = "IMAGE",
      .offset = offsetof(struct options, image),
      .help = N_("image of aitherion that the nodes can pull: packaging/kubernetes/Dockerfile") },
    { .name = "kubernetes",
      .type = ATH_OPTION_TEXT,
      .metavar = "VERSION",
      .offset = offsetof(struct options, version),
      .help = N_("version of the cluster, like 1.34.1: that of the kube-scheduler beside the "
                 "extender") },
    { .name = "namespace",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .offset = offsetof(struct options, space),
      .help = N_("namespace for everything; default: aitherion") },
    { .name = "days",
      .type = ATH_OPTION_TEXT,
      .metavar = "DAYS",
      .offset = offsetof(struct options, days),
      .help = N_("how long the webhook's certificate is valid; default: 3650") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion kubernetes manifests --image NAME --kubernetes 1.34.1",
      N_("for kubectl apply -f -") },
    { .command = NULL },
};

const struct ath_command ath_command_kubernetes_manifests = {
    .name = "manifests",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("print the objects that set aitherion up in Kubernetes"),
    .description =
        N_("Prints a namespace, the kinds of aitherion.io, and for the agent, the runtime, the "
           "scheduler and the webhook their accounts, rights and pods, as YAML (--json: a List). "
           "Nothing is sent: pipe the output to kubectl apply -f -.\n\n"
           "The webhook needs a certificate that the API server trusts. Each run makes a new one, "
           "with an authority whose key is not kept, and the output contains its private key. To "
           "renew it, apply the output of another run."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
