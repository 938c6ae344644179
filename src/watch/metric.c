/* The table. */
#include "config.h"

#include "watch/metric.h"

#include "base/alloc.h"
#include "watch/page.h"

#define RUNTIME "aitherion_runtime_"
#define MACHINE "aitherion_host_"

#define GAUGE ATH_METRIC_GAUGE
#define COUNTER ATH_METRIC_COUNTER
#define OF(scope, type, member) ATH_METRIC_OF_##scope, offsetof(struct type, member)
#define SERVER(member) OF(SERVER, ath_watch_server, member)
#define COUNTS(member) OF(COUNTS, ath_figures, member)
#define REFUSALS(member) OF(REFUSALS, ath_figures, member)
#define DEVICE(member) OF(DEVICE, ath_device_figures, member)
#define THROTTLE(member) OF(THROTTLE, ath_device_figures, member)
#define SESSION(member) OF(SESSION, ath_watch_session_values, member)
#define FIGURES(member) OF(FIGURES, ath_session_figures, member)
#define USE(member) OF(USE, ath_runtime_use, member)
#define CHANNELS(member) OF(CHANNELS, ath_watch_channel_values, member)
#define DATAGRAMS(member) OF(DATAGRAMS, ath_datagram_figures, member)
#define IDENTITY(member) OF(IDENTITY, ath_watch_identity_values, member)
#define IDENTITY_USE(member) OF(IDENTITY_USE, ath_watch_identity_values, member)

#define HOST(member) OF(HOST, ath_watch_host, member)
#define PORT(member) OF(PORT, ath_watch_port, member)
#define COPIES(member) OF(COPIES, ath_watch_copies, member)

/* factor and divisor */
#define PLAIN 1, 1
#define MILLI 1, 1000
#define MICRO 1, 1000000
#define NANO 1, 1000000000
#define PERCENT 1, 100
#define MEGA 1000000, 1

const struct ath_metric ath_metrics[] = {
    { "aitherion_up", "", "Whether the runtime answers", GAUGE, SERVER(up), PLAIN },
    { RUNTIME "uptime_seconds", "seconds", "Time since the runtime started", GAUGE,
      SERVER(uptime_ms), MILLI },
    { RUNTIME "devices", "", "GPUs that the runtime serves", GAUGE, SERVER(device_count), PLAIN },
    { RUNTIME "faults", "", "Faults that the runtime reports", GAUGE, SERVER(faults), PLAIN },
    { RUNTIME "sessions", "", "Sessions of programs", GAUGE, SERVER(programs), PLAIN },
    { RUNTIME "sample_age_seconds", "seconds", "Age of the last sample of the GPUs", GAUGE,
      COUNTS(sampled_ms_ago), MILLI },
    { RUNTIME "connections", "", "Connections accepted", COUNTER, COUNTS(accepted), PLAIN },
    { RUNTIME "refused", "", "Sessions refused", COUNTER, REFUSALS(refused), PLAIN },
    { RUNTIME "broken", "", "Sessions cut off, timed out or malformed", COUNTER, COUNTS(broken),
      PLAIN },

    { RUNTIME "device_memory_total_bytes", "bytes", "Memory of the GPU", GAUGE,
      DEVICE(memory_total_bytes), PLAIN },
    { RUNTIME "device_memory_free_bytes", "bytes", "Free memory of the GPU", GAUGE,
      DEVICE(memory_free_bytes), PLAIN },
    { RUNTIME "device_memory_limit_bytes", "bytes",
      "Memory of the GPU that all sessions together may have", GAUGE, DEVICE(memory_limit_bytes),
      PLAIN },
    { RUNTIME "device_memory_used_bytes", "bytes", "Memory of the GPU that sessions have", GAUGE,
      DEVICE(memory_used_bytes), PLAIN },
    { RUNTIME "device_sessions", "", "Sessions that have memory of the GPU", GAUGE,
      DEVICE(sessions), PLAIN },
    { RUNTIME "device_busy_ratio", "ratio", "Fraction of time in which the GPU ran a kernel", GAUGE,
      DEVICE(busy_percent), PERCENT },
    { RUNTIME "device_memory_busy_ratio", "ratio",
      "Fraction of time in which the GPU read or wrote its memory", GAUGE,
      DEVICE(memory_busy_percent), PERCENT },
    { RUNTIME "device_temperature_celsius", "celsius", "Temperature of the GPU", GAUGE,
      DEVICE(temperature_c), PLAIN },
    { RUNTIME "device_power_watts", "watts", "Power that the GPU takes", GAUGE, DEVICE(power_mw),
      MILLI },
    { RUNTIME "device_power_limit_watts", "watts", "Power that the GPU may take", GAUGE,
      DEVICE(power_limit_mw), MILLI },
    { RUNTIME "device_sm_clock_hertz", "hertz", "Clock of the GPU's processors", GAUGE,
      DEVICE(sm_clock_mhz), MEGA },
    { RUNTIME "device_memory_clock_hertz", "hertz", "Clock of the GPU's memory", GAUGE,
      DEVICE(memory_clock_mhz), MEGA },
    { RUNTIME "device_throttled", "", "Whether the reason lowers the GPU's clocks", GAUGE,
      THROTTLE(throttle_reasons), PLAIN },
    { RUNTIME "device_ecc_corrected_errors", "", "Errors of GPU memory that ECC corrected", COUNTER,
      DEVICE(ecc_corrected), PLAIN },
    { RUNTIME "device_ecc_uncorrected_errors", "", "Errors of GPU memory that ECC did not correct",
      COUNTER, DEVICE(ecc_uncorrected), PLAIN },
    { RUNTIME "device_remapped_rows", "", "Remapped rows of GPU memory", GAUGE,
      DEVICE(remapped_rows), PLAIN },
    { RUNTIME "device_xids", "", "Xid events since the runtime started that no program caused",
      COUNTER, DEVICE(xids), PLAIN },
    { RUNTIME "device_last_xid", "", "Number of the last Xid event", GAUGE, DEVICE(last_xid),
      PLAIN },
    { RUNTIME "device_pcie_received_bytes_per_second", "",
      "Bytes that the GPU receives over PCIe in a second", GAUGE, DEVICE(pcie_received_bytes_s),
      PLAIN },
    { RUNTIME "device_pcie_sent_bytes_per_second", "",
      "Bytes that the GPU sends over PCIe in a second", GAUGE, DEVICE(pcie_sent_bytes_s), PLAIN },
    { RUNTIME "device_nvlink_received_bytes", "bytes", "Bytes that the GPU received over NVLink",
      COUNTER, DEVICE(nvlink_received_bytes), PLAIN },
    { RUNTIME "device_nvlink_sent_bytes", "bytes", "Bytes that the GPU sent over NVLink", COUNTER,
      DEVICE(nvlink_sent_bytes), PLAIN },
    { RUNTIME "device_health_score", "", "Health of the GPU, from 0 to 100", GAUGE,
      DEVICE(health_score), PLAIN },

    { RUNTIME "session_age_seconds", "seconds", "Time since the session began", GAUGE,
      SESSION(age_ms), MILLI },
    { RUNTIME "session_calls", "", "Calls that the program sent to the runtime", COUNTER,
      FIGURES(calls), PLAIN },
    { RUNTIME "session_received_bytes", "bytes", "Bytes that the runtime received from the program",
      COUNTER, FIGURES(received_bytes), PLAIN },
    { RUNTIME "session_sent_bytes", "bytes", "Bytes that the runtime sent to the program", COUNTER,
      FIGURES(sent_bytes), PLAIN },
    { RUNTIME "session_wait_seconds", "seconds", "Time that calls waited for the GPU",
      ATH_METRIC_HISTOGRAM, FIGURES(waits), PLAIN },
    { RUNTIME "session_gpu_seconds", "seconds", "Time that GPUs worked for the session", COUNTER,
      FIGURES(gpu_time_us), MICRO },
    { RUNTIME "session_busy_ratio", "ratio",
      "Fraction of time in which the session's busiest GPU worked for it", GAUGE,
      FIGURES(busy_percent), PERCENT },
    { RUNTIME "session_share_wanted_ratio", "ratio",
      "Share of its GPUs' time that the session claims, 0 without a claim", GAUGE,
      SESSION(share_percent), PERCENT },
    { RUNTIME "session_turn_held_seconds", "seconds", "Time that the session had its GPUs", COUNTER,
      FIGURES(held_us), MICRO },
    { RUNTIME "session_turn_lent_seconds", "seconds",
      "Time that the session had its GPUs beyond its share, as no other session wanted them",
      COUNTER, FIGURES(lent_us), MICRO },
    { RUNTIME "session_turn_waited_seconds", "seconds",
      "Time that the session waited for other sessions to give its GPUs back", COUNTER,
      FIGURES(turn_waited_us), MICRO },
    { RUNTIME "session_turns", "", "Turns that the session was given", COUNTER, FIGURES(turns),
      PLAIN },
    { RUNTIME "session_memory_used_bytes", "bytes", "GPU memory that the session has", GAUGE,
      USE(memory_used_bytes), PLAIN },
    { RUNTIME "session_memory_limit_bytes", "bytes", "GPU memory that the session may have", GAUGE,
      USE(memory_limit_bytes), PLAIN },
    { RUNTIME "session_multiprocessors", "", "Multiprocessors that the session has for itself",
      GAUGE, USE(processors), PLAIN },

    { RUNTIME "session_channels", "", "Connections of the session for large copies", GAUGE,
      CHANNELS(connections), PLAIN },
    { RUNTIME "session_channel_received_bytes", "bytes",
      "Bytes of large copies that the runtime received by these connections", COUNTER,
      CHANNELS(received_bytes), PLAIN },
    { RUNTIME "session_channel_sent_bytes", "bytes",
      "Bytes of large copies that the runtime sent by these connections", COUNTER,
      CHANNELS(sent_bytes), PLAIN },
    { RUNTIME "session_channel_sent_again", "",
      "TCP segments or datagrams that the runtime sent again by these connections", COUNTER,
      CHANNELS(sent_again), PLAIN },
    { RUNTIME "session_channel_datagrams_received", "",
      "Datagrams that the runtime received by these connections", COUNTER,
      CHANNELS(datagrams_received), PLAIN },
    { RUNTIME "session_channel_datagrams_sent", "",
      "Datagrams that the runtime sent by these connections", COUNTER, CHANNELS(datagrams_sent),
      PLAIN },
    { RUNTIME "session_channel_datagrams_lost", "",
      "Datagrams that the runtime sent by these connections and took for lost", COUNTER,
      CHANNELS(datagrams_lost), PLAIN },
    { RUNTIME "session_channel_datagrams_duplicates", "",
      "Datagrams that came more than once by these connections", COUNTER,
      CHANNELS(datagrams_duplicates), PLAIN },
    { RUNTIME "session_channel_datagrams_damaged", "",
      "Datagrams that came with a wrong sum by these connections", COUNTER,
      CHANNELS(datagrams_damaged), PLAIN },

    { RUNTIME "udp_received", "", "Datagrams of large copies received", COUNTER,
      DATAGRAMS(received), PLAIN },
    { RUNTIME "udp_sent", "", "Datagrams of large copies sent", COUNTER, DATAGRAMS(sent), PLAIN },
    { RUNTIME "udp_sent_again", "", "Datagrams whose bytes had been sent before", COUNTER,
      DATAGRAMS(sent_again), PLAIN },
    { RUNTIME "udp_lost", "", "Datagrams that were taken for lost", COUNTER, DATAGRAMS(lost),
      PLAIN },
    { RUNTIME "udp_duplicates", "", "Datagrams that came more than once", COUNTER,
      DATAGRAMS(duplicates), PLAIN },
    { RUNTIME "udp_damaged", "", "Datagrams that came with a wrong sum", COUNTER,
      DATAGRAMS(damaged), PLAIN },
    { RUNTIME "udp_foreign", "", "Datagrams of no session", COUNTER, DATAGRAMS(foreign), PLAIN },

    { RUNTIME "identity_sessions", "", "Sessions of programs, by the name of their key", GAUGE,
      IDENTITY(sessions), PLAIN },
    { RUNTIME "identity_memory_used_bytes", "bytes",
      "GPU memory that sessions have, by the name of their key", GAUGE,
      IDENTITY_USE(memory_used_bytes), PLAIN },

    { MACHINE "port_up", "", "Whether the network port has a link", GAUGE, PORT(up), PLAIN },
    { MACHINE "port_speed_bytes_per_second", "",
      "Bytes that the network port can carry in a second and direction", GAUGE, PORT(speed_bytes_s),
      PLAIN },
    { MACHINE "port_received_bytes", "bytes", "Bytes that the network port received, without RDMA",
      COUNTER, PORT(received_bytes), PLAIN },
    { MACHINE "port_sent_bytes", "bytes", "Bytes that the network port sent, without RDMA", COUNTER,
      PORT(sent_bytes), PLAIN },
    { MACHINE "port_rdma_received_bytes", "bytes", "Bytes that the port received by RDMA", COUNTER,
      PORT(rdma_received_bytes), PLAIN },
    { MACHINE "port_rdma_sent_bytes", "bytes", "Bytes that the port sent by RDMA", COUNTER,
      PORT(rdma_sent_bytes), PLAIN },
    { MACHINE "copy_bytes_per_second", "",
      "Bytes that copies from one GPU to the other reached in a second when they were measured",
      GAUGE, COPIES(bytes_s), PLAIN },
    { MACHINE "copy_latency_seconds", "seconds",
      "Time of a small copy from one GPU to the other when it was measured", GAUGE,
      COPIES(latency_ns), NANO },
    { MACHINE "all_reduce_measured_seconds", "seconds",
      "Least time of an all-reduce of 100 MiB by a ring of all GPUs, by the measured copies", GAUGE,
      HOST(all_reduce_measured_ns), NANO },
    { MACHINE "all_reduce_expected_seconds", "seconds",
      "Least time of an all-reduce of 100 MiB by a ring of all GPUs, by what their links can carry",
      GAUGE, HOST(all_reduce_expected_ns), NANO },
};
const size_t ath_metric_count = ATH_COUNT(ath_metrics);

/* The bits of nvmlClocksEventReasons (docs.nvidia.com/deploy/nvml-api). */
const struct ath_throttle_reason ath_throttle_reasons[] = {
    { 0x1, "idle" },
    { 0x2, "application_clocks" },
    { 0x4, "power_cap" },
    { 0x8, "hardware_slowdown" },
    { 0x10, "sync_boost" },
    { 0x20, "thermal" },
    { 0x40, "hardware_thermal" },
    { 0x80, "hardware_power_brake" },
    { 0x100, "display_clock" },
};
const size_t ath_throttle_reason_count = ATH_COUNT(ath_throttle_reasons);

#define DEVICE_LABELS "device, uuid, pci"
#define SESSION_LABELS "session, identity, program, host, process"

const char *const ath_metric_labels[ATH_METRIC_SCOPES] = {
    [ATH_METRIC_OF_SERVER] = "",
    [ATH_METRIC_OF_COUNTS] = "",
    [ATH_METRIC_OF_REFUSALS] = "reason",
    [ATH_METRIC_OF_DEVICE] = DEVICE_LABELS,
    [ATH_METRIC_OF_THROTTLE] = DEVICE_LABELS ", reason",
    [ATH_METRIC_OF_SESSION] = SESSION_LABELS,
    [ATH_METRIC_OF_FIGURES] = SESSION_LABELS ", transport",
    [ATH_METRIC_OF_USE] = SESSION_LABELS ", " DEVICE_LABELS,
    [ATH_METRIC_OF_CHANNELS] = SESSION_LABELS ", address, transport",
    [ATH_METRIC_OF_DATAGRAMS] = "address",
    [ATH_METRIC_OF_IDENTITY] = "identity",
    [ATH_METRIC_OF_IDENTITY_USE] = ("identity, " DEVICE_LABELS),
    [ATH_METRIC_OF_HOST] = "",
    [ATH_METRIC_OF_PORT] = "port, rdma",
    [ATH_METRIC_OF_COPIES] = "from, to",
};

bool ath_metric_is_of_host(enum ath_metric_scope scope)
{
    return scope >= ATH_METRIC_OF_HOST;
}

const char *ath_metric_type_word(enum ath_metric_type type)
{
    static const char *const words[] = { [ATH_METRIC_GAUGE] = "gauge",
                                         [ATH_METRIC_COUNTER] = "counter",
                                         [ATH_METRIC_HISTOGRAM] = "histogram" };
    return words[type];
}

const char *ath_metric_ending(const struct ath_metric *metric)
{
    return metric->type == ATH_METRIC_COUNTER ? "_total" : "";
}
