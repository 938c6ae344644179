/*
 * The pass over a topology XML with expat, and the choice of its reader.
 *
 * A file may come with a bug report from an unknown user, so everything here is bounded. Entities
 * are the usual attack with XML: a few lines expand to gigabytes ("billion laughs"), or name one of
 * our files. Neither hwloc nor NCCL writes entities, so a document that declares one is refused.
 */
#include "config.h"

#include "numa/topology_xml.h"

#include <errno.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/late.h"
#include "base/text.h"
#include "numa/hwloc_xml.h"
#include "numa/nccl_xml.h"
#include "numa/topology_json.h"
#include "numa/topology_text.h"
#include "numa/xml_reader.h"

/* More than one machine can have. Every GPU is paired with every port later. */
enum { GPUS_MAX = 1024, NICS_MAX = 4096 };

#define EXPAT_FUNCTIONS(F)                                                                         \
    F(XML_ParserCreate)                                                                            \
    F(XML_ParserFree)                                                                              \
    F(XML_SetUserData)                                                                             \
    F(XML_SetElementHandler)                                                                       \
    F(XML_SetCharacterDataHandler)                                                                 \
    F(XML_SetEntityDeclHandler)                                                                    \
    F(XML_Parse)                                                                                   \
    F(XML_StopParser)                                                                              \
    F(XML_GetErrorCode)                                                                            \
    F(XML_ErrorString)                                                                             \
    F(XML_GetCurrentLineNumber)                                                                    \
    F(XML_GetCurrentColumnNumber)

struct expat {
    EXPAT_FUNCTIONS(ATH_LATE_MEMBER)
};

static const char *const expat_names[] = { EXPAT_FUNCTIONS(ATH_LATE_NAME) NULL };

struct ath_xml {
    const char *name; /* name of the file */
    const struct expat *expat;
    XML_Parser parser;
    const struct ath_xml_reader *reader; /* NULL until the root element */
    void *state;
    struct ath_machine *machine;
    int depth;
    int status; /* status of the first fault */
    struct ath_err *err;
};

static const struct ath_xml_reader *const readers[] = { &ath_hwloc_xml_reader,
                                                        &ath_nccl_xml_reader };

/* Documents that users mistake for a topology, and the command that writes one. */
static const struct {
    const char *root, *message, *hint;
} other_documents[] = {
    { "graphs", N_("this is NCCL's graph of channels (NCCL_GRAPH_DUMP_FILE), not its topology"),
      "NCCL_TOPO_DUMP_FILE=topology.xml COMMAND" },
    { "nvidia_smi_log", N_("this is the output of 'nvidia-smi -q -x', not a topology"),
      "lstopo topology.xml" },
    { "list", N_("this is probably the output of 'lshw -xml', not a topology"),
      "lstopo topology.xml" },
};

/* Texts that users mistake for a topology: both words are in the beginning of the file. */
static const struct {
    const char *words[2], *message, *hint;
} other_texts[] = {
    { { "schema:", "aitherion.topology/" },
      N_("'%s' is a topology document, not a machine"),
      NULL },
};

const char *ath_xml_get(const char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2)
        if (!strcmp(attributes[0], name))
            return attributes[1];
    return NULL;
}

int64_t ath_xml_get_number(const char **attributes, const char *name, int64_t max, int64_t missing)
{
    const char *text = ath_xml_get(attributes, name);
    uint64_t value;

    if (!text || ath_parse_u64(text, 0, &value) || value > (uint64_t)max)
        return missing;
    return (int64_t)value;
}

void ath_xml_fault(struct ath_xml *xml, const char *format, ...)
{
    if (xml->status)
        return;

    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    xml->status = ath_err_set(xml->err, -EINVAL, ATH_E_TOPOLOGY_INVALID, "%s:%lu:%lu: %s",
                              xml->name, xml->expat->XML_GetCurrentLineNumber(xml->parser),
                              xml->expat->XML_GetCurrentColumnNumber(xml->parser) + 1, message);
    xml->expat->XML_StopParser(xml->parser, XML_FALSE);
}

void ath_xml_hint(struct ath_xml *xml, const char *format, ...)
{
    if (!xml->err)
        return;

    va_list args;
    va_start(args, format);
    vsnprintf(xml->err->hint, sizeof xml->err->hint, format, args);
    va_end(args);
}

static void refuse_document(struct ath_xml *xml, const char *root)
{
    for (size_t i = 0; i < ATH_COUNT(other_documents); i++)
        if (!strcmp(root, other_documents[i].root)) {
            ath_xml_fault(xml, "%s", _(other_documents[i].message));
            ath_xml_hint(xml, "%s", other_documents[i].hint);
            return;
        }
    ath_xml_fault(xml,
                  _("the root element is '%.64s'; expected 'topology' (hwloc) or 'system' (NCCL)"),
                  root);
    ath_xml_hint(xml, "lstopo topology.xml");
}

static void choose_reader(struct ath_xml *xml, const char *root)
{
    for (size_t i = 0; i < ATH_COUNT(readers); i++)
        if (!strcmp(root, readers[i]->root)) {
            xml->reader = readers[i];
            xml->state = xml->reader->open(xml->machine);
            return;
        }
    refuse_document(xml, root);
}

static void XMLCALL on_start(void *data, const char *element, const char **attributes)
{
    struct ath_xml *xml = data;

    if (!xml->status && ++xml->depth > ATH_XML_DEPTH_MAX)
        ath_xml_fault(xml, _("elements are nested deeper than %d"), ATH_XML_DEPTH_MAX);
    if (!xml->status && !xml->reader)
        choose_reader(xml, element);
    if (!xml->status) /* expat may still call this after XML_StopParser() */
        xml->reader->start(xml->state, xml, element, attributes);
}

static void XMLCALL on_end(void *data, const char *element)
{
    struct ath_xml *xml = data;

    if (xml->status)
        return;
    xml->depth--;
    xml->reader->end(xml->state, element);
}

static void XMLCALL on_text(void *data, const char *text, int length)
{
    struct ath_xml *xml = data;

    if (!xml->status && xml->reader->text)
        xml->reader->text(xml->state, text, (size_t)length);
}

static void XMLCALL on_entity(void *data, const char *name, int is_parameter, const char *value,
                              int length, const char *base, const char *system, const char *public,
                              const char *notation)
{
    (void)is_parameter, (void)value, (void)length;
    (void)base, (void)system, (void)public, (void)notation;
    ath_xml_fault(data, _("the document declares an entity, '%.64s', which no topology file needs"),
                  name);
}

/* Reports expat's error. */
static void fault_of_expat(struct ath_xml *xml)
{
    enum XML_Error code = xml->expat->XML_GetErrorCode(xml->parser);

    if (code == XML_ERROR_NO_ELEMENTS && xml->depth)
        ath_xml_fault(xml, _("the file ends in the middle: %d elements are still open"),
                      xml->depth);
    else
        ath_xml_fault(xml, _("the XML is broken: %s"), xml->expat->XML_ErrorString(code));
}

static int pass(struct ath_xml *xml, const char *data, size_t length)
{
    const struct expat *expat = xml->expat;

    expat->XML_SetUserData(xml->parser, xml);
    expat->XML_SetElementHandler(xml->parser, on_start, on_end);
    expat->XML_SetCharacterDataHandler(xml->parser, on_text);
    expat->XML_SetEntityDeclHandler(xml->parser, on_entity);
    if (expat->XML_Parse(xml->parser, data, (int)length, XML_TRUE) != XML_STATUS_OK)
        fault_of_expat(xml);
    if (!xml->status)
        xml->status = xml->reader->finish(xml->state, xml->name, xml->err);
    if (xml->reader)
        xml->reader->close(xml->state);
    return xml->status;
}

/* A hostile file could cost minutes later, when every GPU is paired with every port. */
static int check_counts(const char *name, const struct ath_machine *machine, struct ath_err *err)
{
    if (machine->gpu_count <= GPUS_MAX && machine->nic_count <= NICS_MAX)
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                       _("'%s' has %zu GPUs and %zu network ports, more than one machine can have"),
                       name, machine->gpu_count, machine->nic_count);
}

/* Refuses a file that begins with neither an element nor the mark of an encoding. */
static int check_begin(const char *name, const char *data, size_t length, struct ath_err *err)
{
    enum { BEGIN_BYTES = 4096 };
    static const char blanks[] = " \t\r\n";
    const char *message = _("'%s' is not XML: it does not begin with '<'"), *hint = NULL;
    size_t at = 0;

    while (at < length && memchr(blanks, data[at], sizeof blanks - 1))
        at++;
    if (at == length || data[at] == '<' || (unsigned char)data[0] >= 0xef)
        return 0; /* expat judges the rest: U+FEFF is EF BB BF, FE FF or FF FE */
    size_t begin = length < BEGIN_BYTES ? length : BEGIN_BYTES;
    for (size_t i = 0; i < ATH_COUNT(other_texts); i++)
        if (memmem(data, begin, other_texts[i].words[0], strlen(other_texts[i].words[0])) &&
            memmem(data, begin, other_texts[i].words[1], strlen(other_texts[i].words[1]))) {
            message = _(other_texts[i].message);
            hint = other_texts[i].hint;
        }
    ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, message, name);
    return hint ? ath_err_hint(err, -EINVAL, "%s", _(hint)) : -EINVAL;
}

int ath_topology_parse(const char *name, const char *data, size_t length, struct ath_machine *out,
                       struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { .profile = "generic", .source = ATH_SOURCE_XML };
    struct expat expat;

    if (!length)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("'%s' is empty"), name);
    if (length > ATH_TOPOLOGY_BYTES_MAX)
        return ath_err_set(err, -EFBIG, ATH_E_TOPOLOGY_INVALID, _("'%s' is larger than %d MiB"),
                           name, ATH_TOPOLOGY_BYTES_MAX >> 20);
    if (ath_topology_is_json(data, length))
        return ath_topology_parse_json(name, data, length, out, err);
    if (ath_topology_is_text(data, length))
        return ath_topology_parse_text(name, data, length, out, err);
    int status = check_begin(name, data, length, err);
    if (status)
        return status;
    status = ath_late_load("libexpat.so.1", "libexpat1", expat_names, &expat, err);
    if (status)
        return status;

    struct ath_xml xml = { .name = name, .expat = &expat, .machine = &machine, .err = err };
    xml.parser = expat.XML_ParserCreate(NULL);
    if (!xml.parser)
        return ath_err_system(err, -ENOMEM, _("cannot read '%s'"), name);
    status = pass(&xml, data, length);
    expat.XML_ParserFree(xml.parser);
    if (!status)
        status = check_counts(name, &machine, err);
    if (status)
        return status;
    *out = machine;
    machine = (struct ath_machine){ 0 };
    return 0;
}

int ath_topology_read(const char *path, struct ath_machine *out, struct ath_err *err)
{
    ath_auto_free char *data = NULL;
    size_t length;

    if (strchr(path, ',') && access(path, F_OK))
        return ath_topology_read_texts(path, out, err);
    int status = ath_file_read(path, ATH_TOPOLOGY_BYTES_MAX, &data, &length, err);

    return status ? status : ath_topology_parse(path, data, length, out, err);
}
