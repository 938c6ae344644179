/*
 * One streaming pass over a topology XML: the reader that knows the root element gets every element
 * of it.
 *
 * The pass sees to well-formedness, depth and size, so that a reader only meets elements that are
 * properly nested and never deeper than ATH_XML_DEPTH_MAX. Nothing is fetched from outside the
 * file, and documents that declare entities are refused.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "numa/machine.h"

/*
 * Deep enough for any machine (NCCL's deepest known chain of switches is 11), and as many nodes as
 * Linux can have (NODES_SHIFT is at most 10, mm/Kconfig).
 */
enum { ATH_XML_DEPTH_MAX = 256, ATH_XML_NODES_MAX = 1024 };

/* A pass in progress. */
struct ath_xml;

/* How one kind of document is read; one object of it (`state`) lives for one pass. */
struct ath_xml_reader {
    const char *root; /* the root element's name */
    void *(*open)(struct ath_machine *machine);
    void (*start)(void *state, struct ath_xml *xml, const char *element, const char **attributes);
    void (*end)(void *state, const char *element);
    void (*text)(void *state, const char *text, size_t length); /* NULL: not wanted */
    /* After the last element; name is the file's, for messages. 0 or a negative errno with err. */
    int (*finish)(void *state, const char *name, struct ath_err *err);
    void (*close)(void *state); /* always called */
};

/* The value of an attribute, as long as the callback runs; NULL where it is not there. */
const char *ath_xml_get(const char **attributes, const char *name);

/* A number in an attribute: decimal or 0x hexadecimal, within 0..max; `missing` where there is none
 * or it is something else. */
int64_t ath_xml_get_number(const char **attributes, const char *name, int64_t max, int64_t missing);

/* Ends the pass: "FILE:LINE:COLUMN: MESSAGE", code topology-invalid. The first fault counts. */
void ath_xml_fault(struct ath_xml *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the mend to that fault. */
void ath_xml_hint(struct ath_xml *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
