/*
 * Reading hwloc's topology files (format 2, hwloc's hwloc2.dtd; format 1, which hwloc converts;
 * format 3, which we write again as format 2).
 *
 * libhwloc knows the format; this pass runs before it. It checks the numbers that decide how much
 * memory the library allocates. It also writes the document again in the plain form of hwloc's own
 * exporter. So the library reads exactly the text that was checked, and its built-in parser (no
 * comments, no single quotes, no CDATA) accepts files that an editor changed. Elements that we do
 * not use are left out.
 */
#include "config.h"

#include "numa/hwloc_xml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "numa/hwloc_import.h"
#include "numa/hwloc_walk.h"

/*
 * Far more than Linux supports (NR_CPUS up to 8192), and little enough for hwloc, which keeps up to
 * three bitmaps of that many bits for every object.
 */
enum { INDEX_MAX = 1 << 16, VALUE_BYTES_MAX = 1 << 16, OBJECTS_MAX = 1 << 18, MATRIX_MAX = 2048 };

static const char *const kept_elements[] = {
    "topology",   "object",           "info",    "page_type", "distances",
    "distances2", "distances2hetero", "indexes", "u64values", "latency",
};

struct hwloc_reader {
    struct ath_machine *machine;
    struct ath_text xml;        /* for the library */
    bool is_v3;                 /* the file has hwloc 3's format */
    int depth;                  /* open elements that are kept */
    char *host, *kernel, *arch; /* format 3 has them at the file's root, not at the machine */
    int dropped;                /* open elements that are left out */
    bool is_list;               /* inside an element whose text is kept */
    size_t objects, nodes;
};

static void *open_reader(struct ath_machine *machine)
{
    struct hwloc_reader *reader = ath_xalloc(sizeof *reader);

    reader->machine = machine;
    ath_text_add(&reader->xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    return reader;
}

static void close_reader(void *state)
{
    struct hwloc_reader *reader = state;

    ath_text_free(&reader->xml);
    free(reader->host);
    free(reader->kernel);
    free(reader->arch);
    free(reader);
}

/* Accepts formats 3.x, 2.x and 1.x (which writes no version). */
static void check_version(struct hwloc_reader *reader, struct ath_xml *xml, const char **attributes)
{
    const char *version = ath_xml_get(attributes, "version");

    reader->is_v3 = version && ath_starts_with(version, "3.");
    if (!version || reader->is_v3 || ath_starts_with(version, "1.") ||
        ath_starts_with(version, "2."))
        return;
    ath_xml_fault(xml, _("version '%.16s' of hwloc's XML is not known; expected 2 or 3"), version);
    ath_xml_hint(xml, "lstopo --export-xml-flags v2 topology.xml");
}

/* True for a set of ids: "0x000000ff,,0x0" or "0xf...f,0x00000000", highest word first. */
static bool is_set(const char *value)
{
    size_t words = 1;

    for (const char *c = value; *c; c++)
        words += *c == ',';
    return words <= INDEX_MAX / 32 && value[strspn(value, "0123456789abcdefABCDEFx,.")] == '\0';
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Returns false after a fault. */
static bool check_value(struct ath_xml *xml, const char *name, const char *value)
{
    bool is_ids = ends_with(name, "cpuset") || ends_with(name, "nodeset");

    if (strlen(value) > VALUE_BYTES_MAX)
        ath_xml_fault(xml, _("'%.32s' is longer than %d bytes"), name, VALUE_BYTES_MAX);
    else if (is_ids && !is_set(value))
        ath_xml_fault(xml, _("'%.32s' is not a set of ids below %d"), name, INDEX_MAX);
    else
        return true;
    return false;
}

static void check_object(struct hwloc_reader *reader, struct ath_xml *xml, const char **attributes)
{
    const char *type = ath_xml_get(attributes, "type");
    bool is_node = type && !strcmp(type, "NUMANode"), is_pu = type && !strcmp(type, "PU");

    if (!type)
        ath_xml_fault(xml, _("an object has no type"));
    else if (++reader->objects > OBJECTS_MAX)
        ath_xml_fault(xml, _("there are more than %d objects"), OBJECTS_MAX);
    else if (is_node && ++reader->nodes > ATH_XML_NODES_MAX)
        ath_xml_fault(xml, _("there are more than %d NUMA nodes"), ATH_XML_NODES_MAX);
    else if ((is_node || is_pu) &&
             ath_xml_get_number(attributes, "os_index", INDEX_MAX - 1, -1) < 0)
        ath_xml_fault(xml, _("'os_index' of this %.16s is not a number below %d"), type, INDEX_MAX);
}

/* hwloc allocates memory for the square of nbobjs. */
static void check_matrix(struct ath_xml *xml, const char **attributes)
{
    if (ath_xml_get_number(attributes, "nbobjs", MATRIX_MAX, -1) < 0)
        ath_xml_fault(xml, _("'nbobjs' of this matrix is not a number up to %d"), MATRIX_MAX);
}

static void add_escaped(struct ath_text *out, const char *text, size_t length)
{
    static const char specials[] = "<>&\"\n\r\t";
    static const char *const replacements[] = { "&lt;",  "&gt;",  "&amp;", "&quot;",
                                                "&#10;", "&#13;", "&#9;" };

    for (size_t i = 0; i < length; i++) {
        const char *special = memchr(specials, text[i], sizeof specials - 1);
        if (special)
            ath_text_add(out, "%s", replacements[special - specials]);
        else
            ath_text_add_bytes(out, &text[i], 1);
    }
}

/* Returns the number of format 2 for the bits of format 3's osdev_type (HWLOC_OBJ_OSDEV_... in both
 * versions of hwloc.h): a device may have several kinds, and the first of this table counts. */
static const char *older_osdev_type(const char *value)
{
    static const struct {
        int bit;
        const char *number;
    } types[] = {
        { 1 << 5, "3" }, /* OpenFabrics */
        { 1 << 4, "2" }, /* network */
        { 1 << 2, "1" }, /* GPU */
        { 1 << 3, "5" }, /* co-processor */
        { 1 << 6, "4" }, /* DMA */
        { 1 << 1, "6" }, /* memory */
    };
    int bits;

    for (size_t i = 0; !ath_parse_int(value, 0, UINT16_MAX, &bits) && i < ATH_COUNT(types); i++)
        if (bits & types[i].bit)
            return types[i].number;
    return "0"; /* storage */
}

/* Returns the value that an attribute of format 3 has in format 2. */
static const char *older_value(const char *name, const char *value)
{
    if (!strcmp(name, "version"))
        return "2.0";
    return strcmp(name, "osdev_type") ? value : older_osdev_type(value);
}

/*
 * Adds a start tag. hwloc's parser would stop at attributes whose names have other letters than
 * hwloc's own, and at any attribute of the root element except the version.
 */
static void add_tag(struct ath_text *out, const char *element, const char **attributes, bool is_v3)
{
    bool is_root = !strcmp(element, "topology");

    ath_text_add(out, "<%s", element);
    for (; attributes[0]; attributes += 2) {
        if (attributes[0][strspn(attributes[0], "abcdefghijklmnopqrstuvwxyz_")] ||
            (is_root && strcmp(attributes[0], "version")))
            continue;
        const char *value = is_v3 ? older_value(attributes[0], attributes[1]) : attributes[1];
        ath_text_add(out, " %s=\"", attributes[0]);
        add_escaped(out, value, strlen(value));
        ath_text_add(out, "\"");
    }
    ath_text_add(out, ">");
}

static bool is_wanted(const char *element, const char **attributes)
{
    const char *type = ath_xml_get(attributes, "type");

    for (size_t i = 0; i < ATH_COUNT(kept_elements); i++)
        if (!strcmp(element, kept_elements[i]))
            return strcmp(element, "object") || !type || strcmp(type, "Misc");
    return false;
}

/* Keeps an info of the file's root, which format 2 does not have. */
static void take_info(struct hwloc_reader *reader, const char **attributes)
{
    const struct {
        const char *name;
        char **target;
    } infos[] = { { "HostName", &reader->host },
                  { "OSRelease", &reader->kernel },
                  { "Architecture", &reader->arch } };
    const char *name = ath_xml_get(attributes, "name"), *value = ath_xml_get(attributes, "value");

    for (size_t i = 0; name && value && i < ATH_COUNT(infos); i++)
        if (!strcmp(name, infos[i].name) && !*infos[i].target)
            *infos[i].target = ath_xstrdup(value);
}

static void on_start(void *state, struct ath_xml *xml, const char *element, const char **attributes)
{
    struct hwloc_reader *reader = state;

    if (reader->is_v3 && !reader->dropped && reader->depth == 1 && !strcmp(element, "info")) {
        take_info(reader, attributes);
        reader->dropped++;
        return;
    }
    if (reader->dropped || !is_wanted(element, attributes)) {
        reader->dropped++;
        return;
    }
    for (size_t i = 0; attributes[i]; i += 2)
        if (!check_value(xml, attributes[i], attributes[i + 1]))
            return;
    if (!strcmp(element, "topology"))
        check_version(reader, xml, attributes);
    else if (!strcmp(element, "object"))
        check_object(reader, xml, attributes);
    else if (ath_starts_with(element, "distances"))
        check_matrix(xml, attributes);
    reader->is_list = !strcmp(element, "indexes") || !strcmp(element, "u64values");
    add_tag(&reader->xml, element, attributes, reader->is_v3);
    reader->depth++;
}

static void on_end(void *state, const char *element)
{
    struct hwloc_reader *reader = state;

    if (reader->dropped) {
        reader->dropped--;
    } else {
        ath_text_add(&reader->xml, "</%s>\n", element);
        reader->depth--;
    }
    reader->is_list = false;
}

static void on_text(void *state, const char *text, size_t length)
{
    struct hwloc_reader *reader = state;

    if (reader->is_list && !reader->dropped)
        add_escaped(&reader->xml, text, length);
}

static void set_missing(char **target, char **value)
{
    if (!*target)
        *target = ath_steal(value);
}

static int finish(void *state, const char *name, struct ath_err *err)
{
    struct hwloc_reader *reader = state;
    struct ath_hwloc hwloc;
    hwloc_topology_t topology;

    int status = ath_hwloc_open(&hwloc, err);
    if (!status)
        status = ath_hwloc_import(&hwloc, name, &reader->xml, &topology, err);
    if (status)
        return status;
    ath_hwloc_walk(&hwloc, topology, reader->machine);
    ath_hwloc_check_complete(&hwloc, topology, name, reader->machine);
    hwloc.hwloc_topology_destroy(topology);
    set_missing(&reader->machine->hostname, &reader->host);
    set_missing(&reader->machine->kernel, &reader->kernel);
    set_missing(&reader->machine->arch, &reader->arch);
    return 0;
}

const struct ath_xml_reader ath_hwloc_xml_reader = {
    .root = "topology",
    .open = open_reader,
    .start = on_start,
    .end = on_end,
    .text = on_text,
    .finish = finish,
    .close = close_reader,
};
