/*
 * One streaming pass over a topology XML. The root element selects the reader, which gets every
 * element.
 *
 * The pass checks well-formedness, depth and size, so a reader only gets properly nested elements,
 * never deeper than ATH_XML_DEPTH_MAX. Nothing is fetched from outside the file, and documents that
 * declare entities are refused.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "numa/machine.h"

/*
 * Deep enough for any machine (NCCL's deepest known chain of switches is 11), and as many nodes as
 * Linux supports (NODES_SHIFT is at most 10, mm/Kconfig).
 */
enum { ATH_XML_DEPTH_MAX = 256, ATH_XML_NODES_MAX = 1024 };

/* A pass in progress. */
struct ath_xml;

/* The reader of one kind of document. `open` makes a `state`, which lives for one pass. */
struct ath_xml_reader {
    const char *root; /* the root element's name */
    void *(*open)(struct ath_machine *machine);
    void (*start)(void *state, struct ath_xml *xml, const char *element, const char **attributes);
    void (*end)(void *state, const char *element);
    void (*text)(void *state, const char *text, size_t length); /* NULL: texts are skipped */
    /* Called after the last element; name is the file's, for messages. Returns 0, or a negative
     * errno with err. */
    int (*finish)(void *state, const char *name, struct ath_err *err);
    void (*close)(void *state); /* always called */
};

/* Returns the value of an attribute, which is valid during the callback, or NULL. */
const char *ath_xml_get(const char **attributes, const char *name);

/* Returns a number in an attribute, decimal or 0x hexadecimal, in the range 0..max, or `missing`
 * if there is no such number. */
int64_t ath_xml_get_number(const char **attributes, const char *name, int64_t max, int64_t missing);

/* Ends the pass with "FILE:LINE:COLUMN: MESSAGE", code "topology-invalid". Only the first fault
 * counts. */
void ath_xml_fault(struct ath_xml *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the hint of that fault. */
void ath_xml_hint(struct ath_xml *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
