"""A real control plane for tests: etcd, kube-apiserver and kube-scheduler, made by tests/kubernetes/build. Nodes are objects without kubelets."""
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import time

import authority
import harness
import ports

CACHE = os.environ.get("AITHERION_KUBERNETES_CACHE") or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"aitherion-kubernetes-{os.geteuid()}")
PROGRAMS = {name: os.path.join(CACHE, "bin", name) for name in ("etcd", "kube-apiserver", "kube-scheduler")}
LACKS = authority.LACKS or next((f"no {path}: run tests/kubernetes/build" for path in PROGRAMS.values() if not os.access(path, os.X_OK)), None)

# Users by their tokens. The rights of system:kube-scheduler are Kubernetes' own.
TOKENS = {"admin": ("admin", "system:masters"), "scheduler": ("system:kube-scheduler", ""), "extender": ("aitherion-extender", ""),
          "agent": ("aitherion-agent", "")}

RESOURCES = ("aitherion.io/gpu", "aitherion.io/gpu-memory", "aitherion.io/gpu-share")


def manifests():
    """The objects that `aitherion kubernetes manifests` prints, by kind and name."""
    result = harness.run("kubernetes", "manifests", "--json", "--image", "none", "--kubernetes", "1.20.2")
    if result.returncode:
        raise AssertionError(result.stderr)
    return {(item["kind"], item["metadata"]["name"]): item for item in json.loads(result.stdout)["items"]}


class Refusal(Exception):
    """An answer of the API server that is an error."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text}")
        self.status = status


class ControlPlane:
    def __init__(self):
        self.ca = authority.Authority("control-plane")
        self.folder = self.ca.folder
        self.etcd_port, self.peer_port, self.port = ports.take(1), ports.take(1), ports.take(1)
        self.url = f"https://127.0.0.1:{self.port}"
        self.context = ssl.create_default_context(cafile=self.ca.file)
        self.certificate, self.key = self.ca.sign("api", names=f"{authority.HERE},DNS:kubernetes.default.svc")
        self.accounts = self.ca.sign("accounts", kind="rsa")
        with open(self.path("tokens.csv"), "w", encoding="ascii") as file:
            for token, (user, group) in TOKENS.items():
                file.write(f"{token},{user},{user}" + (f",\"{group}\"\n" if group else "\n"))
        os.chmod(self.path("tokens.csv"), 0o600)
        self.processes = {}
        self.connection = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self, name):
        with open(self.path(f"{name}.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    # ---- programs ----

    def start(self, name, *words, program=None):
        with open(self.path(f"{name}.log"), "ab") as log:
            self.processes[name] = subprocess.Popen([PROGRAMS[program or name], *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                    env={"HOME": self.folder, "PATH": os.environ["PATH"]})

    def kill(self, name, number=signal.SIGKILL):
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait()

    def start_etcd(self):
        self.start("etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", f"http://127.0.0.1:{self.etcd_port}",
                   "--advertise-client-urls", f"http://127.0.0.1:{self.etcd_port}", "--listen-peer-urls", f"http://127.0.0.1:{self.peer_port}",
                   "--initial-advertise-peer-urls", f"http://127.0.0.1:{self.peer_port}", "--initial-cluster", f"default=http://127.0.0.1:{self.peer_port}")

    def start_apiserver(self):
        self.start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                   f"--tls-cert-file={self.certificate}", f"--tls-private-key-file={self.key}", f"--token-auth-file={self.path('tokens.csv')}",
                   f"--client-ca-file={self.ca.file}", "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={self.accounts[0]}", f"--service-account-signing-key-file={self.accounts[1]}",
                   "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--v=1",
                   f"--cert-dir={self.path('certificates')}", "--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000")
        self.await_apiserver()

    def await_apiserver(self):
        def is_ready():
            if self.processes["kube-apiserver"].poll() is not None:
                raise AssertionError(self.log("kube-apiserver")[-4000:])
            with contextlib.suppress(OSError, http.client.HTTPException, Refusal):
                return self.ask("GET", "/readyz", is_json=False) == "ok"
            return False

        if not harness.wait_until(is_ready):
            raise AssertionError(self.log("kube-apiserver")[-4000:])

    def kubeconfig(self, token):
        path = self.path(f"{token}.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\nclusters:\n"
                       f"- name: k\n  cluster:\n    server: {self.url}\n    certificate-authority: {self.ca.file}\nusers:\n- name: u\n"
                       f"  user: {{token: {token}}}\n")
        os.chmod(path, 0o600)
        return path

    def start_scheduler(self, extender_port, name="kube-scheduler", ignored=True):
        """Starts kube-scheduler with the configuration of docs/cluster.md, in the form of 1.20."""
        address = f"127.0.0.1:{ports.take(1)}"  # with a configuration the options do not count
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1beta1", "kind": "KubeSchedulerConfiguration", "percentageOfNodesToScore": 100,
                  "healthzBindAddress": address, "metricsBindAddress": address,
                  "clientConnection": {"kubeconfig": self.kubeconfig("scheduler"), "qps": 2000, "burst": 2000}, "leaderElection": {"leaderElect": False},
                  "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2,
                  "extenders": [{"urlPrefix": f"http://127.0.0.1:{extender_port}", "filterVerb": "filter", "prioritizeVerb": "prioritize",
                                 "preemptVerb": "preempt", "bindVerb": "bind", "weight": 5, "nodeCacheCapable": True, "httpTimeout": "10s",
                                 "managedResources": [{"name": resource, "ignoredByScheduler": ignored} for resource in RESOURCES]}]}
        path = self.path(f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.start(name, "--config", path, "--secure-port=0", "--v=2", program="kube-scheduler")

    # ---- requests ----

    def ask(self, method, path, body=None, kind="application/json", is_json=True):
        """Sends a request as the administrator. Returns the object, or the text; raises Refusal if the server refuses it."""
        if self.connection is None:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S, context=self.context)
        try:
            self.connection.request(method, path, body=None if body is None else json.dumps(body),
                                    headers={"Authorization": "Bearer admin", "Content-Type": kind})
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise
        if answer.status >= 300:
            raise Refusal(answer.status, text)
        return json.loads(text) if is_json else text

    def try_until(self, *words, **options):
        """Asks again while the server is not ready for the request."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while True:
            try:
                return self.ask(*words, **options)
            except Refusal as refusal:
                if refusal.status not in (404, 429, 500, 503) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    # ---- objects ----

    def prepare(self):
        """The kinds and the rights."""
        objects = manifests()
        for (kind, _), item in objects.items():
            if kind == "CustomResourceDefinition":
                self.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", item)
        for name in ("aitherion-extender", "aitherion-agent"):
            self.grant(name, objects["ClusterRole", name]["rules"])
        self.grant("aitherion-extender", objects["Role", "aitherion-extender"]["rules"], "kube-system")
        for kind in ("computenodes", "computequotas"):
            self.try_until("GET", f"/apis/aitherion.io/v1alpha1/{kind}")
        self.try_until("GET", "/api/v1/namespaces/default")

    def grant(self, user, rules, space=None):
        path = "/apis/rbac.authorization.k8s.io/v1" + (f"/namespaces/{space}" if space else "")
        kind = "Role" if space else "ClusterRole"
        self.try_until("POST", f"{path}/{kind.lower()}s", {"metadata": {"name": user}, "rules": rules})
        self.try_until("POST", f"{path}/{kind.lower()}bindings", {
            "metadata": {"name": user}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]})

    def add_host(self, name, extra=None):
        """A Node that a kubelet would call ready."""
        capacity = {"cpu": "128", "memory": "2000Gi", "pods": "250", **(extra or {})}
        self.ask("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": {
            "capacity": capacity, "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}})

    def add_compute_node(self, name, status):
        path = "/apis/aitherion.io/v1alpha1/computenodes"
        self.try_until("POST", path, {"apiVersion": "aitherion.io/v1alpha1", "kind": "ComputeNode", "metadata": {"name": name}})
        self.try_until("PATCH", f"{path}/{name}/status", {"status": status}, kind="application/merge-patch+json")

    def add_pod(self, name, limits, annotations=None, **spec):
        return self.ask("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"containers": [{"name": "c", "image": "none", "resources": {"limits": limits}}], **spec}})

    def pod(self, name):
        return self.ask("GET", f"/api/v1/namespaces/default/pods/{name}")

    def pods(self):
        return self.ask("GET", "/api/v1/namespaces/default/pods")["items"]

    def delete_pod(self, name):
        """As a kubelet does when the containers have ended."""
        self.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")

    def messages(self, name):
        """The messages of a pod's events."""
        events = self.ask("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{name}")["items"]
        return [event["message"] for event in events]

    def bound(self):
        """The GPUs of each bound pod by its name."""
        return {pod["metadata"]["name"]: pod["metadata"].get("annotations", {}).get("aitherion.io/gpus", "").split(",")
                for pod in self.pods() if pod["spec"].get("nodeName")}

    def close(self):
        for name in list(self.processes):
            self.kill(name, signal.SIGTERM if name == "etcd" else signal.SIGKILL)
