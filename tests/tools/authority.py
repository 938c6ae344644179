"""An authority that makes certificates for tests, by openssl."""
import os
import shutil
import subprocess
import time

import harness

HERE = "DNS:localhost,IP:127.0.0.1"
LACKS = None if shutil.which("openssl") else "no openssl to make certificates with (package openssl)"


class Authority:
    """A maker of certificates, in a folder of its own."""

    def __init__(self, name):
        self.folder = os.path.join(harness.scratch(), f"authority-{name}-{time.monotonic_ns()}")
        os.mkdir(self.folder)
        self.file = self.path("ca.pem")
        self.openssl("req", "-x509", *self.new_key("ca.key"), "-days", "2", "-subj", f"/CN={name}", "-out", "ca.pem")

    def path(self, name):
        return os.path.join(self.folder, name)

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)

    @staticmethod
    def new_key(name, kind="ec"):
        kinds = {"ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "rsa": ["-newkey", "rsa:2048"], "ed25519": ["-newkey", "ed25519"]}
        return [*kinds[kind], "-nodes", "-keyout", name]

    def sign(self, name, names=HERE, kind="ec", days="2", usage="serverAuth"):
        """Makes NAME.pem and NAME.key. Returns their paths."""
        with open(self.path("extensions"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName={names}\nextendedKeyUsage={usage}\n")
        self.openssl("req", *self.new_key(f"{name}.key", kind), "-subj", f"/CN={name}", "-out", "request")
        self.openssl("x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", days, "-extfile",
                     "extensions", "-out", f"{name}.pem")
        os.chmod(self.path(f"{name}.key"), 0o600)
        return self.path(f"{name}.pem"), self.path(f"{name}.key")
