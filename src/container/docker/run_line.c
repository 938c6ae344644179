/* Turns request bodies into `docker run` lines, by a table of the fields. */
#include "config.h"

#include "container/docker/run_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/root.h"
#include "container/docker/body.h"
#include "roce/macvlan.h"

void ath_shell_quote(struct ath_text *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "@%+=:,./_-";

    if (*word && !word[strspn(word, plain)]) {
        ath_text_add(out, "%s", word);
        return;
    }
    ath_text_add(out, "'");
    for (; *word; word++)
        ath_text_add(out, *word == '\'' ? "'\\''" : "%c", *word);
    ath_text_add(out, "'");
}

static void add_word(struct ath_text *out, const char *word)
{
    ath_text_add(out, " ");
    ath_shell_quote(out, word);
}

/* Adds " \", a new line and "--name value". value is taken over; NULL: no value. */
static void add_option(struct ath_text *out, const char *name, char *value)
{
    ath_auto_free char *owned = value;
    ath_text_add(out, " \\\n    %s", name);
    if (owned)
        add_word(out, owned);
}

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* --- functions that turn a field into options; the table gives the option's name */

/* An empty text is Docker's default. */
static void one_text(struct ath_text *out, const char *option, const json_t *value)
{
    if (*json_string_value(value))
        add_option(out, option, ath_xstrdup(json_string_value(value)));
}

static void one_number(struct ath_text *out, const char *option, const json_t *value)
{
    add_option(out, option, ath_xasprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value)));
}

static void flag(struct ath_text *out, const char *option, const json_t *value)
{
    if (json_is_true(value))
        add_option(out, option, NULL);
}

static void each_text(struct ath_text *out, const char *option, const json_t *value)
{
    size_t index;
    json_t *text;
    json_array_foreach(value, index, text)
    {
        one_text(out, option, text);
    }
}

/* {"a": "b"} as "a=b" for labels, "a:b" for tmpfs. */
static void each_pair(struct ath_text *out, const char *option, const json_t *value, char separator)
{
    const char *key;
    json_t *text;
    json_object_foreach((json_t *)value, key, text)
    {
        add_option(out, option, ath_xasprintf("%s%c%s", key, separator, json_string_value(text)));
    }
}

static void labels(struct ath_text *out, const char *option, const json_t *value)
{
    each_pair(out, option, value, '=');
}

static void tmpfs(struct ath_text *out, const char *option, const json_t *value)
{
    each_pair(out, option, value, ':');
}

static void ports(struct ath_text *out, const char *option, const json_t *value)
{
    const char *key;
    json_t *bindings, *one;
    size_t index;

    json_object_foreach((json_t *)value, key, bindings)
    {
        json_array_foreach(bindings, index, one)
        {
            const char *address = text_in(one, "HostIp");
            add_option(out, option,
                       ath_xasprintf(strchr(address, ':') ? "[%s]:%s:%s" : "%s:%s:%s", address,
                                     text_in(one, "HostPort"), key));
        }
    }
}

static void devices(struct ath_text *out, const char *option, const json_t *value)
{
    size_t index;
    json_t *device;
    json_array_foreach(value, index, device)
    {
        add_option(out, option,
                   ath_xasprintf("%s:%s:%s", text_in(device, "PathOnHost"),
                                 text_in(device, "PathInContainer"),
                                 text_in(device, "CgroupPermissions")));
    }
}

/* CDI names become --device; others --gpus '"device=A,B"', a CSV field that contains commas. */
static void device_requests(struct ath_text *out, const char *option, const json_t *value)
{
    size_t index, position;
    json_t *request, *id;

    json_array_foreach(value, index, request)
    {
        bool is_cdi = !strcmp(text_in(request, "Driver"), "cdi");
        struct ath_text ids = { 0 };
        json_array_foreach(json_object_get(request, "DeviceIDs"), position, id)
        {
            if (is_cdi)
                one_text(out, "--device", id);
            else
                ath_text_add_part(&ids, ",", "%s", json_string_value(id));
        }
        ath_auto_free char *list = ath_text_take(&ids);
        if (!is_cdi)
            add_option(out, option, ath_xasprintf("\"device=%s\",driver=nvidia", list));
    }
}

/* Adds a field of --mount, which is CSV (RFC 4180): a field with a comma or a quote is quoted. */
static void add_csv(struct ath_text *out, const char *key, const char *value)
{
    bool is_quoted = strpbrk(value, ",\"\n") != NULL;

    ath_text_add(out, is_quoted ? ",\"%s=" : ",%s=", key);
    for (; *value; value++)
        ath_text_add(out, is_quoted && *value == '"' ? "\"\"" : "%c", *value);
    ath_text_add(out, "%s", is_quoted ? "\"" : "");
}

static void mounts(struct ath_text *out, const char *option, const json_t *value)
{
    size_t index;
    json_t *mount;

    json_array_foreach(value, index, mount)
    {
        struct ath_text text = { 0 };
        ath_text_add(&text, "type=%s", text_in(mount, "Type"));
        add_csv(&text, "source", text_in(mount, "Source"));
        add_csv(&text, "target", text_in(mount, "Target"));
        if (json_is_true(json_object_get(mount, "ReadOnly")))
            ath_text_add(&text, ",readonly");
        add_option(out, option, ath_text_take(&text));
    }
}

static void ulimits(struct ath_text *out, const char *option, const json_t *value)
{
    size_t index;
    json_t *limit;
    json_array_foreach(value, index, limit)
    {
        add_option(out, option,
                   ath_xasprintf("%s=%" JSON_INTEGER_FORMAT ":%" JSON_INTEGER_FORMAT,
                                 text_in(limit, "Name"),
                                 json_integer_value(json_object_get(limit, "Soft")),
                                 json_integer_value(json_object_get(limit, "Hard"))));
    }
}

static void log_options(struct ath_text *out, const char *option, const json_t *value)
{
    each_pair(out, option, json_object_get(value, "Config"), '=');
}

static void restart(struct ath_text *out, const char *option, const json_t *value)
{
    add_option(out, option, ath_xstrdup(text_in(value, "Name")));
}

static void health(struct ath_text *out, const char *option, const json_t *value)
{
    static const struct {
        const char *field, *option;
    } times[] = { { "Interval", "--health-interval" },
                  { "Timeout", "--health-timeout" },
                  { "StartPeriod", "--health-start-period" } };
    (void)option;

    if (!strcmp(json_string_value(json_array_get(json_object_get(value, "Test"), 0)), "NONE")) {
        add_option(out, "--no-healthcheck", NULL);
        return;
    }
    for (size_t i = 0; i < ATH_COUNT(times); i++)
        add_option(
            out, times[i].option,
            ath_xasprintf("%" JSON_INTEGER_FORMAT "s",
                          json_integer_value(json_object_get(value, times[i].field)) / 1000000000));
    one_number(out, "--health-retries", json_object_get(value, "Retries"));
}

static void elsewhere(struct ath_text *out, const char *option, const json_t *value)
{
    (void)out, (void)option, (void)value;
}

static void entrypoint(struct ath_text *out, const char *option, const json_t *value)
{
    one_text(out, option, json_array_get(value, 0));
}

struct field {
    const char *name, *option;
    void (*add)(struct ath_text *out, const char *option, const json_t *value);
};

/* In the order of the options in the line. */
static const struct field host_fields[] = {
    { "NetworkMode", "--network", one_text },
    { "PortBindings", "-p", ports },
    { "CpusetCpus", "--cpuset-cpus", one_text },
    { "CpusetMems", "--cpuset-mems", one_text },
    { "Memory", "--memory", one_number },
    { "MemorySwap", "--memory-swap", one_number },
    { "PidsLimit", "--pids-limit", one_number },
    { "ShmSize", "--shm-size", one_number },
    { "Ulimits", "--ulimit", ulimits },
    { "CapDrop", "--cap-drop", each_text },
    { "CapAdd", "--cap-add", each_text },
    { "SecurityOpt", "--security-opt", each_text },
    { "ReadonlyRootfs", "--read-only", flag },
    { "Tmpfs", "--tmpfs", tmpfs },
    { "LogConfig", "--log-opt", log_options },
    { "Runtime", "--runtime", one_text },
    { "DeviceRequests", "--gpus", device_requests },
    { "Devices", "--device", devices },
    { "Mounts", "--mount", mounts },
    { "RestartPolicy", "--restart", restart },
};

static const struct field fields[] = {
    { "Hostname", "--hostname", one_text },
    { "HostConfig", NULL, elsewhere }, /* add_fields() adds host_fields */
    { "User", "--user", one_text },
    { "Env", "-e", each_text },
    { "Labels", "--label", labels },
    { "Healthcheck", NULL, health },
    { "StopTimeout", "--stop-timeout", one_number },
    { "Entrypoint", "--entrypoint", entrypoint },
    { "ExposedPorts", NULL, elsewhere }, /* -p exposes them */
    { "Image", NULL, elsewhere },        /* after all options */
    { "Cmd", NULL, elsewhere },
};

/* Returns the first field of object that the table lacks, or NULL. */
static const char *unknown_field(const json_t *object, const struct field *table, size_t count)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (i < count && strcmp(table[i].name, key) != 0)
            i++;
        if (i == count)
            return key;
    }
    return NULL;
}

static void add_fields(struct ath_text *out, const json_t *object, const struct field *table,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, table[i].name);
        if (!value)
            continue;
        table[i].add(out, table[i].option, value);
        if (!strcmp(table[i].name, "HostConfig"))
            add_fields(out, value, host_fields, ATH_COUNT(host_fields));
    }
}

char *ath_run_line(const char *name, const json_t *body, const char **out_field)
{
    struct ath_text text = { 0 };
    const json_t *host = json_object_get(body, "HostConfig");
    size_t index;
    json_t *word;

    const char *unknown = unknown_field(body, fields, ATH_COUNT(fields));
    if (!unknown)
        unknown = unknown_field(host, host_fields, ATH_COUNT(host_fields));
    if (unknown) {
        *out_field = unknown;
        return NULL;
    }
    ath_text_add(&text, "docker run -d --pull=never");
    add_option(&text, "--name", ath_xstrdup(name));
    add_fields(&text, body, fields, ATH_COUNT(fields));
    add_option(&text, text_in(body, "Image"), NULL);
    json_array_foreach(json_object_get(body, "Cmd"), index, word)
    {
        add_word(&text, json_string_value(word));
    }
    return ath_text_take(&text);
}

/* --- commands other than docker run */

struct lines {
    char **items;
    size_t count;
};

static void add_line(struct lines *lines, char *line)
{
    *(char **)ath_push(&lines->items, &lines->count, sizeof *lines->items) = line;
}

static void add_container(struct lines *lines, const struct ath_plan *plan,
                          const struct ath_plan_node *node, enum ath_docker_role role)
{
    const char *unknown;
    json_t *body = ath_docker_body(node, plan->image, role);
    char *line = body ? ath_run_line(ath_docker_name(node, role), body, &unknown) : NULL;

    if (line)
        add_line(lines, line);
    json_decref(body);
}

/* Uses ip(8): makes the link with its final name directly in the namespace. where: the argument of
 * "netns"; inside: the command that runs another command in the namespace. */
static void add_macvlan(struct lines *lines, const struct ath_plan_macvlan *macvlan,
                        const char *where, const char *inside)
{
    ath_auto_free char *mtu =
        macvlan->mtu == ATH_UNKNOWN ? ath_xstrdup("") : ath_xasprintf(" mtu %d", macvlan->mtu);
    struct ath_text name = { 0 }, parent = { 0 };
    ath_shell_quote(&name, macvlan->name);
    ath_shell_quote(&parent, macvlan->parent);
    ath_auto_free char *link = ath_text_take(&name), *below = ath_text_take(&parent);

    add_line(lines, ath_xasprintf("ip link add %s link %s netns %s%s type macvlan mode %s", link,
                                  below, where, mtu, ath_macvlan_mode_word(macvlan->mode)));
    ath_auto_free char *alias = ath_macvlan_alias(macvlan->name);
    add_line(lines, ath_xasprintf("%s ip link set %s alias %s", inside, link, alias));
    if (macvlan->address)
        add_line(lines,
                 ath_xasprintf("%s ip address add %s dev %s", inside, macvlan->address, link));
    add_line(lines, ath_xasprintf("%s ip link set %s up", inside, link));
}

static void add_pause_macvlans(struct lines *lines, const struct ath_plan_node *node)
{
    ath_auto_free char *pid =
        ath_xasprintf("\"$(docker inspect --format '{{.State.Pid}}' %s)\"", node->pause_name);
    ath_auto_free char *inside = ath_xasprintf("nsenter -n -t %s", pid);

    for (size_t i = 0; i < node->macvlan_count; i++)
        add_macvlan(lines, &node->macvlans[i], pid, inside);
}

/* The namespace that `roce macvlan` makes for the first macvlan holds all of them. */
static char *namespace_of(const struct ath_plan_node *node)
{
    return ath_xasprintf("aitherion-%s", node->macvlans[0].name);
}

static void add_namespace(struct lines *lines, const struct ath_plan_node *node)
{
    ath_auto_free char *name = namespace_of(node);
    ath_auto_free char *inside = ath_xasprintf("ip netns exec %s", name);

    add_line(lines, ath_xasprintf("ip netns add %s", name));
    /* This alias marks the namespace as aitherion's. */
    add_line(lines, ath_xasprintf("%s ip link set lo up alias aitherion:%s", inside,
                                  node->macvlans[0].name));
    for (size_t i = 0; i < node->macvlan_count; i++)
        add_macvlan(lines, &node->macvlans[i], name, inside);
}

static void add_variable(struct ath_text *out, const struct ath_plan_pair *variable)
{
    ath_auto_free char *word = ath_xasprintf("%s=%s", variable->name, variable->value);
    ath_text_add(out, " \\\n    ");
    ath_shell_quote(out, word);
}

static void add_process(struct lines *lines, const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    if (node->network == ATH_PLAN_NAMESPACE) {
        ath_auto_free char *name = namespace_of(node);
        ath_text_add(&text, "ip netns exec %s ", name);
    }
    ath_text_add(&text, "env");
    for (size_t i = 0; i < node->environment.count; i++)
        add_variable(&text, &node->environment.items[i]);
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    ath_auto_free char *nodes = ath_idset_format(&node->memory_nodes);
    ath_text_add(&text, " \\\n    numactl --physcpubind=%s --membind=%s --", cpus, nodes);
    for (size_t i = 0; i < node->command.count; i++)
        add_word(&text, node->command.items[i]);
    add_line(lines, ath_text_take(&text));
}

static void add_rows(struct lines *lines, const char *folder, const char *rows)
{
    struct ath_text text = { 0 };
    ath_text_add(&text, "printf '%%s\\n'");
    for (const char *row = rows, *end; (end = strchr(row, '\n')); row = end + 1) {
        ath_auto_free char *word = ath_xasprintf("%.*s", (int)(end - row), row);
        ath_text_add(&text, " \\\n    ");
        ath_shell_quote(&text, word);
    }
    ath_text_add(&text, " >%s/identities", folder);
    add_line(lines, ath_text_take(&text));
}

/* Docker binds these into the container, so they must exist before it. */
static void add_files(struct lines *lines, const struct ath_plan_node *node, const char *rows)
{
    struct ath_text folder = { 0 }, key = { 0 };

    ath_shell_quote(&folder, node->folder);
    ath_shell_quote(&key, node->key_path);
    ath_auto_free char *in = ath_text_take(&folder), *file = ath_text_take(&key);
    add_line(lines, ath_xasprintf("mkdir -p %s \"$(dirname %s)\"", in, file));
    if (node->user) /* the user makes the socket there */
        add_line(lines, ath_xasprintf("chown %s %s", node->user, in));
    if (*rows)
        add_rows(lines, in, rows);
    add_line(lines,
             ath_xasprintf("[ -s %s ] || (umask 077 && head -c 32 /dev/urandom >%s)", file, file));
}

void ath_run_lines(const struct ath_plan *plan, const struct ath_plan_node *node, const char *rows,
                   char ***out, size_t *out_count)
{
    struct lines lines = { 0 };

    add_files(&lines, node, rows);
    if (plan->is_process) {
        if (node->network == ATH_PLAN_NAMESPACE)
            add_namespace(&lines, node);
        add_process(&lines, node);
    } else {
        add_container(&lines, plan, node, ATH_DOCKER_PAUSE);
        if (node->network == ATH_PLAN_PAUSE)
            add_pause_macvlans(&lines, node);
        add_container(&lines, plan, node, ATH_DOCKER_RUNTIME);
    }
    *out = lines.items;
    *out_count = lines.count;
}
