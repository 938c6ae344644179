/* The properties and the number of the simulated devices. */
#include "config.h"

#include "sim/facts.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char sim_device_name[] = "aitherion simulated GPU";

/* Returns the value of a variable, or otherwise if it is not set or empty. */
static const char *setting(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text && *text ? text : otherwise;
}

int sim_facts_count(void)
{
    const char *text = setting("AITHERION_SIM_DEVICES", "1");
    char *end;
    long count = strtol(text, &end, 10);
    return !*end && count >= 1 && count <= SIM_DEVICES_MAX ? (int)count : 0;
}

unsigned int sim_facts_distance(void)
{
    return (unsigned int)strtoul(setting("AITHERION_SIM_DISTANCE", "50"), NULL, 10);
}

bool sim_facts_ignores_unknown(void)
{
    return !strcmp(setting("AITHERION_SIM_UNKNOWN", ""), "ignore");
}

bool sim_facts_has_parts(void)
{
    return strcmp(setting("AITHERION_SIM_PARTS", ""), "none") != 0;
}

bool sim_facts_trusts_handles(void)
{
    return !strcmp(setting("AITHERION_SIM_HANDLES", ""), "trusted");
}

bool sim_facts_compiler_is_deep(void)
{
    return !strcmp(setting("AITHERION_SIM_COMPILER", ""), "deep");
}

bool sim_facts_copies_late(void)
{
    return !strcmp(setting("AITHERION_SIM_COPIES", ""), "late");
}

/* Reads a size with a unit. Returns 0 if it is invalid. */
static size_t bytes_of(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || end == text || (*end && (!unit || end[1])) || number > SIZE_MAX >> shift)
        return 0;
    return (size_t)number << shift;
}

size_t sim_facts_memory_bytes(void)
{
    return bytes_of(setting("AITHERION_SIM_MEMORY", "16G"));
}

size_t sim_facts_context_bytes(void)
{
    return bytes_of(setting("AITHERION_SIM_CONTEXT", "0"));
}

size_t sim_facts_module_bytes(void)
{
    return bytes_of(setting("AITHERION_SIM_MODULE", "0"));
}

size_t sim_facts_local_bytes(void)
{
    return bytes_of(setting("AITHERION_SIM_LOCAL", "0"));
}

/* "GPU-61697468-6572-..." */
static void write_uuid(int number, char out[41])
{
    unsigned char uuid[16];
    sim_device_uuid(number, (char *)uuid);
    int length = sprintf(out, "GPU");
    for (int i = 0; i < 16; i++)
        length += sprintf(out + length, "%s%02x", i % 2 || i == 2 || i > 10 ? "" : "-", uuid[i]);
}

/* Returns the device that a word of the list names, or -1. */
static int find_device(const char *word, size_t length, int count)
{
    char uuid[41], *end;
    long number = strtol(word, &end, 10);
    if (length && end == word + length)
        return number >= 0 && number < count ? (int)number : -1;
    for (int i = 0; i < count && length > 4 && length < sizeof uuid; i++) {
        write_uuid(i, uuid);
        if (!strncasecmp(uuid, word, length))
            return i;
    }
    return -1;
}

int sim_facts_link_peer(int device, unsigned int link)
{
    int a, b, length;
    unsigned int count;
    const char *at = setting("AITHERION_SIM_LINKS", "");
    /* NOLINTNEXTLINE(cert-err34-c): a test's own setting */
    for (; sscanf(at, "%d-%d:%u%n", &a, &b, &count, &length) == 3; at += at[length] == ',') {
        at += length;
        length = 0;
        if (a != device && b != device)
            continue;
        if (link < count)
            return a == device ? b : a;
        link -= count;
    }
    return -1;
}

static bool is_in(const int *list, int count, int wanted)
{
    for (int i = 0; i < count; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

int sim_facts_visible(int out[SIM_DEVICES_MAX])
{
    const char *word = getenv("CUDA_VISIBLE_DEVICES");
    int count = sim_facts_count(), visible = 0;
    for (; !word && visible < count; visible++)
        out[visible] = visible;
    while (word && *word) {
        size_t length = strcspn(word, ",");
        int number = find_device(word, length, count);
        if (number < 0 || is_in(out, visible, number))
            break;
        out[visible++] = number;
        word += length + (word[length] == ',');
    }
    return visible;
}

static int first(void)
{
    enum { FIRST_MAX = 200 };
    char *end;
    long number = strtol(setting("AITHERION_SIM_FIRST", "0"), &end, 10);
    return !*end && number >= 0 && number <= FIRST_MAX ? (int)number : 0;
}

void sim_device_uuid(int number, char out[16])
{
    static const char base[16] = "aitherion-sim-";
    memcpy(out, base, sizeof base);
    out[15] = (char)(first() + number);
}

int sim_device_bus(int number)
{
    return first() + number + 1;
}

int sim_device_address(int number, char *out, size_t room)
{
    return snprintf(out, room, "%04x:%02x:00.0", (unsigned int)SIM_PCI_DOMAIN,
                    (unsigned int)sim_device_bus(number));
}
