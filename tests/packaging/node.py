# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster, as far as packaging/kubernetes asks for one: it starts the containers of a manifest as a
kubelet would, with the files, user, rights and namespaces that stand there, but out of this machine's own programs
and file system. It wants root.
"""
from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

import yaml

MADE_ANEW = ("/run", "/var", "/etc")  # what containers see of these they do not share with this machine


def missing() -> str | None:
    """What this machine lacks for one, or None."""
    if os.geteuid() != 0:
        return "not root"
    for program in ("unshare", "nsenter", "setpriv", "curl", "openssl"):
        if not shutil.which(program):
            return f"no {program}"
    probe = 'mount -t tmpfs none "$0" && mkdir "$0"/u "$0"/w && ' \
            'mount -t overlay none -o "lowerdir=/etc,upperdir=$0/u,workdir=$0/w" /etc'
    with tempfile.TemporaryDirectory() as scratch:
        tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", probe, scratch], capture_output=True, check=False)
    return "no namespaces, or no overlay of file systems" if tried.returncode else None


class Container:
    def __init__(self, process: subprocess.Popen, user: list[str], environment: dict[str, str], of_its_own: bool):
        self.process, self.user, self.environment = process, user, environment
        self.of_its_own = of_its_own  # the first of its pid namespace is the process's child

    def line(self) -> str:
        """The next line that it says."""
        return self.process.stdout.readline()

    def run(self, command: list[str]) -> subprocess.CompletedProcess:
        """Another command in it, as a probe or kubectl exec."""
        inside = ["nsenter", "--mount", "--target", str(self.process.pid), *self.user, *command]
        return subprocess.run(inside, env=self.environment, capture_output=True, text=True, check=False, timeout=60)

    def tell(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Signals it, and how it ended. With the first of a pid namespace all others in it end."""
        pid = self.process.pid
        if self.of_its_own:
            pid = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())
        os.kill(pid, by)
        return self.process.wait(30)


class Node:
    """A node called `name`, whose image has these programs (paths). What Secrets and ConfigMaps hold is put into folders,
    by the volume's name, in `volumes`."""

    def __init__(self, manifests: pathlib.Path, name: str, programs: list[str]):
        self.manifests, self.name, self.programs = manifests, name, programs
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="aqua-node-"))
        self.volumes: dict[str, pathlib.Path] = {}  # of secrets and configurations
        self.containers: list[Container] = []

    def pod(self, manifest: str) -> dict:
        return yaml.safe_load((self.manifests / manifest).read_text())["spec"]["template"]["spec"]

    def _source(self, pod: dict, mount: dict) -> pathlib.Path:
        volume = next(v for v in pod["volumes"] if v["name"] == mount["name"])
        if "hostPath" not in volume:
            return self.volumes[mount["name"]] / mount.get("subPath", mount.get("subPathExpr", "")).replace("$(NODE_NAME)", self.name)
        path = self.root / volume["hostPath"]["path"].lstrip("/")
        if volume["hostPath"]["type"] == "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True)
        if not path.is_dir():
            raise FileNotFoundError(f"hostPath {path}, type {volume['hostPath']['type']}")
        return path

    def start(self, pod: dict, container: dict, command: list[str] | None = None, also: dict[str, str] | None = None) -> Container:
        """Starts one, with another command where one is given, and folders of this machine beside its own."""
        context = {**pod.get("securityContext", {}), **container.get("securityContext", {})}
        capabilities = [f"+{name.lower()}" for name in context["capabilities"].get("add", [])]
        user = ["setpriv", f"--reuid={context['runAsUser']}", f"--regid={context.get('runAsGroup', 0)}",
                f"--groups={context['fsGroup']}" if "fsGroup" in context else "--clear-groups",
                f"--bounding-set={','.join(['-all', *capabilities])}", "--inh-caps=-all"]
        if context["allowPrivilegeEscalation"] is False:
            user.append("--no-new-privs")
        binds = {mount["mountPath"]: str(self._source(pod, mount)) for mount in container["volumeMounts"]}
        binds |= {f"/run/image/{pathlib.Path(program).name}": program for program in self.programs} | (also or {})
        scratch = tempfile.mkdtemp(dir=self.root)
        script = ["set -e", f"scratch={shlex.quote(scratch)}", 'mount -t tmpfs none "$scratch"']
        for top in MADE_ANEW:
            script += [f'mkdir -p "$scratch/u{top}" "$scratch/w{top}"',
                       f'mount -t overlay none -o "lowerdir={top},upperdir=$scratch/u{top},workdir=$scratch/w{top}" {top}']
        for inside, outside in binds.items():
            make = "mkdir -p" if os.path.isdir(outside) else f"mkdir -p {shlex.quote(os.path.dirname(inside))} && touch"
            script += [f"{make} {shlex.quote(inside)}", f"mount --bind {shlex.quote(outside)} {shlex.quote(inside)}"]
        if context.get("readOnlyRootFilesystem"):
            script += [f"mount -o remount,ro,bind {top}" for top in (*MADE_ANEW, "/")]
        environment = {entry["name"]: entry.get("value", self.name) for entry in container.get("env", [])}
        environment["PATH"] = "/run/image:/usr/bin:/bin"
        words = command or container["command"] + container.get("args", [])
        words = [re.sub(r"\$\((\w+)\)", lambda found: environment[found[1]], word) for word in words]
        script.append("exec " + shlex.join([*user, *words]))
        namespaces = ["--mount"] if pod.get("hostPID") else ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
        process = subprocess.Popen(["unshare", *namespaces, "bash", "-c", "\n".join(script)], env=environment, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.containers.append(Container(process, user, environment, not pod.get("hostPID")))
        return self.containers[-1]

    def close(self) -> None:
        for container in self.containers:
            if container.process.poll() is None:
                container.end(signal.SIGKILL)
            container.process.stdin.close()
            container.process.stdout.close()
        shutil.rmtree(self.root)
