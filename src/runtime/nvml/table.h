/*
 * What is known of NVML's functions: the table that proto/nvml_generate.py writes is of these, and
 * what both sides do with it.
 *
 * A call's parameters are in a list of arguments, as a program gave them or as the server made them
 * up; which member is there, the parameter's form says.
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
    ATH_NVML_RESULT, /* a number or a structure; one with a version goes as well */
    ATH_NVML_RESULT_HANDLE,
    ATH_NVML_RESULT_TEXT,
    ATH_NVML_RESULT_ITEMS,
    ATH_NVML_RESULT_HANDLES,
    ATH_NVML_COUNT, /* how many a list has room for, and how many there are */
};

/* Which of several servers a function asks (proto/nvml.capnp). */
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
    ATH_NVML_ROOM_MAX = 256 * 1024, /* bytes of one parameter, many times what NVML has */
    ATH_NVML_TEXT_MAX = 4096,
    ATH_NVML_FILLED_MAX = 128, /* items of a list that NVML fills as it likes */
};

struct ath_nvml_parameter {
    uint8_t form;      /* enum ath_nvml_form */
    int8_t count_at;   /* the parameter that says how long a list or a text is; -1 */
    uint8_t handle;    /* enum ath_nvml_handle */
    bool is_versioned; /* a structure that begins with its version */
    bool is_changed;   /* a list that goes as well */
    bool is_filled;    /* a list whose length only comes back */
    uint32_t size;     /* bytes, of an item where there are several */
};

/* A handle within a structure that comes back. */
struct ath_nvml_held {
    uint8_t parameter, handle;
    uint16_t offset;
};

struct ath_nvml_facts {
    const char *name;
    enum ath_nvml_class class;
    const struct ath_nvml_parameter *parameters; /* NULL: none, or it does not travel */
    size_t parameter_count;
    struct ath_nvml_held held[ATH_NVML_HELD_MAX];
    size_t held_count;
    enum ath_nvml_several several;
    int apart;          /* the result for devices of two servers, where several is APART */
    bool frees;         /* its first parameter, a handle, is worth nothing afterwards */
    const char *reason; /* of one that is refused */
};

union ath_nvml_argument {
    uint64_t number;
    void *pointer;
};

/*
 * How many bytes a structure with a version has: the low 24 bits of the version, which NVML's
 * macros put there, else the newest's. 0: more than that, which nobody can know of.
 */
static inline size_t ath_nvml_versioned_bytes(const struct ath_nvml_parameter *parameter,
                                              uint32_t version)
{
    size_t told = version & 0xffffff;
    if (told > parameter->size)
        return 0;
    return told > sizeof version ? told : parameter->size;
}
