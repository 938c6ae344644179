#!/usr/bin/env python3
"""aitherion kubernetes webhook: what pods get, what is refused, TLS, hostile bodies and crowds, and a program with the environment of an admitted pod."""
import base64
import copy
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import time
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "tools"), os.path.join(TESTS, "runtime")]

import apiserver  # noqa: E402
import authority  # noqa: E402
import harness  # noqa: E402
import runtime  # noqa: E402
from test_scheduler import Extender, kubeconfig  # noqa: E402

BINDER = "system:serviceaccount:aitherion:aitherion-scheduler"
AGENT = "system:serviceaccount:aitherion:aitherion-agent"
WORDS = ("--image", "registry/aitherion:1", "--scheduler", "aitherion-scheduler", "--binder", BINDER, "--agent", AGENT)
FOLDER = "/var/lib/aitherion-library"
VECTOR_ADD = os.path.join(harness.build(), "examples", "vector_add")
SIMULATED_GPU = "GPU-61697468-6572-696f-6e2d-73696d2d000"

# The request of seed 003's first figure.
SEED_003 = {
    "metadata": {"generateName": "train-", "namespace": "team-a"},
    "spec": {"containers": [{"name": "train", "image": "pytorch/pytorch", "resources": {"limits": {"ai.compute/vram": "16Gi", "ai.compute/tflops-fp16": "100"}}}],
             "schedulerName": "default-scheduler"}}


class Webhook:
    def __init__(self, *words, context=None):
        self.context = context
        self.process = subprocess.Popen([harness.binary(), "kubernetes", "webhook", "--listen", "127.0.0.1:0", *words], env=harness.environment(),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.port = int(line.rsplit(":", 1)[1])

    def ask(self, method, path, body=None):
        kind, more = (http.client.HTTPSConnection, {"context": self.context}) if self.context else (http.client.HTTPConnection, {})
        connection = kind("127.0.0.1", self.port, timeout=harness.PATIENCE_S, **more)
        connection.request(method, path, body=body if body is None or isinstance(body, (bytes, str)) else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def review(self, path, **request):
        request = {"uid": "u-1", "operation": "CREATE", "resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": "team-a",
                   "userInfo": {"username": "alice"}, **request}
        status, text = self.ask("POST", path + "?timeout=2s", {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        if status != 200:
            raise AssertionError(f"{status} {text}")
        answer = json.loads(text)
        response = answer["response"]
        if (answer["apiVersion"], answer["kind"], response["uid"]) != ("admission.k8s.io/v1", "AdmissionReview", "u-1"):
            raise AssertionError(text)
        return response

    def mutated(self, pod):
        response = self.review("/mutate", object=pod)
        if not response["allowed"]:
            raise AssertionError(response)
        return patched(pod, json.loads(base64.b64decode(response["patch"]))) if "patch" in response else pod

    def refusal(self, **request):
        """Returns the reason, or None."""
        response = self.review("/validate", **request)
        return None if response["allowed"] else response["status"]["message"]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(timeout=harness.PATIENCE_S)
        self.process.stdout.close()
        errors = self.process.stderr.read()
        self.process.stderr.close()
        return code, errors


def patched(pod, operations):
    """The part of RFC 6902 that the webhook uses: add to a member of an object."""
    pod = copy.deepcopy(pod)
    for operation in operations:
        if operation["op"] != "add":
            raise AssertionError(operation)
        *path, last = operation["path"].strip("/").split("/")
        target = pod
        for word in path:
            target = target[int(word) if isinstance(target, list) else word.replace("~1", "/").replace("~0", "~")]
        target[last] = operation["value"]
    return pod


def environment_of(container, annotations=None):
    """The variables as kubelet sets them."""
    values = {}
    for variable in container.get("env", []):
        if "value" in variable:
            values[variable["name"]] = variable["value"]
        else:
            name = re.fullmatch(r"metadata\.annotations\['(.*)'\]", variable["valueFrom"]["fieldRef"]["fieldPath"])[1]
            values[variable["name"]] = (annotations or {}).get(name, "")
    return values


class Base(unittest.TestCase):
    def setUp(self):
        self.webhook = Webhook(*WORDS)
        self.addCleanup(self.webhook.end)


class Mutating(Base):
    def test_the_pod_of_seed_003(self):
        pod = self.webhook.mutated(SEED_003)
        spec = pod["spec"]
        self.assertEqual(spec["schedulerName"], "aitherion-scheduler")
        self.assertEqual({volume["name"]: {key: volume[key] for key in volume if key != "name"} for volume in spec["volumes"]},
                         {"aitherion-library": {"emptyDir": {"sizeLimit": "64Mi"}}, "aitherion-key": {"secret": {"secretName": "aitherion-key"}}})
        [first] = spec["initContainers"]
        self.assertEqual((first["image"], first["resources"]["limits"]), ("registry/aitherion:1", first["resources"]["requests"]))
        self.assertTrue(first["securityContext"]["runAsNonRoot"])
        [container] = spec["containers"]
        self.assertEqual(container["resources"], SEED_003["spec"]["containers"][0]["resources"])
        self.assertEqual({mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]},
                         {"aitherion-library": FOLDER, "aitherion-key": "/var/run/secrets/aitherion"})
        annotations = {"aitherion.io/runtime": "10.0.0.1:50051", "aitherion.io/gpus": "GPU-a,GPU-b", "aitherion.io/memory-of-each-gpu": "17179869184"}
        self.assertEqual(environment_of(container, annotations),
                         {"AITHERION_SERVER": "10.0.0.1:50051", "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b", "AITHERION_MEMORY": "17179869184",
                          "AITHERION_SHARE": "", "AITHERION_KEY_FILE": "/var/run/secrets/aitherion/key", "LD_LIBRARY_PATH": FOLDER})

    def test_a_second_time_changes_nothing(self):
        pod = self.webhook.mutated(SEED_003)
        self.assertEqual(self.webhook.mutated(pod), pod)

    def test_only_containers_that_ask_are_changed(self):
        pod = copy.deepcopy(SEED_003)
        pod["spec"]["containers"].append({"name": "log", "env": [{"name": "A", "value": "b"}]})
        pod["spec"]["initContainers"] = [{"name": "load", "resources": {"requests": {"aitherion.io/gpu": "1"}}}, {"name": "wait"}]
        spec = self.webhook.mutated(pod)["spec"]
        self.assertEqual([container["name"] for container in spec["initContainers"]], ["aitherion-library", "load", "wait"])
        self.assertIn("env", spec["initContainers"][1])
        self.assertEqual(spec["initContainers"][2], {"name": "wait"})
        self.assertEqual(spec["containers"][1], pod["spec"]["containers"][1])

    def test_what_a_pod_has_stays(self):
        pod = copy.deepcopy(SEED_003)
        container = pod["spec"]["containers"][0]
        container["env"] = [{"name": "A", "value": "$(AITHERION_SERVER)"}, {"name": "LD_LIBRARY_PATH", "value": "/opt/lib"},
                            {"name": "AITHERION_SERVER", "value": "10.9.9.9:1"}, {"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}, {"name": "aitherion-key", "mountPath": "/elsewhere"}]
        pod["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}, {"name": "aitherion-key", "secret": {"secretName": "of-another-team"}}]
        pod["spec"]["schedulerName"] = "own"
        spec = self.webhook.mutated(pod)["spec"]
        self.assertEqual(spec["schedulerName"], "own")
        self.assertEqual([volume["name"] for volume in spec["volumes"]], ["data", "aitherion-library", "aitherion-key"])
        self.assertEqual(spec["volumes"][2]["secret"]["secretName"], "aitherion-key")
        self.assertEqual([mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]], ["/data", FOLDER, "/var/run/secrets/aitherion"])
        values = environment_of(spec["containers"][0], {"aitherion.io/runtime": "10.0.0.1:50051", "aitherion.io/gpus": "GPU-a"})
        self.assertEqual((values["AITHERION_SERVER"], values["CUDA_VISIBLE_DEVICES"]), ("10.0.0.1:50051", "GPU-a"))
        self.assertEqual(values["LD_LIBRARY_PATH"], FOLDER + ":/opt/lib")
        names = [variable["name"] for variable in spec["containers"][0]["env"]]
        self.assertEqual((names[-1], len(names)), ("A", 7))  # after the variable that it refers to
        self.assertEqual(self.webhook.mutated({**pod, "spec": spec})["spec"], spec)

    def test_pods_without_gpus(self):
        for spec in ({"containers": [{"name": "a"}]}, {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "1"}}}]}, {},
                     {"containers": None}):
            pod = {"metadata": {"name": "a"}, "spec": spec}
            self.assertEqual(self.webhook.mutated(pod), pod)

    def test_an_annotation_leaves_the_library_out(self):
        pod = copy.deepcopy(SEED_003)
        pod["metadata"]["annotations"] = {"aitherion.io/inject": "false"}
        spec = self.webhook.mutated(pod)["spec"]
        self.assertEqual(spec, {**pod["spec"], "schedulerName": "aitherion-scheduler"})


class Validating(Base):
    @staticmethod
    def pod(annotations=None, limits=None, **spec):
        return {"metadata": {"name": "a", "namespace": "team-a", "uid": "u", "annotations": annotations or {}},
                "spec": {"containers": [{"name": "c", "resources": {"limits": limits or {"aitherion.io/gpu": "1"}}}], **spec}}

    def test_new_pods(self):
        rows = [
            (self.pod(), None),
            (self.pod({"aitherion.io/numa-policy": "restricted", "aitherion.io/gpu-model": "a100"}), None),
            (self.pod({"aitherion.io/gpus": "GPU-a"}), "only the scheduler writes the annotation 'aitherion.io/gpus'"),
            (self.pod({"aitherion.io/runtime": "x"}), "'aitherion.io/runtime'"),
            (self.pod({"aitherion.io/numa-nodes": ""}), "'aitherion.io/numa-nodes'"),
            (self.pod({"aitherion.io/gpu-node": "n"}), "'aitherion.io/gpu-node'"),
            (self.pod({"aitherion.io/memory-of-each-gpu": "1"}), "'aitherion.io/memory-of-each-gpu'"),
            (self.pod({"aitherion.io/share-of-each-gpu": "1"}), "'aitherion.io/share-of-each-gpu'"),
            (self.pod({"aitherion.io/gpus": "GPU-a"}, {"cpu": "1"}), "'aitherion.io/gpus'"),
            (self.pod(limits={"aitherion.io/gpu": "65"}), "the pod cannot get GPUs: 'aitherion.io/gpu' is more than the 64 GPUs"),
            (self.pod({"aitherion.io/numa-policy": "both"}), "give none, single-numa, best-effort or restricted"),
            (self.pod(limits={"ai.compute/tflops-fp16": "100"}), None),
            (self.pod(limits={"ai.compute/tflops-fp16": "100", "aitherion.io/gpu-share": "10"}), "give one of them"),
            (self.pod(limits={"ai.compute/tflops-fp32": "100"}), "the resource 'ai.compute/tflops-fp32' is not known: ask for"),
            (self.pod(limits={"aitherion.io/gpus": "1"}), "the resource 'aitherion.io/gpus' is not known"),
            (self.pod(nodeName="n1"), "leave out spec.nodeName ('n1')"),
            (self.pod(limits={"cpu": "1"}, nodeName="n1"), None),
        ]
        for pod, why in rows:
            with self.subTest(pod=pod):
                refusal = self.webhook.refusal(object=pod)
                if why is None:
                    self.assertIsNone(refusal)
                else:
                    self.assertIn(why, refusal or "")

    def test_changed_pods(self):
        bound = {"aitherion.io/gpus": "GPU-a", "aitherion.io/runtime": "10.0.0.1:1"}
        rows = [(bound, bound, False), (bound, {**bound, "own": "x"}, False), (bound, {**bound, "aitherion.io/gpus": "GPU-a,GPU-b"}, True),
                (bound, {"aitherion.io/gpus": "GPU-a"}, True), ({}, bound, True), ({}, {}, False), (bound, {**bound, "aitherion.io/numa-nodes": "0"}, True)]
        for old, new, is_refused in rows:
            with self.subTest(old=old, new=new):
                for user in ("alice", BINDER):
                    refusal = self.webhook.refusal(operation="UPDATE", object=self.pod(new), oldObject=self.pod(old), userInfo={"username": user})
                    self.assertEqual(refusal is not None, is_refused)

    def test_bindings(self):
        binding = {"metadata": {"name": "a", "annotations": {"aitherion.io/gpus": "GPU-a"}}, "target": {"kind": "Node", "name": "n"}}
        plain = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
        for form in ({"subResource": "binding"}, {"resource": {"resource": "bindings"}}):
            self.assertIn("'aitherion.io/gpus'", self.webhook.refusal(object=binding, **form))
            self.assertIn("'aitherion.io/gpus'", self.webhook.refusal(object=binding, userInfo={}, **form))
            self.assertIsNone(self.webhook.refusal(object=binding, userInfo={"username": BINDER}, **form))
            self.assertIsNone(self.webhook.refusal(object=plain, **form))

    def test_compute_nodes(self):
        node = {"metadata": {"name": "n1"}, "status": {}}
        key = "authentication.kubernetes.io/node-name"
        rows = [(AGENT, {key: ["n1"]}, False), (AGENT, {key: ["n2"]}, True), (AGENT, {key: []}, False), (AGENT, {}, False), ("admin", {key: ["n2"]}, False)]
        for user, extra, is_refused in rows:
            for operation, subresource in (("CREATE", ""), ("UPDATE", "status"), ("UPDATE", "")):
                with self.subTest(user=user, extra=extra, operation=operation):
                    refusal = self.webhook.refusal(operation=operation, subResource=subresource, resource={"resource": "computenodes"}, object=node,
                                                   userInfo={"username": user, "extra": extra})
                    self.assertEqual(refusal is not None, is_refused)

    def test_quotas(self):
        for spec, why in (({"hard": {"gpu": 8}}, None), ({"hard": {"gpus": 8}}, "'gpus' cannot be limited"), ({"hard": {}}, "'spec.hard' limits nothing")):
            for operation in ("CREATE", "UPDATE"):
                refusal = self.webhook.refusal(operation=operation, resource={"resource": "computequotas"},
                                               object={"metadata": {"name": "q", "namespace": "team-a"}, "spec": spec})
                self.assertEqual(refusal is None, why is None)
                self.assertIn(why or "", refusal or "")

    def test_other_objects_are_allowed(self):
        self.assertIsNone(self.webhook.refusal(resource={"resource": "services"}, object={"metadata": {"annotations": {"aitherion.io/gpus": "x"}}}))
        self.assertIsNone(self.webhook.refusal(operation="DELETE", oldObject=self.pod({"aitherion.io/gpus": "x"})))

    def test_metrics(self):
        self.webhook.refusal(object=self.pod({"aitherion.io/gpus": "GPU-a"}))
        self.webhook.mutated(SEED_003)
        page = self.webhook.ask("GET", "/metrics")[1]
        self.assertIn("aitherion_webhook_refused_total 1\n", page)
        self.assertIn('aitherion_webhook_request_seconds_count{page="mutate"} 1\n', page)


class Hostile(Base):
    def test_bodies_that_no_api_server_sends(self):
        review = {"apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "operation": "CREATE", "resource": {"resource": "pods"}}}

        def changed(**members):
            return {**review, "request": {**review["request"], **members}}
        bodies = [b"", b"null", b"[]", b"{", b"\x00", b"\xff\xfe{}", b"[" * 100000, b'{"a":' * 3000, {}, {"request": 1}, {**review, "apiVersion": "v1beta1"},
                  {**review, "request": []}, changed(uid=1), changed(uid=""), changed(uid="u" * 129), changed(operation=None), changed(resource="pods"),
                  changed(resource={"resource": "pods\0x"})]
        for path in ("/mutate", "/validate"):
            for body in bodies:
                with self.subTest(path=path, body=str(body)[:60]):
                    self.assertEqual(self.webhook.ask("POST", path, body)[0], 400)
        self.assertEqual(self.webhook.ask("GET", "/healthz"), (200, "ok\n"))

    def test_objects_of_any_form(self):
        wrong = [None, 1, "x", [], [[]], {}, {"a": None}, True]
        objects = [{"metadata": value, "spec": value} for value in wrong]
        objects += [{"metadata": {"name": "a", "namespace": "b", "uid": "c", "annotations": value}, "spec": {"containers": value, "initContainers": value}}
                    for value in wrong]
        objects += [{"spec": {"containers": [{"resources": {"limits": {"aitherion.io/gpu": value}}, "env": value, "volumeMounts": value}], "volumes": value,
                              "initContainers": value, "schedulerName": value}} for value in wrong]
        objects += [{"spec": {"containers": [{"resources": {"limits": {"aitherion.io/gpu": "1"}}, "env": [value, {"name": value}]}], "volumes": [value]}}
                    for value in wrong]
        for obj in [*wrong, *objects]:
            with self.subTest(obj=obj):
                self.assertTrue(self.webhook.review("/mutate", object=obj)["allowed"])
                self.webhook.review("/validate", object=obj)
                self.webhook.review("/validate", object=obj, oldObject=obj, operation="UPDATE")
                self.webhook.review("/validate", object=obj, resource={"resource": "computenodes"}, userInfo={"username": AGENT, "extra": obj})
        self.assertIsNone(self.webhook.process.poll())

    def test_other_pages_and_methods(self):
        self.assertEqual(self.webhook.ask("GET", "/mutate")[0], 405)
        self.assertEqual(self.webhook.ask("POST", "/"), (404, "the pages here are /mutate, /validate, /metrics, /healthz, /readyz\n"))
        self.assertEqual(self.webhook.ask("POST", "/mutate", b" " * ((8 << 20) + 1))[0], 413)


class Crowded(Base):
    """A pod that reaches the webhook holds connections and bodies, and asks for nothing."""

    MIB = 1 << 20

    def connected(self, address="127.0.0.1"):
        client = socket.create_connection(("127.0.0.1", self.webhook.port), timeout=harness.PATIENCE_S, source_address=(address, 0))
        self.addCleanup(client.close)
        return client

    def holding(self, length):
        """Begins a request with the largest body, and sends this many bytes of the body."""
        client = self.connected()
        client.sendall(b"POST /validate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (8 * self.MIB) + b" " * length)
        return client

    def large_review(self):
        """Returns the status, Retry-After and the body of the answer to a review of 2 MiB."""
        pod = copy.deepcopy(SEED_003)
        pod["metadata"]["annotations"] = {"own": "x" * (2 * self.MIB)}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                  "request": {"uid": "u-1", "operation": "CREATE", "resource": {"resource": "pods"}, "object": pod}}
        connection = http.client.HTTPConnection("127.0.0.1", self.webhook.port, timeout=harness.PATIENCE_S)
        connection.request("POST", "/validate", body=json.dumps(review))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers["Retry-After"], text

    def test_bodies_that_fill_the_memory(self):
        self.assertEqual(self.large_review()[:2], (200, None))
        clients = [self.holding(5 * self.MIB) for _ in range(12)]
        self.assertTrue(harness.wait_until(lambda: self.large_review() == (503, "1", "other bodies fill the memory: ask again\n")))
        # Pods as they are have room.
        self.assertIn("initContainers", self.webhook.mutated(SEED_003)["spec"])
        # A refused body is read to its end, and the connection is as good as before.
        late = http.client.HTTPConnection("127.0.0.1", self.webhook.port, timeout=harness.PATIENCE_S)
        self.addCleanup(late.close)
        for path, body, status in (("/validate", b" " * (4 * self.MIB), 503), ("/validate", b"{}", 400)):
            late.request("POST", path, body=body)
            answer = late.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)
        for client in clients:
            client.close()
        self.assertTrue(harness.wait_until(lambda: self.large_review()[:2] == (200, None)))
        # Eight bodies of the largest size have room at the same time: the closed ones count no more.
        clients = [self.holding(5 * self.MIB) for _ in range(7)]
        self.assertEqual(self.large_review()[:2], (200, None))
        self.assertEqual(self.webhook.ask("POST", "/validate", b" " * (8 * self.MIB))[0], 400)

    def test_json_that_fills_the_memory(self):
        for part in (b"{},", b"[],"):
            body = b"[" + part * (8 * self.MIB // 3 - 2) + b"1]"
            self.assertEqual(self.webhook.ask("POST", "/validate", body), (503, "other reviews fill the memory: ask again\n"))
        # The memory of reviews is counted until their answer, no longer.
        for _ in range(40):
            self.assertEqual(self.large_review()[:2], (200, None))
        deep = copy.deepcopy(SEED_003)
        deep["metadata"]["labels"] = {f"label-{i}": f"value-{i}" for i in range(100000)}
        for _ in range(20):
            self.assertIn("initContainers", self.webhook.mutated(deep)["spec"])

    def test_connections_of_one_address(self):
        clients = [self.connected() for _ in range(160)]
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.webhook.ask("GET", "/healthz")
        other = self.connected("127.0.0.2")
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        self.assertIn(b"200 OK", other.recv(4096))
        for client in clients:
            client.close()

        def is_answered():
            try:
                return self.webhook.ask("GET", "/healthz") == (200, "ok\n")
            except (ConnectionError, http.client.HTTPException):
                return False
        self.assertTrue(harness.wait_until(is_answered))

    def test_requests_that_do_not_end(self):
        silent, slow = self.holding(5), self.holding(5)
        begin_s = time.monotonic()

        def is_closed(client):
            client.settimeout(1)
            try:
                return client.recv(4096) == b""
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        def has_ended():
            try:
                slow.send(b" ")
            except ConnectionError:
                return True
            return is_closed(slow)
        self.assertTrue(harness.wait_until(has_ended))
        self.assertGreater(time.monotonic() - begin_s, 25)
        self.assertTrue(harness.wait_until(lambda: is_closed(silent)))
        self.assertIn("initContainers", self.webhook.mutated(SEED_003)["spec"])


class Access(unittest.TestCase):
    def refused(self, *words):
        result = harness.run_soundly("kubernetes", "webhook", *words)
        self.assertNotEqual(result.returncode, 0)
        return result.stderr

    def test_options(self):
        self.assertIn("'--image' is missing", self.refused())
        self.assertIn("does not call a webhook at '0.0.0.0' without TLS", self.refused("--image", "x", "--listen", "0.0.0.0:0"))
        self.assertIn("needs an address of the network", self.refused("--image", "x", "--listen", "unix:/run/x"))

    @unittest.skipIf(authority.LACKS, authority.LACKS)
    def test_tls(self):
        ca = authority.Authority("webhook")
        certificate, key = ca.sign("webhook")
        web = ca.path("web.yaml")
        with open(web, "w", encoding="utf-8") as file:
            file.write(f"tls_server_config:\n  cert_file: {certificate}\n  key_file: {key}\n")
        webhook = Webhook("--web", web, *WORDS, context=ssl.create_default_context(cafile=ca.file))
        self.addCleanup(webhook.end)
        self.assertIn("initContainers", webhook.mutated(SEED_003)["spec"])
        webhook.context = ssl.create_default_context()
        with self.assertRaises(ssl.SSLError):
            webhook.ask("GET", "/healthz")

    def test_a_signal_ends_it(self):
        self.assertEqual(Webhook(*WORDS).end(), (0, ""))


class Running(Base):
    """An admitted and bound pod: its container's environment is enough for an unchanged program to use a GPU of another node's runtime."""

    @staticmethod
    def copied(pod):
        """Runs the command of the init container. Returns the folder of the library."""
        folder = os.path.join(harness.scratch(), "library")
        os.makedirs(folder, exist_ok=True)
        *shell, command, _ = pod["spec"]["initContainers"][0]["command"]
        build = os.path.join(harness.build(), "lib", "aitherion")
        subprocess.run([*shell, command.replace("/usr/lib/*/aitherion", build), folder], check=True)
        return folder

    @unittest.skipUnless(runtime.HAS_OWN_ADDRESSES, "ThreadSanitizer ends programs of CUDA")
    def test_vector_add(self):
        with runtime.Server("--sim", env=harness.environment(AITHERION_SIM_DEVICES="2")) as server:
            cluster = apiserver.Cluster()
            api = apiserver.Server(cluster)
            self.addCleanup(api.close)
            devices = [{"uuid": SIMULATED_GPU + str(i), "model": "simulated", "memory": "16Gi", "healthScore": 100} for i in range(2)]
            cluster.put(apiserver.NODES, "gpu-node", {"metadata": {"name": "gpu-node"},
                                                      "status": {"phase": "Ready", "runtime": server.address, "devices": devices}})
            extender = Extender(kubeconfig(api.url))
            self.addCleanup(extender.end)
            harness.wait_until(extender.is_ready)
            pod = copy.deepcopy(SEED_003)
            pod["spec"]["containers"][0]["resources"]["limits"] = {"ai.compute/vram": "512Mi"}
            pod["metadata"]["annotations"] = {"aitherion.io/gpu-location": "any-node"}
            pod = self.webhook.mutated(pod)
            pod["metadata"].update(name="train-1", uid="u-1")
            self.assertIsNone(self.webhook.refusal(object=pod))
            cluster.put(apiserver.PODS, "train-1", pod)
            self.assertEqual(extender.schedule(pod, ["node-without-gpus"]), ("node-without-gpus", ""))
            [container] = pod["spec"]["containers"]
            values = environment_of(container, cluster.pod("train-1")["metadata"]["annotations"])
            self.assertEqual(values["AITHERION_SERVER"], server.address)
            self.assertEqual(values["AITHERION_MEMORY"], str(512 << 20))
            # The volumes of the pod stand elsewhere here, and the library is not installed.
            values["LD_LIBRARY_PATH"] = self.copied(pod)
            values["AITHERION_KEY_FILE"] = runtime.key_file()
            values["AITHERION_ENCRYPT"] = "on"  # as between hosts
            result = harness.run(command=[VECTOR_ADD], env=harness.environment(**values))
            self.assertEqual(result.returncode, 0, result.stderr)
            values["AITHERION_KEY_FILE"] = runtime.key_file(b"another key")
            self.assertNotEqual(harness.run(command=[VECTOR_ADD], env=harness.environment(**values)).returncode, 0)


if __name__ == "__main__":
    harness.main()
