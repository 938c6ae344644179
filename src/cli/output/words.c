/* Facts in words. Vendor names by PCI id, from https://pci-ids.ucw.cz (accelerators and network
 * cards only). */
#include "config.h"

#include "cli/output/words.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

const char *const ath_words_engines[] = { "docker", "process", NULL };

char *ath_words_size(int64_t bytes)
{
    const double kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

    if (bytes < (int64_t)kib)
        return ath_xasprintf("%d B", (int)bytes);
    if (bytes < (int64_t)mib)
        return ath_xasprintf("%.1f KiB", (double)bytes / kib);
    if (bytes < (int64_t)gib)
        return ath_xasprintf("%.1f MiB", (double)bytes / mib);
    return ath_xasprintf("%.1f GiB", (double)bytes / gib);
}

char *ath_words_page(int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;

    for (; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < ATH_COUNT(units); unit++)
        bytes /= 1024;
    return ath_xasprintf("%lld %s", (long long)bytes, units[unit]);
}

char *ath_words_speed(int64_t mbps)
{
    if (mbps < 1000)
        return ath_xasprintf("%lld Mb/s", (long long)mbps);
    if (mbps % 1000)
        return ath_xasprintf("%.1f Gb/s", (double)mbps / 1000);
    return ath_xasprintf("%lld Gb/s", (long long)(mbps / 1000));
}

char *ath_words_gigabytes(int64_t bytes_per_s)
{
    int64_t tenths = bytes_per_s / 100000000 + (bytes_per_s % 100000000 >= 50000000);

    return tenths % 10 ? ath_xasprintf("%" PRId64 ".%" PRId64, tenths / 10, tenths % 10)
                       : ath_xasprintf("%" PRId64, tenths / 10);
}

char *ath_words_duration(int64_t seconds)
{
    int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;

    if (days)
        return ath_xasprintf(_("%d d %d h"), (int)days, (int)(hours % 24));
    if (hours)
        return ath_xasprintf(_("%d h %d min"), (int)hours, (int)(minutes % 60));
    if (minutes)
        return ath_xasprintf(_("%d min"), (int)minutes);
    return ath_xasprintf(_("%d s"), (int)seconds);
}

static const struct {
    int id;
    const char *name;
} vendors[] = {
    { 0x1002, "AMD" },       { 0x1014, "IBM" },         { 0x1077, "QLogic" },
    { 0x1137, "Cisco" },     { 0x10de, "NVIDIA" },      { 0x10ec, "Realtek" },
    { 0x1414, "Microsoft" }, { 0x1425, "Chelsio" },     { 0x14e4, "Broadcom" },
    { 0x15b3, "Mellanox" },  { 0x1924, "Solarflare" },  { 0x19e5, "Huawei" },
    { 0x1af4, "Red Hat" },   { 0x1d0f, "Amazon" },      { 0x1d94, "Hygon" },
    { 0x17db, "Cray" },      { 0x1da3, "Habana Labs" }, { 0x1dd8, "Pensando" },
    { 0x8086, "Intel" },     { 0xcabc, "Cambricon" },
};

const char *ath_words_vendor(int vendor_id)
{
    for (size_t i = 0; i < ATH_COUNT(vendors); i++)
        if (vendors[i].id == vendor_id)
            return vendors[i].name;
    return NULL;
}

char *ath_words_device(int vendor_id, int device_id, const char *model)
{
    const char *vendor = ath_words_vendor(vendor_id);

    if (model)
        return ath_xstrdup(model);
    if (vendor_id < 0 || device_id < 0)
        return ath_xstrdup(vendor ? vendor : "");
    return ath_xasprintf("%s%s%04x:%04x", vendor ? vendor : "", vendor ? " " : "", vendor_id,
                         device_id);
}

char *ath_words_time(int64_t time_ns)
{
    if (time_ns < 0)
        return ath_xstrdup(_("not known"));
    if (time_ns < 1000000)
        return ath_xasprintf("%.1f us", (double)time_ns / 1e3);
    if (time_ns < 1000000000)
        return ath_xasprintf("%.2f ms", (double)time_ns / 1e6);
    return ath_xasprintf("%.2f s", (double)time_ns / 1e9);
}

char *ath_words_gpus(const struct ath_idset *numbers)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < numbers->range_count; i++) {
        const struct ath_range *range = &numbers->ranges[i];
        ath_text_add_part(&text, ", ", "GPU%d", range->first);
        if (range->last > range->first)
            ath_text_add(&text, "%sGPU%d", range->last == range->first + 1 ? ", " : "-",
                         range->last);
    }
    return ath_text_take(&text);
}

char *ath_words_gpu_list(const size_t *gpus, size_t count)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < count; i++)
        ath_text_add_part(&text, ", ", "GPU%zu", gpus[i]);
    return ath_text_take(&text);
}

char *ath_words_gid(const struct ath_gid *gid)
{
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN];

    if (inet_pton(AF_INET6, gid->address, &address) != 1)
        return ath_xstrdup(gid->address);
    if (gid->is_ipv4_mapped)
        inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof text);
    else
        inet_ntop(AF_INET6, &address, text, sizeof text);
    return ath_xstrdup(text);
}

const char *ath_words_class(enum ath_pci_class class)
{
    static const char *const meanings[] = {
        [ATH_PCI_UNKNOWN] = N_("not known from the data that was read"),
        [ATH_PCI_SAME] = N_("itself"),
        [ATH_PCI_PIX] = N_("at most one PCIe switch between them"),
        [ATH_PCI_PXB] = N_("several PCIe switches, but no host bridge"),
        [ATH_PCI_PHB] = N_("through one PCIe host bridge of a CPU"),
        [ATH_PCI_NODE] = N_("through several host bridges of one NUMA node"),
        [ATH_PCI_SYS] = N_("across NUMA nodes (X-Bus, UPI, Infinity Fabric)"),
    };
    return _(meanings[class]);
}

char *ath_words_only_here(const struct ath_style *style, const char *names, int id)
{
    ath_auto_free char *text =
        ath_xasprintf(_("only this machine reaches %s; for other machines: aitherion configure %d "
                        "--control-iface INTERFACE, then aitherion start"),
                      names, id);
    return ath_style_suggest(style, text);
}

char *ath_words_limits(void)
{
    return geteuid() ? ath_xstrdup(_("only root may set them: start it as root, or in Docker"))
                     : NULL;
}

char *ath_words_shell(const char *word)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    struct ath_text text = { 0 };

    if (*word && !word[strspn(word, safe)])
        return ath_xstrdup(word);
    ath_text_add(&text, "'");
    for (; *word; word++)
        if (*word == '\'')
            ath_text_add(&text, "'\\''");
        else
            ath_text_add_bytes(&text, word, 1);
    ath_text_add(&text, "'");
    return ath_text_take(&text);
}

char *ath_words_bandwidth(int64_t bandwidth)
{
    if (bandwidth < 0)
        return ath_xstrdup(_("not known"));
    ath_auto_free char *number = ath_words_gigabytes(bandwidth);
    return ath_xasprintf("%s GB/s", number);
}
