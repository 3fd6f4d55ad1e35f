"""The processes of these tests: the sidecar under test and a server that somebody else wrote."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("SIDECAR_UNDER_TEST", ROOT / "target/debug/mcp-sidecar")).resolve()
MODULES = ROOT / ".test-env/node/node_modules"
NODE = MODULES / "node/bin/node"
EVERYTHING = MODULES / "@modelcontextprotocol/server-everything/dist/index.js"

# More than anything here takes on a busy machine.
PATIENCE = 30.0

_HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_ports = itertools.count(os.getpid() * 7919)


def free_port():
    """A port below the kernel's ephemeral range, so that no outgoing connection takes it in the meantime."""
    for offset in _ports:
        port = 12_000 + offset % 20_000
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable")


def wait_for(what, condition, patience=PATIENCE):
    """Returns what `condition` found as soon as it finds something."""
    until = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < until, f"waited {patience} s in vain: {what}"
        time.sleep(0.02)


class Sidecar:
    """The real binary with this TOML configuration, on ports of its own."""

    def __init__(self, directory, config):
        self.directory = Path(directory)
        self.port, self.admin = free_port(), free_port()
        (self.directory / "sidecar.toml").write_text(config)
        self.log = self.directory / "sidecar.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "run", "--config", self.directory / "sidecar.toml"]
                + ["--listen", f"127.0.0.1:{self.port}", "--admin", f"127.0.0.1:{self.admin}"],
                # What is set for the user's own sidecar is not meant for this one.
                env={key: value for key, value in os.environ.items() if not key.startswith("MCP_SIDECAR_")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if value is not None:
            print(self.log.read_text(errors="replace"))
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def get(self, path):
        """HTTP status and body of a path of the admin listener; `None` if nobody answers."""
        try:
            with _HTTP.open(f"http://127.0.0.1:{self.admin}{path}", timeout=PATIENCE) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            assert self.process.poll() is None, f"the sidecar ended: {self.log.read_text(errors='replace')}"
            return None

    def server(self, name):
        """What `/status` says about one server; `None` before the listener is up."""
        answer = self.get("/status")
        if answer is None:
            return None
        servers = json.loads(answer[1])["servers"]
        return next(server for server in servers if server["name"] == name)

    def wait_for_server(self, name, what, condition):
        """Waits until `/status` shows a server that is as `condition` says; returns what it shows."""

        def look():
            server = self.server(name)
            return server if server and condition(server) else None

        return wait_for(f"{name} is {what}", look)

    def list_bytes(self):
        """The `result` of a `tools/list` of the modern era, byte for byte, over a connection of our own."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/list",
        }
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with _HTTP.open(request, timeout=PATIENCE) as response:
            answer = response.read()
        assert b'"result":' in answer, answer
        return answer


class EverythingOverHttp:
    """server-everything at one port, for as many lives as the test wants."""

    def __init__(self, directory):
        self.port = free_port()
        self.log = Path(directory) / "everything.log"
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self):
        """Starts it and waits until it listens."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [NODE, EVERYTHING, "streamableHttp"],
                env={**os.environ, "PORT": str(self.port)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for("server-everything listens", self._listens)

    def kill(self):
        """SIGKILL, and proof of its death."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def _listens(self):
        assert self.process.poll() is None, self.log.read_text(errors="replace")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
