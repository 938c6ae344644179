/*
 * Giving XML to libhwloc so that it cannot harm us.
 *
 * hwloc trusts its input: 2.9 has asserts in its XML import and lets set sizes follow numbers in
 * the file. So the import is tried in a child with limits first, and only a text that passed there
 * is imported here; the library does the same again, since nothing but the text decides.
 */
#include "config.h"

#include "numa/hwloc_import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/i18n.h"

/* A real machine of 4096 PCI functions takes well under a second and 100 MiB. */
enum { TRIAL_SECONDS = 10 };
static const rlim_t trial_bytes = (rlim_t)4 << 30;

/* AddressSanitizer reserves terabytes of addresses, so that a limit on them would end it at once.
 */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_LIMIT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_LIMIT 0
#else
#define HAS_ADDRESS_LIMIT 1
#endif
#else
#define HAS_ADDRESS_LIMIT 1
#endif

int ath_hwloc_open(struct ath_hwloc *out, struct ath_err *err)
{
    static const char *const names[] = { ATH_HWLOC_FUNCTIONS(ATH_LATE_NAME) NULL };

    return ath_late_load("libhwloc.so.15", "libhwloc15", names, out, err);
}

/* CPUs and nodes that this process may not use belong to the other machine all the same. */
static int load(const struct ath_hwloc *hwloc, const struct ath_text *xml, hwloc_topology_t *out)
{
    hwloc_topology_t topology;

    if (hwloc->hwloc_topology_init(&topology))
        return -ENOMEM;
    if (hwloc->hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
        hwloc->hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
        hwloc->hwloc_topology_set_xmlbuffer(topology, xml->data, (int)xml->length + 1) ||
        hwloc->hwloc_topology_load(topology)) {
        hwloc->hwloc_topology_destroy(topology);
        return -EINVAL;
    }
    *out = topology;
    return 0;
}

/*
 * load() with an environment of its own: a user's HWLOC_COMPONENTS, HWLOC_XMLFILE or
 * HWLOC_THISSYSTEM must not change what a file says. Plugins are left out (the built-in XML parser
 * reads what our pass wrote; OpenCL and GL ones would look for devices of this machine), and the
 * library keeps its complaints for itself.
 */
static int load_undisturbed(const struct ath_hwloc *hwloc, const struct ath_text *xml,
                            hwloc_topology_t *out)
{
    char libxml[] = "HWLOC_LIBXML=0",
         plugins[] = "HWLOC_PLUGINS_PATH=", errors[] = "HWLOC_HIDE_ERRORS=2";
    char *environment[] = { libxml, plugins, errors, NULL };
    char **ours = environ;

    environ = environment;
    int status = load(hwloc, xml, out);
    environ = ours;
    return status;
}

/* What a crash or a hang would print or leave behind is nobody's business. Where a limit in force
 * is lower already, setting it fails, and that one stays. */
static void confine_trial(void)
{
    static const int fatal[] = { SIGALRM, SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGFPE };
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_CPU, &(struct rlimit){ TRIAL_SECONDS, TRIAL_SECONDS });
    if (HAS_ADDRESS_LIMIT)
        setrlimit(RLIMIT_AS, &(struct rlimit){ trial_bytes, trial_bytes });
    alarm(TRIAL_SECONDS);
}

/* The child; tells 'y' or 'n' into the pipe, or dies without a word. */
static _Noreturn void run_trial(const struct ath_hwloc *hwloc, const struct ath_text *xml, int pipe)
{
    hwloc_topology_t topology;

    confine_trial();
    char word = load_undisturbed(hwloc, xml, &topology) ? 'n' : 'y';
    _exit(write(pipe, &word, 1) == 1 ? 0 : 1);
}

/*
 * What the child said, 0 for nothing. The word comes through a pipe and not as the exit status,
 * which nobody gets where SIGCHLD is ignored (a process inherits that).
 */
static char await_trial(pid_t child, int pipe)
{
    char word = 0;
    ssize_t got;

    do
        got = read(pipe, &word, 1);
    while (got < 0 && errno == EINTR);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return got == 1 ? word : 0;
}

static int try_import(const struct ath_hwloc *hwloc, const char *name, const struct ath_text *xml,
                      struct ath_err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return ath_err_system(err, -errno, _("cannot read '%s'"), name);
    ath_auto_close int to_read = ends[0];
    pid_t child = fork();
    if (child == 0)
        run_trial(hwloc, xml, ends[1]);
    int status = child < 0 ? -errno : 0;
    close(ends[1]);
    if (status)
        return ath_err_system(err, status, _("cannot read '%s'"), name);

    switch (await_trial(child, to_read)) {
    case 'y':
        return 0;
    case 'n':
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("'%s' is well-formed, but hwloc does not accept it as a topology"),
                           name);
    default:
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("'%s' made hwloc crash, or take more than %d seconds or 4 GiB"), name,
                           TRIAL_SECONDS);
    }
}

int ath_hwloc_import(const struct ath_hwloc *hwloc, const char *name, const struct ath_text *xml,
                     hwloc_topology_t *out, struct ath_err *err)
{
    if (xml->length >= INT_MAX)
        return ath_err_set(err, -EFBIG, ATH_E_TOPOLOGY_INVALID, _("'%s' is too large"), name);
    int status = try_import(hwloc, name, xml, err);
    if (status)
        return status;
    status = load_undisturbed(hwloc, xml, out);
    return status ? ath_err_system(err, status, _("cannot read '%s'"), name) : 0;
}
