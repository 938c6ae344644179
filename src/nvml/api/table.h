/*
 * The table of NVML's functions, which proto/nvml_generate.py fills, and functions for both sides.
 *
 * A call's arguments are in an array, as the program gave them or as the server made them. The form
 * of a parameter says which member of the union it uses.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ath_nvml_class {
    ATH_NVML_STATIC,
    ATH_NVML_LIVE,
    ATH_NVML_LOCAL,
    ATH_NVML_REFUSED,
    ATH_NVML_FORBIDDEN,
};

enum ath_nvml_form {
    ATH_NVML_GIVEN_NUMBER,
    ATH_NVML_GIVEN_HANDLE,
    ATH_NVML_GIVEN_TEXT,
    ATH_NVML_GIVEN_BYTES,
    ATH_NVML_RESULT, /* a number or a structure; one with a version is also sent */
    ATH_NVML_RESULT_HANDLE,
    ATH_NVML_RESULT_TEXT,
    ATH_NVML_RESULT_ITEMS,
    ATH_NVML_RESULT_HANDLES,
    ATH_NVML_COUNT, /* how many items a list has room for, and how many it has */
};

/* For several servers: those that a function asks (proto/nvml.capnp). */
enum ath_nvml_several {
    ATH_NVML_SEVERAL_OWNER,
    ATH_NVML_SEVERAL_APART,
    ATH_NVML_SEVERAL_COUNT,
    ATH_NVML_SEVERAL_PLACE,
    ATH_NVML_SEVERAL_INDEX,
    ATH_NVML_SEVERAL_FIND,
    ATH_NVML_SEVERAL_LEAST,
    ATH_NVML_SEVERAL_SETS,
};

enum {
    ATH_NVML_PARAMETERS_MAX = 8,
    ATH_NVML_HELD_MAX = 2,
    ATH_NVML_ROOM_MAX = 256 * 1024, /* bytes of one parameter, many times NVML's largest */
    ATH_NVML_TEXT_MAX = 4096,
    ATH_NVML_FILLED_MAX = 128, /* items of a list whose length NVML chooses */
};

struct ath_nvml_parameter {
    uint8_t form;      /* enum ath_nvml_form */
    int8_t count_at;   /* the parameter with the length of a list or a text; -1: none */
    uint8_t handle;    /* enum ath_nvml_handle */
    bool is_versioned; /* a structure that begins with its version */
    bool is_changed;   /* a list that is also sent */
    bool is_filled;    /* a list whose length is only returned */
    uint32_t size;     /* bytes; of one item in a list */
};

/* A handle within a structure that is returned. */
struct ath_nvml_held {
    uint8_t parameter, handle;
    uint16_t offset;
};

struct ath_nvml_facts {
    const char *name;
    enum ath_nvml_class class;
    const struct ath_nvml_parameter *parameters; /* NULL: none, or the function does not travel */
    size_t parameter_count;
    struct ath_nvml_held held[ATH_NVML_HELD_MAX];
    size_t held_count;
    enum ath_nvml_several several;
    int apart;          /* the result for devices of two servers, if several is APART */
    bool frees;         /* its first parameter, a handle, is invalid afterwards */
    const char *reason; /* why it is refused */
};

union ath_nvml_argument {
    uint64_t number;
    void *pointer;
};

/*
 * Returns the size of a structure with a version: the low 24 bits of the version, where NVML's
 * macros put the size, or the size of the newest version if these bits are 0. Returns 0 if the
 * structure is larger than the newest version, since its layout is then unknown.
 */
static inline size_t ath_nvml_versioned_bytes(const struct ath_nvml_parameter *parameter,
                                              uint32_t version)
{
    size_t told = version & 0xffffff;
    if (told > parameter->size)
        return 0;
    return told > sizeof version ? told : parameter->size;
}
