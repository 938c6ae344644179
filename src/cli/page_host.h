/*
 * The facts of this machine for a page of several runtimes (watch/page.h): counts of its network
 * ports, measured copies between its GPUs, and what they make of an all-reduce.
 */
#pragma once
#include "cli/cli.h"
#include "cli/top/host_counts.h"
#include "watch/page.h"

/* Owns its members. */
struct ath_page_host {
    const struct ath_cli *cli; /* not owned */
    struct ath_machine machine;
    struct ath_root root;
    struct ath_host_counts counts;
    int64_t measured_at; /* ath_measured_stamp() of the figures that the machine has */
    struct ath_watch_port *ports;
    struct ath_watch_copies *copies;
    char (*addresses)[ATH_PCI_TEXT]; /* of the GPUs */
    struct ath_watch_host facts;     /* its lists are those above */
};

/* Reads the machine. Called before the process makes threads: the driver is asked in a process that
 * is forked. A machine that cannot be read has no facts. */
void ath_page_host_open(const struct ath_cli *cli, struct ath_page_host *out);
void ath_page_host_free(struct ath_page_host *host);

/* Reads the counts again, and the measured figures if their file has changed. Sets the facts, which
 * stay until the next call. */
void ath_page_host_read(struct ath_page_host *host);
