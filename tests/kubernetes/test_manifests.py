#!/usr/bin/env python3
"""aitherion kubernetes manifests: whole and consistent objects, options that the commands have, a certificate that a client accepts, and rights:
each part is allowed the requests that it makes, and the agent no others."""
import base64
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import apiserver  # noqa: E402
import harness  # noqa: E402
from test_scheduler import Extender, kubeconfig  # noqa: E402
from test_webhook import SEED_003, Webhook  # noqa: E402

WORDS = ("--image", "registry/aitherion:1", "--kubernetes", "1.34.1")
# An action on a resource of the API server, by the method and the form of the path.
FORM = re.compile(r"/(?:api|apis/(?P<group>[^/]+))/[^/]+(?:/namespaces/[^/]+(?=/))?/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?$")


def objects(*words):
    result = harness.run("kubernetes", "manifests", "--json", *WORDS, *words)
    if result.returncode:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)["items"]


def walk(value, path=()):
    yield path, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from walk(child, (*path, key))
    elif isinstance(value, list):
        for i, child in enumerate(value):
            yield from walk(child, (*path, i))


def pods(items):
    return {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in items if item["kind"] in ("DaemonSet", "Deployment")}


def named(items, kind, name, space=None):
    return next((item for item in items if item["kind"] == kind and item["metadata"]["name"] == name and item["metadata"].get("namespace") == space), None)


def action(method, path):
    """Returns (group, resource, verb) of a request, as RBAC has them."""
    url = urllib.parse.urlsplit(path)
    query = urllib.parse.parse_qs(url.query)
    form = FORM.match(url.path)
    verb = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}.get(method)
    if method == "GET":
        verb = "get" if form["name"] else "watch" if "watch" in query else "list"
    return form["group"] or "", form["resource"] + ("/" + form["sub"] if form["sub"] else ""), verb


def rights(items, *roles):
    return {(group, resource, verb) for item in items if item["kind"] in ("ClusterRole", "Role") and item["metadata"]["name"] in roles
            for rule in item["rules"] for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def faults_of(schema, value, path="status"):
    """The part of OpenAPI that our kinds use. Unknown members are faults too, since the API server drops them."""
    if value is None:
        return [] if schema.get("nullable") else [f"{path} is null"]
    kinds = {"object": dict, "array": list, "string": str, "integer": int}
    if not isinstance(value, kinds[schema["type"]]):
        return [f"{path} is no {schema['type']}"]
    if schema["type"] == "object":
        faults = [f"{path}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, child in value.items():
            faults += faults_of(schema["properties"][key], child, f"{path}.{key}") if key in schema["properties"] else [f"{path}.{key} is unknown"]
        return faults
    if schema["type"] == "array":
        faults = [] if schema.get("minItems", 0) <= len(value) <= schema["maxItems"] else [f"{path} has {len(value)} items"]
        return faults + [fault for i, child in enumerate(value) for fault in faults_of(schema["items"], child, f"{path}[{i}]")]
    size = len(value) if schema["type"] == "string" else value
    least, most = (schema.get(name, default) for name, default in
                   ((("minLength", 0), ("maxLength", 0)) if schema["type"] == "string" else (("minimum", 0), ("maximum", 2**63))))
    return [] if least <= size <= most else [f"{path} is {value}"]


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.items = objects()

    def test_each_has_its_own_name(self):
        names = [(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in self.items]
        self.assertEqual(len(names), len(set(names)))

    def test_no_word_is_left(self):
        left = [path for path, value in walk(self.items) if isinstance(value, str) and re.search(r"@[A-Z_]+@", value)]
        self.assertEqual(left, [])

    def test_the_namespace_is_everywhere(self):
        mine = objects("--namespace", "gpus")
        self.assertNotIn("aitherion", {value for path, value in walk(mine) if path and path[-1] == "namespace"})
        self.assertEqual(mine[0]["metadata"]["name"], "gpus")
        for item in mine:
            if item["kind"] not in ("Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration",
                                    "ValidatingWebhookConfiguration"):
                self.assertIn(item["metadata"]["namespace"], ("gpus", "kube-system"), item)
        words = [word for _, word in walk(pods(mine)) if isinstance(word, str)]
        self.assertIn("system:serviceaccount:gpus:aitherion-scheduler", words)
        self.assertIn("gpus/aitherion-extender", words)

    def test_names_that_objects_refer_to(self):
        for name, pod in pods(self.items).items():
            with self.subTest(pod=name):
                if "serviceAccountName" in pod:
                    self.assertIsNotNone(named(self.items, "ServiceAccount", pod["serviceAccountName"], "aitherion"))
                volumes = {volume["name"] for volume in pod.get("volumes", [])}
                for volume in pod.get("volumes", []):
                    if "configMap" in volume:
                        self.assertIsNotNone(named(self.items, "ConfigMap", volume["configMap"]["name"], "aitherion"))
                    if "secret" in volume and volume["secret"]["secretName"] != "aitherion-key":  # the admin makes that one
                        self.assertIsNotNone(named(self.items, "Secret", volume["secret"]["secretName"], "aitherion"))
                self.assertEqual({mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", [])}, volumes)
        for item in self.items:
            if item["kind"].endswith("RoleBinding") and not item["roleRef"]["name"].startswith(("system:", "extension-")):
                self.assertIsNotNone(named(self.items, item["roleRef"]["kind"], item["roleRef"]["name"], item["metadata"].get("namespace")), item)
        for item in self.items:
            for hook in item.get("webhooks", []):
                self.assertIsNotNone(named(self.items, "Service", hook["clientConfig"]["service"]["name"], "aitherion"))

    def test_containers_are_locked(self):
        for name, pod in pods(self.items).items():
            for container in pod["containers"]:
                with self.subTest(pod=name, container=container["name"]):
                    self.assertEqual(container["securityContext"], {"runAsNonRoot": True, "runAsUser": 65534, "allowPrivilegeEscalation": False,
                                                                    "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
                                                                    "seccompProfile": {"type": "RuntimeDefault"}})
            for member in ("hostPID", "hostIPC"):
                self.assertNotIn(member, pod)
            self.assertEqual(pod.get("hostNetwork", False), name == "aitherion-runtime")

    def test_the_commands_have_these_options(self):
        for pod in pods(self.items).values():
            for container in pod["containers"]:
                words = container["command"]
                if not words[0].startswith("aitherion"):
                    continue
                program = os.path.join(harness.build(), words[0])
                command = [word for word in words[1:3 if words[0] == "aitherion" else 2]]
                text = harness.run(command=[program, *command, "--help"]).stdout
                for option in (word for word in words if word.startswith("--")):
                    self.assertRegex(text, rf"(?m)^\s+(-\w, )?{option}\b", words)

    def test_pods_are_asked_about_before_they_go_wrong(self):
        """The webhook is called for the resources that the extender manages, and the scheduler leaves these to the extender."""
        config = named(self.items, "ConfigMap", "aitherion-scheduler", "aitherion")["data"]["config.yaml"]
        for name in ("aitherion.io/gpu", "aitherion.io/gpu-memory", "aitherion.io/gpu-share", "aitherion.io/gpu-tflops", "ai.compute/vram", "ai.compute/tflops-fp16"):
            self.assertIn(f"- {{name: {name}, ignoredByScheduler: true}}", config)
        for item in self.items:
            for hook in item.get("webhooks", []):
                policy = "Ignore" if hook["name"].startswith("status-of-pods.") else "Fail"
                self.assertEqual((hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"]), (policy, "None", 2))
                for condition in hook.get("matchConditions", []):
                    text = re.sub(r"'[^']*'", "", condition["expression"])
                    self.assertEqual(text.count("("), text.count(")"))
        rules = {(resource, operation) for item in self.items if item["kind"] == "ValidatingWebhookConfiguration" for hook in item["webhooks"]
                 for rule in hook["rules"] for resource in rule["resources"] for operation in rule["operations"]}
        self.assertEqual(rules, {("pods", "CREATE"), ("pods", "UPDATE"), ("pods/status", "UPDATE"), ("pods/binding", "CREATE"), ("bindings", "CREATE"),
                                 ("computenodes", "CREATE"), ("computenodes", "UPDATE"), ("computenodes/status", "CREATE"), ("computenodes/status", "UPDATE"),
                                 ("computequotas", "CREATE"), ("computequotas", "UPDATE")})

    def test_yaml_has_the_same_objects(self):
        text = harness.run("kubernetes", "manifests", *WORDS).stdout
        self.assertEqual(text.count("\n---\n"), len(self.items) - 1)
        self.assertEqual(re.findall(r"(?m)^kind: (.*)$", text), [item["kind"] for item in self.items])


class Kinds(unittest.TestCase):
    def test_the_schema_takes_what_agents_publish(self):
        crd = named(objects(), "CustomResourceDefinition", "computenodes.aitherion.io")
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
        for source in (("--root", "ac922-4gpu"), ("--topology", harness.capture("dgx2-16gpu.hwloc2.xml")), ("--root", harness.capture("no-numa"))):
            with self.subTest(source=source):
                result = harness.run("kubernetes", "agent", "--dry-run", "--json", "--node", "n", *source)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(faults_of(schema, json.loads(result.stdout)["status"]), [])


class Certificate(unittest.TestCase):
    def test_a_client_that_trusts_the_bundle_accepts_the_webhook(self):
        items = objects("--namespace", "gpus")
        secret = named(items, "Secret", "aitherion-webhook", "gpus")["data"]
        folder = os.path.join(harness.scratch(), "certificate")
        os.makedirs(folder)
        for name, text in secret.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(base64.b64decode(text))
        web = os.path.join(folder, "web.yaml")
        with open(web, "w", encoding="utf-8") as file:
            file.write(named(items, "ConfigMap", "aitherion-webhook", "gpus")["data"]["web.yaml"].replace("/etc/aitherion-certificate", folder))
        [container] = pods(items)["aitherion-webhook"]["containers"]
        words = [word.replace("/etc/aitherion-webhook/web.yaml", web) for word in container["command"][3:] if word != "0.0.0.0:9443"]
        words.remove("--listen")
        bundles = {hook["clientConfig"]["caBundle"] for item in items for hook in item.get("webhooks", [])}
        [bundle] = bundles
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
        webhook = Webhook(*words, context=context)
        self.addCleanup(webhook.end)
        with socket.create_connection(("127.0.0.1", webhook.port)) as plain, context.wrap_socket(plain, server_hostname="aitherion-webhook.gpus.svc"):
            pass
        for other in ("aitherion-webhook.other.svc", "127.0.0.1"):
            with socket.create_connection(("127.0.0.1", webhook.port)) as plain, self.assertRaises(ssl.SSLCertVerificationError):
                context.wrap_socket(plain, server_hostname=other)
        context.check_hostname = False
        self.assertEqual(webhook.mutated(SEED_003)["spec"]["schedulerName"], "aitherion-scheduler")

    def test_each_run_makes_another_one(self):
        one, two = ({named(items, "Secret", "aitherion-webhook", "aitherion")["data"]["tls.key"],
                     json.dumps(named(items, "Deployment", "aitherion-webhook", "aitherion")["spec"]["template"]["metadata"]["annotations"])}
                    for items in (objects(), objects()))
        self.assertEqual(len(one | two), 4)

    def test_days(self):
        certificate = base64.b64decode(named(objects("--days", "3"), "Secret", "aitherion-webhook", "aitherion")["data"]["tls.crt"])
        result = subprocess.run(["openssl", "x509", "-noout", "-checkend", str(2 * 86400)], input=certificate, stdout=subprocess.DEVNULL, check=False)
        self.assertEqual(result.returncode, 0)
        result = subprocess.run(["openssl", "x509", "-noout", "-checkend", str(4 * 86400)], input=certificate, stdout=subprocess.DEVNULL, check=False)
        self.assertEqual(result.returncode, 1)


class Rights(unittest.TestCase):
    def setUp(self):
        self.cluster = apiserver.Cluster()
        self.server = apiserver.Server(self.cluster)
        self.addCleanup(self.server.close)

    def actions(self):
        with self.cluster.changed:
            return {action(*request) for request in self.cluster.requests}

    def test_the_agent(self):
        self.cluster.put(apiserver.HOSTS, "n1", {"metadata": {"name": "n1", "labels": {}}})
        result = harness.run("kubernetes", "agent", "--once", "--node", "n1", "--root", "ac922-4gpu", "--kubeconfig", kubeconfig(self.server.url))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.actions(), rights(objects(), "aitherion-agent"))

    def test_the_extender(self):
        self.cluster.add_node("n", 2)
        extender = Extender(kubeconfig(self.server.url), "--lease", "aitherion/aitherion-extender")
        self.addCleanup(extender.end)
        harness.wait_until(extender.is_ready)
        pod = self.cluster.add_pod("a", {"aitherion.io/gpu": "1"})
        self.assertTrue(harness.wait_until(lambda: extender.schedule(pod, ["n"]) == ("n", "")))
        allowed = rights(objects(), "aitherion-extender")
        self.assertEqual(self.actions() - allowed, set())
        # A pod that the cache does not have is asked for; a Lease is renewed after five seconds.
        self.assertEqual(allowed - self.actions() - {("", "pods", "get"), ("coordination.k8s.io", "leases", "update")}, set())


class Options(unittest.TestCase):
    def refused(self, *words):
        result = harness.run_soundly("kubernetes", "manifests", *words)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        return result.stderr

    def test_wrong_values(self):
        self.assertIn("'--image' is missing", self.refused("--kubernetes", "1.34.1"))
        self.assertIn("'' is not a value for '--kubernetes'", self.refused("--image", "x"))
        self.assertIn("'v1; x' is not a value", self.refused("--image", "x", "--kubernetes", "v1; x"))
        for space in ("A", "-a", "a-", "a.b", "a" * 41):
            self.assertIn("is not a value for '--namespace'", self.refused(*WORDS, "--namespace", space))
        self.assertIn("'0' is not a value for '--days'", self.refused(*WORDS, "--days", "0"))


if __name__ == "__main__":
    harness.main()
