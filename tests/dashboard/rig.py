# SPDX-License-Identifier: Apache-2.0
"""A real coordinator on loopback TCP and real engines on emulated GPUs, for the browser's tests."""
import json
import os
import pathlib
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import urllib.request

MIB = 1 << 20


class Tunnel(socketserver.ThreadingTCPServer):
    """A port of loopback that leads to a Unix socket, as `ssh -L` makes one."""
    daemon_threads = True

    def __init__(self, path: str):
        class Relay(socketserver.BaseRequestHandler):
            def handle(self):
                with socket.socket(socket.AF_UNIX) as far:
                    far.connect(path)
                    back = threading.Thread(target=pump, args=(far, self.request), daemon=True)
                    back.start()
                    pump(self.request, far)
                    back.join()

        def pump(source: socket.socket, sink: socket.socket):
            try:
                while piece := source.recv(65536):
                    sink.sendall(piece)
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # one side has hung up

        super().__init__(("127.0.0.1", 0), Relay)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Etcd:
    """One that coordinators share, at `url`, until close()."""
    PROGRAM = "/usr/bin/etcd"

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="aqua-etcd-")
        with socket.socket() as clients, socket.socket() as peers:
            for each in (clients, peers):
                each.bind(("127.0.0.1", 0))
            self.url, peer = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in (clients, peers))
        with pathlib.Path(self._folder.name, "log").open("w") as log:
            self.process = subprocess.Popen(
                [self.PROGRAM, "--data-dir", f"{self._folder.name}/data", "--listen-client-urls", self.url,
                 "--advertise-client-urls", self.url, "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                stdout=log, stderr=log)

    def close(self):
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()


class Rig:
    """Everything lives in a directory of its own and ends with close().

    With `tunnel` the coordinator is on its Unix socket, and `page` is a tunnel that leads to it.
    `etcd` is the address of one that it shares with others.
    """

    def __init__(self, coordinator: str, node: str, tunnel: bool = False, etcd: str = "", server: str = "here"):
        self._programs = (coordinator, node)
        self._folder = tempfile.TemporaryDirectory(prefix="aqua-dashboard-")
        self.path = pathlib.Path(self._folder.name)
        self._children: list[subprocess.Popen] = []
        self.operator_token = self._issue("operator")
        engine = self._issue("engine")
        (self.path / "token").write_text(engine + "\n")
        self._environment = dict(os.environ, AQUA_TOKEN_FILE=str(self.path / "token"))
        listen = f"unix:{self.path}/coordinator.sock" if tunnel else "127.0.0.1:0"
        shared = ["--etcd", etcd, "--server", server] if etcd else []
        self.daemon = self._start([coordinator, "--data", str(self.path / "data"), "--listen", listen, *shared],
                                  log="coordinator.log")
        line = self.daemon.stdout.readline()
        assert line.startswith("listening on "), line + (self.path / "coordinator.log").read_text()
        self.address = line.split()[-1]
        self.tunnel = Tunnel(self.address.removeprefix("unix:")) if tunnel else None
        self.page = "localhost:%d" % self.tunnel.server_address[1] if tunnel else self.address

    def _issue(self, role: str) -> str:
        """A bearer token of the coordinator's own making."""
        made = subprocess.run([self._programs[0], "token", "issue", role, "--data", str(self.path / "data")],
                              capture_output=True, text=True, check=True)
        return made.stdout.strip()

    def _start(self, arguments: list[str], log: str) -> subprocess.Popen:
        with (self.path / log).open("w") as errors:
            child = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                     stderr=errors, env=self._environment)
        self._children.append(child)
        return child

    def engine(self, name: str, consumer: bool, number: int) -> "Engine":
        child = self._start([self._programs[1], "--role", "consumer" if consumer else "producer", "--name", name,
                             "--device", f"emu:{number}", "--coordinator", self.address, "--sockets", str(self.path),
                             "--tenant", str(number + 1), "--at", ""], log=f"{name}.log")
        ready = child.stdout.readline()
        assert ready, (self.path / f"{name}.log").read_text()
        return Engine(child)

    def ask(self, target: str, token: str | None = None) -> dict:
        request = urllib.request.Request(f"http://{self.page}{target}")
        request.add_header("Authorization", f"Bearer {self.operator_token if token is None else token}")
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def close(self):
        if self.tunnel:
            self.tunnel.close()
        for child in reversed(self._children):
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
        self._folder.cleanup()


class Engine:
    def __init__(self, child: subprocess.Popen):
        self.child = child

    def stop(self):
        """All of its threads have stopped when this returns; a signal alone is only on its way."""
        self.child.send_signal(signal.SIGSTOP)
        os.waitpid(self.child.pid, os.WUNTRACED)

    def do(self, what: str, **arguments) -> dict:
        self.child.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
        answer = json.loads(self.child.stdout.readline())
        assert "error" not in answer, answer
        return answer
