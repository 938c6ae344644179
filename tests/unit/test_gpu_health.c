/* The health score of a GPU: each row of the table alone, their sums, and what is unknown. */
#include "config.h"

#include "gpu/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "gpu/xid.h"
#include "unit.h"

#define AT(member) offsetof(struct ath_gpu_facts, member)

static int64_t *member(struct ath_gpu_facts *facts, size_t offset)
{
    return (int64_t *)(void *)((char *)facts + offset);
}

/* A GPU of which all is known, and nothing is wrong. */
static struct ath_gpu_facts sound(void)
{
    struct ath_gpu_facts facts;

    ath_gpu_facts_init(&facts);
    for (size_t offset = AT(driver); offset < sizeof facts; offset += sizeof(int64_t))
        *member(&facts, offset) = 0;
    facts.has_answers = true;
    facts.temperature_c = 30;
    facts.slowdown_c = 85;
    facts.pcie_width = facts.pcie_width_max = 16;
    facts.pcie_gen = facts.pcie_gen_max = 4;
    facts.nvlinks = facts.nvlinks_max = 12;
    return facts;
}

/* A value with which exactly one row holds, and the nearest value with which it does not. */
static const struct {
    const char *code;
    int points;
    size_t fact;
    int64_t wrong, right;
    const char *part; /* of the message */
} cases[] = {
    { "driver-missing", 100, AT(driver), 1, 0, "does not run GPU 'G'" },
    { "driver-silent", 100, AT(driver), 2, 0, "no answer about GPU 'G'" },
    { "recovery-needed", 60, AT(recovery), 1, 0, "'G' needs a recovery: reset the GPU" },
    { "xid-fatal", 60, AT(xids_fatal), 1, 0, "GPU 'G': 1, the newest is Xid 0 (?)" },
    { "xid-memory", 20, AT(xids_memory), 1, 0, "repaired: 1, the newest is Xid 0" },
    { "xid-unlisted", 5, AT(xids_unlisted), 1, 0, "does not know: 1, the newest is Xid 0" },
    { "rows-failed", 60, AT(rows_failed), 1, 0, "could not be replaced" },
    { "rows-pending", 20, AT(rows_pending), 1, 0, "next reset" },
    { "rows-remapped", 5, AT(rows_remapped), 1, 0, "uncorrectable errors: 1" },
    { "pages-full", 60, AT(pages_retired), 60, 0, "has retired 60 pages" },
    { "pages-pending", 20, AT(pages_pending), 1, 0, "next reset" },
    { "pages-retired", 5, AT(pages_retired), 1, 0, "after errors: 1" },
    { "pages-retired", 5, AT(pages_retired), 59, 0, "after errors: 59" },
    { "ecc-uncorrected", 40, AT(ecc_uncorrected), 1, 0, "was loaded: 1" },
    { "ecc-uncorrected-before", 5, AT(ecc_uncorrected_before), 1, 0, "was loaded: 1" },
    { "ecc-corrected", 10, AT(ecc_corrected), 1000, 999, "was loaded: 1000" },
    { "throttled-heat", 30, AT(throttle_reasons), 0x40, 0, "'G' is too hot" },
    { "throttled-heat", 30, AT(throttle_reasons), 0x48, 0, "'G' is too hot" },
    { "throttled-power", 20, AT(throttle_reasons), 0x80, 0, "power supply makes GPU 'G'" },
    { "throttled-power", 20, AT(throttle_reasons), 0x88, 0, "power supply makes GPU 'G'" },
    { "throttled-hardware", 20, AT(throttle_reasons), 0x8, 0, "without saying why" },
    /* Idle, clocks of an application, power limit, synchronised boost, clocks of a display. */
    { "throttled-driver", 15, AT(throttle_reasons), 0x20 | 0x117, 0x117,
      "driver lowers its clocks" },
    { "hot", 15, AT(temperature_c), 85, 84, "'G' has 85 degrees Celsius; from 85 on" },
    { "nvlinks-lost", 30, AT(nvlinks), 11, 12, "'G' should have 12 NVLinks, and 11 of them" },
    { "pcie-narrow", 20, AT(pcie_width), 8, 16, "'G' uses 8 lanes; the GPU and its slot have 16" },
    { "pcie-slow", 10, AT(pcie_gen), 3, 4, "generation 3 of 4" },
};

TEST(takes_the_points_of_each_row)
{
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        struct ath_gpu_facts facts = sound();
        struct ath_gpu_health health;
        *member(&facts, cases[i].fact) = cases[i].wrong;
        ath_gpu_health_judge(&facts, &health);
        ck_assert_msg(health.deduction_count == 1, "%s: %zu", cases[i].code,
                      health.deduction_count);
        ck_assert_str_eq(ath_gpu_deduction_code(health.deductions[0]), cases[i].code);
        ck_assert_int_eq(ath_gpu_deduction_points(health.deductions[0]), cases[i].points);
        ck_assert_int_eq(health.score, 100 - cases[i].points);
        ath_auto_free char *text = ath_gpu_deduction_message(health.deductions[0], &facts, "G");
        ath_auto_free char *hint = ath_gpu_deduction_hint(health.deductions[0], &facts, "G");
        ck_assert_msg(strstr(text, cases[i].part), "%s: %s", cases[i].code, text);
        ck_assert_ptr_null(strchr(text, '{'));
        ck_assert(*hint);
        ck_assert_ptr_null(strchr(hint, '{'));
        *member(&facts, cases[i].fact) = cases[i].right;
        ath_gpu_health_judge(&facts, &health);
        ck_assert_msg(health.score == 100 && !health.deduction_count, "%s", cases[i].code);
    }
}

TEST(has_a_case_for_each_row)
{
    for (int row = 0; row < ATH_GPU_DEDUCTION_COUNT; row++) {
        size_t i = 0;
        while (i < ATH_COUNT(cases) &&
               strcmp(cases[i].code, ath_gpu_deduction_code((enum ath_gpu_deduction)row)) != 0)
            i++;
        ck_assert_msg(i < ATH_COUNT(cases), "%d", row);
    }
}

TEST(adds_up_and_ends_at_0)
{
    struct ath_gpu_facts facts = sound();
    struct ath_gpu_health health;

    facts.rows_pending = 1;
    facts.pcie_gen = 3;
    facts.throttle_reasons = 0x40 | 0x80;
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 100 - 20 - 10 - 30 - 20);
    ck_assert_uint_eq(health.deduction_count, 4);
    ck_assert_int_eq(health.deductions[0], ATH_GPU_DEDUCT_HW_THERMAL);
    ck_assert_int_eq(health.deductions[1], ATH_GPU_DEDUCT_ROWS_PENDING);
    ck_assert_int_eq(health.deductions[2], ATH_GPU_DEDUCT_POWER_BRAKE);
    ck_assert_int_eq(health.deductions[3], ATH_GPU_DEDUCT_PCIE_SLOW);
    facts.ecc_uncorrected_before = 7;
    facts.temperature_c = 90;
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 0);
    facts.driver = ATH_GPU_DRIVER_SILENT;
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 0);
    ck_assert_uint_eq(health.deduction_count, 7);
}

/* No row may hold because a fact is unknown, or because the GPU does not have it. */
TEST(takes_nothing_for_what_is_unknown)
{
    static const int64_t lacks[] = { ATH_UNKNOWN, ATH_GPU_NO_FACT };

    for (size_t offset = AT(driver); offset < sizeof(struct ath_gpu_facts);
         offset += sizeof(int64_t))
        for (size_t i = 0; i < ATH_COUNT(lacks); i++) {
            struct ath_gpu_facts facts = sound();
            struct ath_gpu_health health;
            *member(&facts, offset) = lacks[i];
            ath_gpu_health_judge(&facts, &health);
            ck_assert_msg(health.score == 100, "%zu: %d", offset, health.score);
        }
}

TEST(knows_no_score_without_answers)
{
    struct ath_gpu_facts facts;
    struct ath_gpu_health health;

    ath_gpu_facts_init(&facts);
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, ATH_UNKNOWN);
    facts.driver = ATH_GPU_DRIVER_RUNS; /* a driver that runs says nothing about the GPU */
    ath_xid_none(&facts);
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, ATH_UNKNOWN);
    ath_xid_count(&facts, 79);
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 40);
    ath_gpu_facts_init(&facts);
    facts.has_answers = true;
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 100);
}

/* Returns the names of unknown groups, separated by blanks. */
static char *unknown_of(const struct ath_gpu_facts *facts)
{
    char *names = ath_xstrdup("");
    size_t place = 0;

    for (const char *name; (name = ath_gpu_next_unknown(facts, &place));) {
        char *longer = ath_xasprintf("%s%s%s", names, *names ? " " : "", name);
        free(names);
        names = longer;
    }
    return names;
}

TEST(names_what_is_unknown)
{
    struct ath_gpu_facts facts = sound();
    ath_auto_free char *none = unknown_of(&facts);
    ck_assert_str_eq(none, "");
    facts.ecc_uncorrected = ATH_UNKNOWN;
    facts.pages_retired = ATH_GPU_NO_FACT;
    facts.pcie_gen = ATH_UNKNOWN;
    ath_auto_free char *some = unknown_of(&facts);
    ck_assert_str_eq(some, "ecc pcie_generation");
    ath_gpu_facts_init(&facts);
    ath_auto_free char *all = unknown_of(&facts);
    ck_assert_str_eq(all, "driver recovery xids remapped_rows retired_pages ecc throttling "
                          "temperature nvlinks pcie_width pcie_generation");
}

TEST(says_each_recovery_in_words)
{
    static const char *const words[] = { "reset the GPU", "restart the machine",
                                         "end the programs that use memory of other GPUs",
                                         "let the programs end, then reset the GPU", "?" };
    for (size_t i = 0; i < ATH_COUNT(words); i++) {
        struct ath_gpu_facts facts = sound();
        facts.recovery = (int64_t)i + 1;
        ath_auto_free char *text = ath_gpu_deduction_message(ATH_GPU_DEDUCT_RECOVERY, &facts, "G");
        ath_auto_free char *end = ath_xasprintf(": %s", words[i]);
        ck_assert_msg(strlen(text) > strlen(end) && !strcmp(text + strlen(text) - strlen(end), end),
                      "%s", text);
    }
}

/* ---- Xids ---- */

TEST(counts_xids_by_kind)
{
    static const int numbers[] = { 13, 79, 48, 31, 94, 63, 43, 45, 999, 119 };
    struct ath_gpu_facts facts = sound();
    struct ath_gpu_health health;

    facts.xids_fatal = facts.newest_fatal_xid = ATH_UNKNOWN;
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        ath_xid_count(&facts, numbers[i]);
    ck_assert_int_eq(facts.xids_fatal, 3);
    ck_assert_int_eq(facts.newest_fatal_xid, 119);
    ck_assert_int_eq(facts.xids_memory, 2);
    ck_assert_int_eq(facts.newest_memory_xid, 63);
    ck_assert_int_eq(facts.xids_unlisted, 1);
    ck_assert_int_eq(facts.newest_unlisted_xid, 999);
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 100 - 60 - 20 - 5);
    ath_auto_free char *text = ath_gpu_deduction_message(health.deductions[0], &facts, "G");
    ck_assert_str_eq(text, "the kernel log has errors that stopped GPU 'G': 3, the newest is Xid "
                           "119 (the GPU's system processor gives no answer)");
    ath_xid_none(&facts);
    ck_assert_int_eq(facts.xids_fatal, 3);
}

TEST(takes_nothing_for_xids_of_programs)
{
    static const int numbers[] = { 8, 13, 25, 31, 32, 43, 45, 68, 69, 137 };
    struct ath_gpu_facts facts = sound();
    struct ath_gpu_health health;

    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        ath_xid_count(&facts, numbers[i]);
    ath_gpu_health_judge(&facts, &health);
    ck_assert_int_eq(health.score, 100);
}

TEST(knows_the_kinds_of_xids)
{
    static const int fatal[] = { 46, 48, 54, 62, 64, 74, 79, 95, 109, 119, 120, 140, 143 };
    static const int memory[] = { 63, 92, 94 };

    for (size_t i = 0; i < ATH_COUNT(fatal); i++)
        ck_assert_msg(ath_xid_kind(fatal[i]) == ATH_XID_FATAL, "%d", fatal[i]);
    for (size_t i = 0; i < ATH_COUNT(memory); i++)
        ck_assert_msg(ath_xid_kind(memory[i]) == ATH_XID_MEMORY, "%d", memory[i]);
    ck_assert_int_eq(ath_xid_kind(7), ATH_XID_UNLISTED);
    ck_assert_str_eq(ath_xid_meaning(79), "the GPU has fallen off the bus");
    ck_assert_str_eq(ath_xid_meaning(7), "?");
}

static void expect_line(const char *line, uint32_t domain, int bus, int number, int64_t time_us)
{
    struct ath_xid_line xid;
    int64_t time;

    ck_assert_msg(ath_xid_parse(line, &xid, &time), "%s", line);
    ck_assert_uint_eq(xid.pci.domain, domain);
    ck_assert_int_eq(xid.pci.bus, bus);
    ck_assert_int_eq(xid.pci.function, 0);
    ck_assert_int_eq(xid.number, number);
    ck_assert_int_eq(time, time_us);
}

TEST(reads_lines_of_the_kernel_log)
{
    expect_line("3,1234,56789000,-;NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', GPU has fallen "
                "off the bus.",
                0, 0x17, 79, 56789000);
    expect_line("3,1,5,-,caller=T17;NVRM: Xid (PCI:0004:04:00): 48, x", 4, 4, 48, 5);
    expect_line("[   12.345678] NVRM: Xid (PCI:0035:03:00): 31, x", 0x35, 3, 31, 12345678);
    expect_line("[   12.345678] [ T1234] NVRM: Xid (PCI:0035:03:00): 31, x", 0x35, 3, 31, 12345678);
    expect_line("[Fri Nov 27 08:00:00 2026] NVRM: Xid (PCI:0000:17:00): 13, x", 0, 0x17, 13,
                ATH_UNKNOWN);
    expect_line("[1.000001] NVRM: Xid (0000:17:00): 13, an old driver", 0, 0x17, 13, 1000001);
    expect_line("[1.000001] NVRM: Xid (PCI:0000:17:00 GPU-I:05): 94, MIG", 0, 0x17, 94, 1000001);
    expect_line("[1.000001] NVRM: Xid (PCI:0000:17:00.0): 94, x", 0, 0x17, 94, 1000001);
}

/* Names of programs are part of the kernel's lines, and root may write lines of its own. */
TEST(ignores_what_is_no_xid_of_the_kernel)
{
    static const char *const lines[] = {
        "",
        "x",
        "[",
        "]",
        "3,1,5,-",
        "3,1,5,-;",
        "3,1,5,-;NVRM: loading",
        "[1.0] NVRM: Xid",
        "[1.0] NVRM: Xid (PCI:0000:17:00): , x",
        "[1.0] NVRM: Xid (PCI:0000:17:00): -3, x",
        "[1.0] NVRM: Xid (PCI:zz:17:00): 79, x",
        "[1.0] NVRM: Xid (PCI:): 79, x",
        "[1.0] NVRM: Xid (PCI:00000000000000000000000000:17:00): 79, x",
        "[1.0] x: segfault in NVRM: Xid (PCI:0000:17:00): 79, x",
        "3,1,5,-;audit: comm=\"NVRM: Xid (PCI:0000:17:00): 79,\"",
        "12,1,5,-;NVRM: Xid (PCI:0000:17:00): 79, a process wrote this",
        " SUBSYSTEM=pci",
        "NVRM: Xid (PCI:0000:17:00): 79, no form",
    };
    struct ath_xid_line xid;
    int64_t time;

    for (size_t i = 0; i < ATH_COUNT(lines); i++)
        ck_assert_msg(!ath_xid_parse(lines[i], &xid, &time), "%s", lines[i]);
}
