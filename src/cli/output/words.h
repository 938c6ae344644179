/* Facts in words, for text, matrix and pictures. The caller frees a result of type char *. */
#pragma once
#include <stdint.h>

#include "base/idset.h"
#include "base/pci.h"
#include "cli/output/style.h"
#include "roce/nic.h"

/* A size: "251.7 GiB"; below one GiB "512.0 MiB". */
char *ath_words_size(int64_t bytes);

/* A page size, a power of two: "2 MiB". */
char *ath_words_page(int64_t bytes);

/* A link speed: "100 Gb/s", "2.5 Gb/s", "100 Mb/s". */
char *ath_words_speed(int64_t mbps);

/* A bandwidth without its unit, in 10^9 bytes per second: "75", "15.8". */
char *ath_words_gigabytes(int64_t bytes_per_s);

/* Bytes per second: "75 GB/s", "15.8 GB/s"; "not known" if below 0. */
char *ath_words_bandwidth(int64_t bandwidth);

/* A duration in its two largest units: "2 d 3 h", "3 h 12 min", "5 min", "8 s". */
char *ath_words_duration(int64_t seconds);

/* A short time: "12.3 us", "4.56 ms", "1.20 s"; "not known" if below 0. */
char *ath_words_time(int64_t time_ns);

/* GPUs by their numbers: "GPU0, GPU2-GPU5". */
char *ath_words_gpus(const struct ath_idset *numbers);

/* The same in the order of a list, without ranges: "GPU3, GPU0". */
char *ath_words_gpu_list(const size_t *gpus, size_t count);

/* The name of a PCI vendor: "NVIDIA" for 0x10de. NULL for other ids and for ATH_UNKNOWN. */
const char *ath_words_vendor(int vendor_id);

/* The model, else "NVIDIA 10de:1db6"; "" if the ids are not known either. */
char *ath_words_device(int vendor_id, int device_id, const char *model);

/* A GID's IP address in its usual form: "192.168.1.10", "fe80::1". */
char *ath_words_gid(const struct ath_gid *gid);

/* A word for a shell: in single quotes, unless it has only safe characters. */
char *ath_words_shell(const char *word);

/* The note that no other machine reaches the runtimes `names`, and the commands that change that
 * for entry `id`, with the options of this run. */
char *ath_words_only_here(const struct ath_style *style, const char *names, int id);

/* The hint for an ordinary user whose runtime lacks a cpuset or a limit; NULL for root. */
char *ath_words_limits(void);

/* The names of all engines, up to a NULL. */
extern const char *const ath_words_engines[];

/* The meaning of a class, translated: "through one PCIe host bridge of a CPU". */
const char *ath_words_class(enum ath_pci_class class);
