/* The rules of the webhook, each with objects that pass and objects that do not. */
#include "config.h"

#include "kubernetes/guard.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "unit.h"

#define POD(annotations, node, resource)                                                           \
    "{'metadata':{'name':'p','namespace':'s','uid':'1','annotations':{" annotations                \
    "}},'spec':{" node "'containers':[{'name':'a'},{'name':'b','resources':{'limits':{'" resource  \
    "':'1'}}}]}}"
#define ANNOTATED(annotations) "{'metadata':{'name':'p','annotations':{" annotations "}}}"
#define NODE(name) "{'metadata':{'name':'" name "'}}"
#define GPUS "'aitherion.io/gpus':'0'"
#define LAST "'aitherion.io/share-of-each-gpu':'50'"

static const struct {
    const char *operation, *resource, *subresource, *user, *node, *object, *old;
    const char *why; /* NULL: it passes */
} rows[] = {
    /* New pods. */
    { "CREATE", "pods", "", "u", NULL, POD("", "", "aitherion.io/gpu"), NULL, NULL },
    { "CREATE", "pods", "", "u", NULL, POD("'other':'1'", "'nodeName':'n',", "cpu"), NULL, NULL },
    { "CREATE", "pods", "", "u", NULL, POD(GPUS, "", "cpu"), NULL, "'aitherion.io/gpus'" },
    { "CREATE", "pods", "", "binder", NULL, POD(LAST, "", "cpu"), NULL,
      "'aitherion.io/share-of-each-gpu'" },
    { "CREATE", "pods", "", "u", NULL, POD("", "", "aitherion.io/gpus"), NULL,
      "the resource 'aitherion.io/gpus' is not known" },
    { "CREATE", "pods", "", "u", NULL,
      "{'spec':{'containers':[],'initContainers':[{'resources':{'limits':{'aitherion.io/x':'1'}}}]}"
      "}",
      NULL, "the resource 'aitherion.io/x' is not known" },
    { "CREATE", "pods", "", "u", NULL, POD("", "'nodeName':'n',", "aitherion.io/gpu"), NULL,
      "leave out spec.nodeName ('n')" },
    { "CREATE", "pods", "", "u", NULL, "{'spec':{'containers':1}}", NULL,
      "the pod cannot get GPUs" },
    { "DELETE", "pods", "", "u", NULL, POD(GPUS, "", "cpu"), NULL, NULL },
    { "CREATE", "pods", "eviction", "u", NULL, POD(GPUS, "", "cpu"), NULL, NULL },
    /* Changed pods. */
    { "UPDATE", "pods", "", "u", NULL, ANNOTATED(GPUS), ANNOTATED(GPUS), NULL },
    { "UPDATE", "pods", "", "u", NULL, ANNOTATED("'a':'1'"), ANNOTATED("'a':'2'"), NULL },
    { "UPDATE", "pods", "", "u", NULL, ANNOTATED(LAST), ANNOTATED(""), "share-of-each-gpu" },
    { "UPDATE", "pods", "", "u", NULL, ANNOTATED(""), ANNOTATED(LAST), "share-of-each-gpu" },
    { "UPDATE", "pods", "", "binder", NULL, ANNOTATED("'aitherion.io/gpus':'1'"), ANNOTATED(GPUS),
      "'aitherion.io/gpus'" },
    { "UPDATE", "pods", "status", "u", NULL, ANNOTATED(GPUS), ANNOTATED(GPUS), NULL },
    { "UPDATE", "pods", "status", "u", NULL, ANNOTATED(LAST), ANNOTATED(""), "share-of-each-gpu" },
    /* Bindings. */
    { "CREATE", "pods", "binding", "binder", NULL, ANNOTATED(GPUS), NULL, NULL },
    { "CREATE", "pods", "binding", "u", NULL, ANNOTATED(""), NULL, NULL },
    { "CREATE", "pods", "binding", "u", NULL, ANNOTATED(GPUS), NULL, "'aitherion.io/gpus'" },
    { "CREATE", "bindings", "", "u", NULL, ANNOTATED(LAST), NULL, "share-of-each-gpu" },
    /* ComputeNodes. */
    { "CREATE", "computenodes", "", "agent", "n", NODE("n"), NULL, NULL },
    { "UPDATE", "computenodes", "status", "agent", "n", NODE("m"), NULL,
      "the agent of the node 'n' may not write the ComputeNode 'm'" },
    { "CREATE", "computenodes", "", "agent", "n", "{}", NULL, "the ComputeNode ''" },
    { "CREATE", "computenodes", "", "agent", NULL, NODE("m"), NULL, NULL },
    { "CREATE", "computenodes", "", "u", "n", NODE("m"), NULL, NULL },
    /* ComputeQuotas. */
    { "CREATE", "computequotas", "", "u", NULL, "{}", NULL, "" },
    { "CREATE", "computequotas", "status", "u", NULL, "{}", NULL, NULL },
};

/* JSON with ' for " */
static json_t *json_of(const char *text)
{
    ath_auto_free char *copy = ath_xstrdup(text);

    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    json_t *json = copy ? json_loads(copy, 0, NULL) : NULL;
    ck_assert_msg(!text || json, "%s", text);
    return json;
}

static char *ask(const struct ath_kube_guard *guard, size_t row)
{
    json_auto_t *object = json_of(rows[row].object);
    json_auto_t *old = rows[row].old ? json_of(rows[row].old) : NULL;
    json_auto_t *extra =
        rows[row].node
            ? json_pack("{s:[s]}", "authentication.kubernetes.io/node-name", rows[row].node)
            : NULL;
    const struct ath_kube_review review = { .uid = "1",
                                            .operation = rows[row].operation,
                                            .resource = rows[row].resource,
                                            .subresource = rows[row].subresource,
                                            .user = rows[row].user,
                                            .extra = extra,
                                            .object = object,
                                            .old_object = old };
    return ath_kube_guard_check(guard, &review);
}

LOOP_TEST(refuses_what_breaks_a_rule, 0, ATH_COUNT(rows))
{
    const struct ath_kube_guard guard = { .binder = "binder", .agent = "agent" };
    ath_auto_free char *why = ask(&guard, (size_t)_i);

    ck_assert_msg(!rows[_i].why == !why, "row %d: %s", _i, why ? why : "it passes");
    ck_assert_msg(!why || strstr(why, rows[_i].why), "row %d: %s", _i, why);
}

/* Without the name of an extender no user binds with annotations, and without that of the agents
 * all may write ComputeNodes. */
LOOP_TEST(knows_no_users, 0, ATH_COUNT(rows))
{
    const struct ath_kube_guard guard = { 0 };
    ath_auto_free char *why = ask(&guard, (size_t)_i);
    bool is_node = !strcmp(rows[_i].resource, "computenodes");
    bool is_binding = !strcmp(rows[_i].subresource, "binding");

    if (is_node || is_binding)
        ck_assert_int_eq(why != NULL, is_binding && strstr(rows[_i].object, "aitherion.io"));
}
