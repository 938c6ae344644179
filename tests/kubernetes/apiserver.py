"""A fake API server of Kubernetes: lists and watches of pods and ComputeNodes, bindings, Leases, merge patches, and faults on demand."""
import contextlib
import http.server
import json
import socket
import ssl
import threading
import urllib.parse

PODS = "/api/v1/pods"
NODES = "/apis/aitherion.io/v1alpha1/computenodes"
QUOTAS = "/apis/aitherion.io/v1alpha1/computequotas"
HOSTS = "/api/v1/nodes"  # the objects of kind Node


def merged(target, patch):
    """RFC 7386: null removes a member."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


class Cluster:
    """The objects, and the events since the beginning. Versions are counted as etcd counts revisions."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version = 1
        self.oldest = 0  # versions before this one are gone: 410
        self.objects = {PODS: {}, NODES: {}, QUOTAS: {}, HOSTS: {}}
        self.events = []  # (version, path, event)
        self.leases = {}  # by path
        self.faults = []  # what the next requests get: a status of HTTP, or bytes instead of an answer
        self.faulty = ""  # the end of the paths that get them
        self.requests = []  # (method, path)
        self.bindings = []  # bodies
        self.lost_answers = 0  # bindings that are made, but get no answer
        self.is_mute = False  # watches bring nothing more
        self.tokens = set()
        self.watchers = set()
        self.is_closed = False

    def put(self, path, key, obj, kind="ADDED"):
        with self.changed:
            self.version += 1
            obj["metadata"]["resourceVersion"] = str(self.version)
            obj = json.loads(json.dumps(obj))
            if kind == "DELETED":
                self.objects[path].pop(key, None)
            else:
                self.objects[path][key] = obj
            self.events.append((self.version, path, {"type": kind, "object": obj}))
            self.changed.notify_all()

    def add_node(self, name, gpus=8, near=300, far=100, health=100, **status):
        half = (gpus + 1) // 2
        devices = [{"uuid": f"{name}-{i}", "model": "NVIDIA A100-SXM4-80GB", "memory": "80Gi", "numaNode": 0 if i < half else 8, "healthScore": health}
                   for i in range(gpus)]
        links = [{"devices": [a, b], "bytesPerSecond": (near if (a < half) == (b < half) else far) * 10**9} for a in range(gpus) for b in range(a + 1, gpus)]
        self.put(NODES, name, {"metadata": {"name": name}, "status": {"phase": "Ready", "numaNodes": [0, 8], "devices": devices, "links": links, **status}})

    def add_pod(self, name, limits=None, annotations=None, node=None):
        pod = {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": annotations or {}},
               "spec": {"containers": [{"name": "c", "resources": {"limits": limits or {}}}]}, "status": {"phase": "Pending"}}
        if node:
            pod["spec"]["nodeName"] = node
        self.put(PODS, name, pod)
        return pod

    def pod(self, name):
        with self.changed:
            return self.objects[PODS].get(name)

    def put_lease(self, path, body, is_new):
        """Returns (status, object). An object is replaced only if its version is the body's."""
        with self.changed:
            old = self.leases.get(path)
            if (old is None) != is_new:
                return (409, {"message": "already exists"}) if is_new else (404, {"message": "not found"})
            if old and body["metadata"].get("resourceVersion") != old["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified"}
            self.version += 1
            body["metadata"]["resourceVersion"] = str(self.version)
            self.leases[path] = body
            self.changed.notify_all()
            return 200, body

    def holder(self):
        """The identity in the only Lease; None: it is free."""
        with self.changed:
            return next((lease["spec"].get("holderIdentity") for lease in self.leases.values()), None)

    def delete_pod(self, name):
        self.put(PODS, name, self.pod(name), "DELETED")

    def forget_history(self):
        """As etcd's compaction: watches end with 410, and so do new ones from an old version."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.events = []
            self.changed.notify_all()

    def create(self, path, body):
        """As the API server does for a kind with the subresource status: the status of a new object is dropped."""
        with self.changed:
            if path not in self.objects:
                return 404, "the server could not find the requested resource"
            name = body["metadata"]["name"]
            if name in self.objects[path]:
                return 409, f"\"{name}\" already exists"
            self.put(path, name, {key: value for key, value in body.items() if key != "status"})
        return 201, ""

    def patch(self, path, name, body, is_status):
        """Takes a merge patch: of the status alone, or of all except the status. A patch without a change makes no version."""
        with self.changed:
            old = self.objects.get(path, {}).get(name)
            if not old:
                return 404, f"\"{name}\" not found"
            new = merged(old, {key: value for key, value in body.items() if (key == "status") == is_status})
            if new != old:
                self.put(path, name, new, "MODIFIED")
        return 200, ""

    def bind(self, name, body):
        with self.changed:
            pod = self.objects[PODS].get(name)
            if not pod or pod["metadata"]["uid"] != body["metadata"]["uid"]:
                return 404, f"pods \"{name}\" not found"
            if "nodeName" in pod["spec"]:
                return 409, f"pod {name} is already assigned to node \"{pod['spec']['nodeName']}\""
            self.bindings.append(body)
            bound = json.loads(json.dumps(pod))
            bound["spec"]["nodeName"] = body["target"]["name"]
            bound["metadata"]["annotations"].update(body["metadata"].get("annotations", {}))
            self.put(PODS, name, bound, "MODIFIED")
        return 201, ""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as Go does: else each answer waits 40 ms for the acknowledgement of its headers

    def log_message(self, *_):
        pass

    @property
    def cluster(self):
        return self.server.cluster

    def send(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(body)

    def fault(self):
        """Answers with a fault, if one is due. The Lease has faults of its own only."""
        with self.cluster.changed:
            is_due = self.cluster.faults and "/leases" not in self.path and self.path.endswith(self.cluster.faulty)
            fault = self.cluster.faults.pop(0) if is_due else None
        if fault is None:
            return False
        if isinstance(fault, bytes):
            self.wfile.write(fault)
            self.close_connection = True
        else:
            self.send(fault, {"kind": "Status", "message": f"fault {fault}", "code": fault})
        return True

    def is_welcome(self):
        with self.cluster.changed:
            self.cluster.requests.append((self.command, self.path))
            tokens = self.cluster.tokens
        if tokens and self.headers.get("Authorization", "").removeprefix("Bearer ") not in tokens:
            self.send(401, {"kind": "Status", "message": "Unauthorized", "code": 401})
            return False
        return not self.fault()

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if not self.is_welcome():
            return
        if "/leases/" in url.path:
            lease = self.cluster.leases.get(url.path)
            self.send(200 if lease else 404, lease or {"kind": "Status", "message": "not found", "code": 404})
        elif url.path not in self.cluster.objects:
            pod = self.cluster.pod(url.path.rsplit("/", 1)[-1])
            self.send(200 if pod else 404, pod or {"kind": "Status", "message": "not found", "code": 404})
        elif "watch" in query:
            self.watch(url.path, int(query["resourceVersion"]))
        else:
            self.list(url.path, query)

    def list(self, path, query):
        with self.cluster.changed:
            items = list(self.cluster.objects[path].values())
            version = str(self.cluster.version)
        begin, limit = int(query.get("continue", "0")), int(query["limit"])
        metadata = {"resourceVersion": version}
        if begin + limit < len(items):
            metadata["continue"] = str(begin + limit)
        self.send(200, {"kind": "List", "metadata": metadata, "items": items[begin:begin + limit]})

    def watch(self, path, version):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        cluster = self.cluster
        with cluster.changed:
            cluster.watchers.add(self)
        try:
            while True:
                with cluster.changed:
                    cluster.changed.wait_for(lambda: cluster.is_closed or self not in cluster.watchers or version < cluster.oldest
                                             or not cluster.is_mute and any(event[0] > version and event[1] == path for event in cluster.events))
                    if cluster.is_closed or self not in cluster.watchers:
                        break
                    if version < cluster.oldest:
                        lines = [{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}]
                    else:
                        lines = [event[2] for event in cluster.events if event[0] > version and event[1] == path]
                        version = max(event[0] for event in cluster.events)
                for line in lines:
                    data = json.dumps(line).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                if lines[0]["type"] == "ERROR":
                    break
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
        finally:
            with cluster.changed:
                cluster.watchers.discard(self)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.is_welcome():
            return
        if self.path.endswith("/leases"):
            self.send(*self.cluster.put_lease(f"{self.path}/{body['metadata']['name']}", body, True))
            return
        words = self.path.split("/")
        if words[-1] != "binding":
            self.finish_change(*self.cluster.create(self.path, body))
            return
        status, message = self.cluster.bind(words[-2], body)
        with self.cluster.changed:
            is_lost = self.cluster.lost_answers > 0
            self.cluster.lost_answers -= is_lost
        if is_lost:
            self.close_connection = True
        else:
            self.finish_change(status, message)

    def do_PATCH(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.is_welcome():
            return
        if self.headers["Content-Type"] != "application/merge-patch+json":
            self.finish_change(415, "the body of the request was in an unknown format")
            return
        path, is_status = self.path.removesuffix("/status"), self.path.endswith("/status")
        path, name = path.rsplit("/", 1)
        self.finish_change(*self.cluster.patch(path, name, body, is_status))

    def finish_change(self, status, message):
        self.send(status, {"kind": "Status", "status": "Success" if status < 300 else "Failure", "message": message, "code": status})

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.is_welcome():
            self.send(*self.cluster.put_lease(self.path, body, False))


class Server(http.server.ThreadingHTTPServer):
    """Serves a cluster on a port of the loopback until close()."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, cluster, port=0, certificate=None):
        self.cluster = cluster
        self.connections = []
        super().__init__(("127.0.0.1", port), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def process_request(self, request, client_address):
        self.connections.append(request)
        super().process_request(request, client_address)

    def close(self):
        """Goes away: no new connection, and all others break."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with self.cluster.changed:
            self.cluster.watchers.clear()
            self.cluster.changed.notify_all()
