#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts what packaging/kubernetes names, as a kubelet would (node.py): the daemons come up with the user, rights,
files and arguments of the manifests, their probes pass, and two engines in containers of their own lend to each other.

Usage: pods_test.py ROOT LIBRARY COORDINATOR KEEPER COURIER AQUA [unittest's options]. Ends with 77 where this machine
cannot play a node, saying why.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from node import Node, missing

ROOT: pathlib.Path
LIBRARY: str
PROGRAMS: list[str]

LENDER = """
import aqua_kv
with aqua_kv.Runtime.open(device="emu:0", host_bytes=4 << 20) as rt:
    rt.lend(64 << 20)
    print("lends", flush=True)
    input()
    print("returned", rt.reclaim(64 << 20, deadline_ms=30000).wait().bytes_returned >> 20, flush=True)
    input()
"""
BORROWER = """
import threading, aqua_kv
leased = threading.Event()
def on_budget(budget):
    if budget.peer_bytes == 64 << 20:
        leased.set()
with aqua_kv.Runtime.open(device="emu:1", host_bytes=128 << 20, max_peer_bytes=64 << 20,
                          callbacks=aqua_kv.Callbacks(on_budget=on_budget)) as rt:
    if not leased.wait(60):
        raise SystemExit(rt.status().not_borrowing)
    swap = rt.allocate(8 << 20, "seq 42")
    print(swap.tier.name, flush=True)
    input()
    print(swap.tier.name, flush=True)
"""

REFUSED = """
import aqua_kv
with aqua_kv.Runtime.open(device="emu:0", host_bytes=4 << 20,
                          callbacks=aqua_kv.Callbacks(on_log=lambda level, text: print(text, flush=True))) as rt:
    input()
"""


class Pods(unittest.TestCase):
    def setUp(self):
        self.node = Node(ROOT / "packaging/kubernetes", "node-a", PROGRAMS)
        self.addCleanup(self.node.close)

    def daemon(self, manifest: str):
        pod = self.node.pod(manifest)
        for first in pod.get("initContainers", []):
            self.assertEqual(self.node.start(pod, first).process.wait(60), 0)
        container = self.node.start(pod, pod["containers"][0])
        self.assertIn("listening", container.line())
        return pod["containers"][0], container

    def probed(self, manifest: str):
        described, container = self.daemon(manifest)
        probe = container.run(described["readinessProbe"]["exec"]["command"])
        self.assertEqual(probe.returncode, 0, probe.stderr)
        return container

    def engine(self, program: str):
        pod = self.node.pod("engine.yaml")
        interpreter = os.path.realpath(sys.executable)
        also = {"/run/python": str(ROOT / "python"), "/run/library/libaqua.so": LIBRARY}
        command = ["env", "PYTHONPATH=/run/python", "AQUA_LIBRARY=/run/library/libaqua.so", "PYTHONDONTWRITEBYTECODE=1",
                   interpreter, "-c", program]
        return self.node.start(pod, pod["containers"][0], command, also)

    def test_engines_in_containers_of_their_own_lend_and_a_new_coordinator_finds_the_lease(self):
        coordinator = self.probed("coordinator.yaml")
        lender = self.engine(LENDER)
        self.assertEqual(lender.line(), "lends\n")
        borrower = self.engine(BORROWER)
        self.assertEqual(borrower.line(), "PEER\n")
        status = coordinator.run(["aqua", "status", "--coordinator", "unix:/run/aqua/coordinator.sock"])
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertEqual(coordinator.end(), 0)
        coordinator = self.probed("coordinator.yaml")
        lender.tell("")
        self.assertEqual(lender.line(), "returned 64\n")
        borrower.tell("")
        self.assertEqual(borrower.line(), "HOST\n")
        lender.tell("")
        self.assertEqual((lender.process.wait(60), borrower.process.wait(60)), (0, 0))
        self.assertEqual(coordinator.end(), 0)

    def test_a_coordinator_that_does_not_see_the_engines_says_what_to_do(self):
        pod = self.node.pod("coordinator.yaml")
        del pod["hostPID"]
        self.assertEqual(self.node.start(pod, pod["initContainers"][0]).process.wait(60), 0)
        self.assertIn("listening", self.node.start(pod, pod["containers"][0]).line())
        self.assertIn("hostPID in Kubernetes", self.engine(REFUSED).line())

    def test_the_keeper_serves_and_ends_when_it_is_told(self):
        self.assertEqual(self.probed("keeper.yaml").end(), 0)

    def test_the_keeper_with_its_disk_has_segments_again(self):
        manifests = self.node.root / "with-disk"
        manifests.mkdir()
        for path in (ROOT / "packaging/kubernetes").glob("*.yaml"):
            (manifests / path.name).write_text(path.read_text().replace("# disk: ", ""))
        self.node.manifests = manifests
        for _ in range(2):
            keeper = self.probed("keeper.yaml")
            told = keeper.run(["aqua", "segments", "--json"])
            self.assertEqual(told.returncode, 0, told.stderr)
            disk = json.loads(told.stdout)["disk"]
            self.assertEqual((disk["directory"], disk["writes"], disk["error"]), ("/var/lib/aqua-keeper", True, ""))
            self.assertEqual(keeper.end(), 0)

    def test_the_courier_reads_its_nodes_own_files(self):
        self.probed("keeper.yaml")
        certificates, routes = self.node.root / "certificates", self.node.root / "routes"
        subprocess.run(["sh", str(ROOT / "tools/courier/system/aqua-courier-certificates"), str(certificates), "node-a", "node-b"],
                       check=True, capture_output=True)
        (certificates / "authority.key").unlink()
        for file in certificates.iterdir():  # as a kubelet leaves files of a Secret to fsGroup
            os.chown(file, 0, 10001)
            file.chmod(0o440)
        routes.mkdir()
        (routes / "node-a.json").write_text(json.dumps({
            "certificate": "courier.pem", "key": "courier.key", "authority": "authority.pem",
            "listen": {"address": "127.0.0.1:0", "peers": ["node-b"]}, "metrics": "127.0.0.1:0"}))
        self.node.root.chmod(0o755)
        self.node.volumes = {"certificates": certificates, "routes": routes}
        _, courier = self.daemon("courier.yaml")
        self.assertEqual(courier.end(), 0)


if __name__ == "__main__":
    if lacking := missing():
        print(f"skipped: this machine cannot play a node: {lacking}")
        sys.exit(77)
    ROOT, LIBRARY, PROGRAMS = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:7]
    del sys.argv[1:7]
    unittest.main()
