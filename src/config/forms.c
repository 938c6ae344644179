/*
 * The forms of texts.
 *
 * Interface names: those that dev_valid_name() in the kernel's net/core/dev.c accepts (at most 15
 * bytes, not "." or "..", no slash, colon or blank). RDMA devices: at most 63 bytes
 * (IB_DEVICE_NAME_MAX).
 */
#include "config.h"

#include "config/forms.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "base/pci.h"
#include "base/text.h"

/* True for a single line. A value is shown on terminals, so it must not contain control
 * characters. */
static bool is_line(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

static bool is_of(const char *text, const char *more)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (; *text; text++)
        if (!strchr(letters, *text) && !strchr(more, *text))
            return false;
    return true;
}

static bool is_name(const char *text)
{
    return *text && strlen(text) <= 253 && is_of(text, "._-");
}

static bool is_device_name(const char *text, size_t max_length)
{
    return *text && strlen(text) <= max_length && !strpbrk(text, "/: \t\v\f\r\n") &&
           strcmp(text, ".") && strcmp(text, "..") && is_line(text);
}

static bool is_interface(const char *text)
{
    return is_device_name(text, 15);
}

static bool is_rdma_device(const char *text)
{
    return is_device_name(text, 63);
}

static bool is_pci(const char *text)
{
    struct ath_pci unused;
    return !ath_pci_parse(text, &unused);
}

/* True for an interface's own address with its prefix. 0.0.0.0 and the prefix length 0 are
 * refused. */
static bool is_address(const char *text)
{
    char host[INET6_ADDRSTRLEN];
    unsigned char bytes[16], any[16] = { 0 };
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    if (!length || length >= sizeof host)
        return false;
    memcpy(host, text, length);
    host[length] = '\0';

    int family = strchr(host, ':') ? AF_INET6 : AF_INET;
    size_t size = family == AF_INET6 ? 16 : 4;
    int prefix;
    return inet_pton(family, host, bytes) == 1 && memcmp(bytes, any, size) &&
           !strchr(slash, '\n') && !ath_parse_int(slash + 1, 1, (int)size * 8, &prefix);
}

static bool is_file(const char *text)
{
    return *text == '/' && text[strlen(text) - 1] != '/' && strlen(text) < 4096 && is_line(text);
}

static bool is_docker_host(const char *text)
{
    static const char *const schemes[] = { "tcp://", "http://", "https://" };
    if (!is_line(text) || strchr(text, ' '))
        return false;
    if (ath_starts_with(text, "unix:///"))
        return text[8] != '\0';
    for (size_t i = 0; i < ATH_COUNT(schemes); i++)
        if (ath_starts_with(text, schemes[i]))
            return text[strlen(schemes[i])] != '\0';
    return false;
}

/* Follows Docker's grammar of references (distribution/reference), but checks the characters
 * only. */
static bool is_image(const char *text)
{
    return *text && strlen(text) <= 1024 && is_of(text, "._-/:@") && *text != '-';
}

static int read_percent(const char *number, double *out)
{
    double percent;
    if (ath_parse_double(number, &percent) || percent <= 0 || percent > 100)
        return -EINVAL;
    *out = percent;
    return 0;
}

/* The factor of a unit of one letter; 0 if it is none. */
static uint64_t factor_of(char unit)
{
    static const char units[] = "KMGT";
    const char *found = unit ? strchr(units, unit) : NULL;
    return found ? UINT64_C(1) << 10 * (found - units + 1) : 0;
}

int ath_form_memory(const char *text, int64_t *out_bytes, double *out_percent)
{
    char number[32];
    uint64_t count;
    size_t length = strlen(text);
    if (!length || length >= sizeof number || strchr(text, '\n'))
        return -EINVAL;
    snprintf(number, sizeof number, "%s", text);
    char unit = number[length - 1];
    uint64_t factor = factor_of(unit);
    if (factor || unit == '%')
        number[length - 1] = '\0';
    *out_bytes = ATH_UNSET;
    *out_percent = 0;
    if (unit == '%')
        return read_percent(number, out_percent);
    if (ath_parse_u64(number, 10, &count) || count > (uint64_t)INT64_MAX / (factor ? factor : 1))
        return -EINVAL;
    *out_bytes = (int64_t)(count * (factor ? factor : 1));
    return 0;
}

static bool is_memory(const char *text)
{
    int64_t bytes;
    double percent;
    return !ath_form_memory(text, &bytes, &percent);
}

int ath_form_listen(const char *text, char out_address[ATH_FORM_ADDRESS_BYTES], int *out_port)
{
    char host[ATH_FORM_ADDRESS_BYTES] = "";
    unsigned char unused[16];
    const char *colon = strrchr(text, ':'), *begin = text;
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool is_ipv6 = length > 2 && *text == '[' && text[length - 1] == ']';
    int port;
    if (is_ipv6) {
        begin++;
        length -= 2;
    }
    if (length >= sizeof host || strchr(text, '\n') ||
        ath_parse_int(colon ? colon + 1 : text, 1, ATH_FORM_PORT_MAX, &port))
        return -EINVAL;
    memcpy(host, begin, length);
    if (colon && inet_pton(is_ipv6 ? AF_INET6 : AF_INET, host, unused) != 1)
        return -EINVAL;
    memcpy(out_address, host, sizeof host);
    *out_port = port;
    return 0;
}

static bool is_listen(const char *text)
{
    char address[ATH_FORM_ADDRESS_BYTES];
    int port;
    return !ath_form_listen(text, address, &port);
}

static const struct {
    bool (*fits)(const char *text);
    const char *allowed, *allowed_list;
} forms[ATH_FORM_COUNT] = {
    [ATH_FORM_LINE] = { is_line, N_("one line of text"), N_("a list of texts") },
    [ATH_FORM_NAME] = { is_name, N_("a name of letters, digits, '.', '_' and '-'"),
                        N_("a list of names of letters, digits, '.', '_' and '-'") },
    [ATH_FORM_INTERFACE] = { is_interface,
                             N_("an interface name of 1 to 15 bytes without '/', ':' and blanks"),
                             N_("a list of interface names") },
    [ATH_FORM_RDMA_DEVICE] = { is_rdma_device, N_("the name of an RDMA device such as mlx5_0"),
                               N_("a list of RDMA devices such as [mlx5_0]") },
    [ATH_FORM_PCI] = { is_pci, N_("a PCI address such as \"0004:04:00.0\""),
                       N_("a list of PCI addresses such as [\"0004:04:00.0\"]") },
    [ATH_FORM_ADDRESS] = { is_address,
                           N_("an IP address with its prefix such as 192.168.100.10/24"),
                           N_("a list of IP addresses with their prefixes") },
    [ATH_FORM_FILE] = { is_file, N_("the path of a file that begins with '/'"),
                        N_("a list of paths that begin with '/'") },
    [ATH_FORM_DOCKER_HOST] = { is_docker_host,
                               N_("Docker's address: unix:///PATH, tcp://HOST:PORT, http://HOST or "
                                  "https://HOST"),
                               N_("a list of Docker's addresses") },
    [ATH_FORM_IMAGE] = { is_image, N_("the name of an image such as aitherion-runtime:latest"),
                         N_("a list of images") },
    [ATH_FORM_KEY_NAME] = { ath_key_name_is_valid,
                            N_("the name of a key: letters, digits, '.', '-' and '_'"),
                            N_("a list of names of keys") },
    [ATH_FORM_MEMORY] = { is_memory,
                          N_("an amount of memory such as 4G or 512M, or a part such as 50%"),
                          N_("a list of amounts of memory") },
    [ATH_FORM_LISTEN] = { is_listen,
                          N_("a port such as 9460, or an IP address of this machine with a port "
                             "such as 10.0.0.1:9460"),
                          N_("a list of ports") },
};

bool ath_form_fits(enum ath_form form, const char *text)
{
    return forms[form].fits(text);
}

const char *ath_form_allowed(enum ath_form form)
{
    return forms[form].allowed;
}

const char *ath_form_allowed_list(enum ath_form form)
{
    return forms[form].allowed_list;
}
