/*
 * The driver answers questions about a program's code (libraries, modules, kernels) in the same way
 * at the program's next start, if the code, the GPU and the driver are the same. On a slow line
 * these answers are kept on disk (fact_file.h), and the next start does not wait for them.
 *
 * That needs handles that are equal in each run: the promised handles of common/promise.h. A
 * library whose image was loaded before is loaded without waiting: the call goes to the server with
 * the handle that the client has chosen. So does the question for a kernel by its name. Their other
 * facts are answered from the disk.
 *
 * An answer is kept only if nothing can change it between two runs: the current context is a
 * device's primary one, all handles in the question are promised (and no stream but a default one
 * is), no call has changed a setting for all kernels, and all settings of the kernel are known. The
 * key has the code's fingerprint (in the handles), the kernel's settings, and a fingerprint of the
 * device's name, UUID and attributes; the file's name has that of the driver and its variables.
 *
 * AITHERION_DISABLE=facts switches it off. Any thread.
 */
#pragma once
#include "cuda/client/client.h"

/* Code that is about to be loaded. */
struct ath_cuda_promised_code {
    uint64_t handle;         /* 0: the server chooses */
    bool is_known;           /* an earlier run loaded it */
    bool is_posted;          /* it is loaded without waiting; module.c says when */
    bool has_options;        /* of the compiler, which return something */
    bool is_module;          /* it belongs to a context */
    struct ath_frame answer; /* what they returned to the run that is_known; owned */
};
void ath_cuda_promised_code_free(struct ath_cuda_promised_code *code);

/* Promises a handle for images, of which the caller has the fingerprint, with the options'. Not
 * between ath_cuda_begin() and ath_cuda_end(). */
struct ath_cuda_promised_code ath_cuda_promise_code(enum ath_cuda_method method,
                                                    const struct ath_fingerprint *images,
                                                    bool has_options);

/* Reads the facts, if they are used now: see ath_cuda_code_facts_has(). Not between
 * ath_cuda_begin() and ath_cuda_end(). */
void ath_cuda_code_facts_begin(void);

/* Returns whether promises are made now: the fingerprint of images is worth its time. */
bool ath_cuda_promises_code(void);

/* A promised library whose kernels are asked for. */
struct ath_cuda_promised_library {
    struct ath_fingerprint_value print; /* the handles of its kernels are made of it */
    bool is_large;                      /* see ath_cuda_promise_note_large() */
};

/* Returns whether the program's question for a kernel of promised code should bring others: it is
 * the first for code that no earlier run has loaded, or a further one for a large library. */
bool ath_cuda_promise_wants_kernels(uint64_t code, struct ath_cuda_promised_library *out);

/* Notes that the first question did not bring all kernels. */
void ath_cuda_promise_note_large(uint64_t code);

/* Notes how loading ended. handle: what the server gave. answer: the server's; NULL without
 * options. */
void ath_cuda_promise_kept(const struct ath_cuda_promised_code *code, uint64_t handle,
                           const struct ath_frame *answer);
void ath_cuda_promise_broken(const struct ath_cuda_promised_code *code);

/* Returns whether this handle was promised on a slow line, and its code is loaded. */
bool ath_cuda_promise_holds(uint64_t handle);

/* The code with this handle is unloaded. */
void ath_cuda_promise_end(uint64_t handle);
void ath_cuda_promises_clear(void);

/* The promised handle of a kernel in promised code, for the current context; 0: none. name may be
 * NULL. Not between ath_cuda_begin() and ath_cuda_end(). */
uint64_t ath_cuda_promise_kernel(uint64_t code, const char *name);

/* Makes the key of a question, and leaves the exchange as it was. The caller frees *key. Returns
 * false if its answer must not be kept. */
bool ath_cuda_code_facts_key(struct ath_cuda_exchange *exchange, struct ath_frame *key);

/* Looks up the answer to the exchange of which the key was made. */
bool ath_cuda_code_facts_find(const struct ath_cuda_exchange *exchange, const struct ath_frame *key,
                              struct ath_frame *answer);

/* Keeps the answer in exchange->thread->answer, which the exchange has opened. is_used: the program
 * has asked for it; other facts are saved if there is room. */
void ath_cuda_code_facts_add(const struct ath_cuda_exchange *exchange, const struct ath_frame *key,
                             bool is_used);

/* A fact that is not an answer: something about a promised kernel or function succeeded, with these
 * numbers. It may have a value. */
enum ath_cuda_code_word {
    ATH_CUDA_CODE_LOADED, /* its value is 1, or the answer if the code had options */
    ATH_CUDA_CODE_SETTING,
    ATH_CUDA_CODE_LAUNCH,
    ATH_CUDA_CODE_START, /* of a program, not of its code: what it took (start_plan.c) */
};
enum { ATH_CUDA_CODE_NUMBERS = 4 };
struct ath_cuda_code_fact {
    enum ath_cuda_code_word word;
    uint64_t handle;
    uint64_t numbers[ATH_CUDA_CODE_NUMBERS];
};
bool ath_cuda_code_facts_has(const struct ath_cuda_code_fact *fact);
void ath_cuda_code_facts_note(const struct ath_cuda_code_fact *fact);

/* The same with a value. It is copied; the one of an earlier run is replaced. */
bool ath_cuda_code_facts_bytes(const struct ath_cuda_code_fact *fact, struct ath_frame *out);
void ath_cuda_code_facts_replace(const struct ath_cuda_code_fact *fact,
                                 const struct ath_frame *value);

/* A number for the current context's device, by its name, UUID and attributes; 0: no facts are kept
 * in this context. */
uint64_t ath_cuda_code_facts_device(void);

/* A call that succeeded may have changed the answers of these methods (up to -1). */
void ath_cuda_code_facts_stop(const short *methods);

/* The conversion of handles in questions about code: notes which cannot be kept. */
uint64_t ath_cuda_code_facts_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind,
                                     uint64_t own);
