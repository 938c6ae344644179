/* Writes the logs of the simulated compiler and linker. */
#include "config.h"

#include "sim/jit_log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sim_jit_logs sim_jit_logs_of(const CUjit_option *options, void **values, unsigned int count)
{
    struct sim_jit_logs logs = { 0 };
    for (unsigned int i = 0; i < count; i++)
        switch ((int)options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            logs.info.text = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            logs.info.room = (uint32_t)(uintptr_t)values[i];
            logs.info.filled = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            logs.error.text = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            logs.error.room = (uint32_t)(uintptr_t)values[i];
            logs.error.filled = &values[i];
            break;
        case CU_JIT_LOG_VERBOSE:
            logs.is_verbose = values[i] != NULL;
            break;
        case CU_JIT_WALL_TIME:
            logs.wall_time = &values[i];
            break;
        default:
            break;
        }
    return logs;
}

void sim_jit_say(struct sim_jit_log *log, const char *format, ...)
{
    va_list arguments;
    size_t left = log->room - log->length;
    if (!log->text || left < 2)
        return;
    va_start(arguments, format);
    int wanted = vsnprintf(log->text + log->length, left - 1, format, arguments);
    va_end(arguments);
    if (wanted < 0)
        return;
    log->length += (size_t)wanted < left - 2 ? (size_t)wanted : left - 2;
    memcpy(log->text + log->length, "\n", 2);
    log->length++;
    if (log->filled)
        *log->filled = (void *)log->length;
}

void sim_jit_took(const struct sim_jit_logs *logs, float ms)
{
    if (!logs->wall_time)
        return;
    *logs->wall_time = NULL;
    memcpy(logs->wall_time, &ms, sizeof ms);
}

void sim_jit_loaded(struct sim_jit_logs *logs, CUresult status)
{
    if (status)
        sim_jit_say(&logs->error, "fatal   : the image cannot be loaded (error %d)", (int)status);
    else if (logs->is_verbose)
        sim_jit_say(&logs->info, "info    : the image is compiled");
    sim_jit_took(logs, 0.25f);
}
