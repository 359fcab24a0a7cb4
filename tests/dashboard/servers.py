# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a coordinator that shares an etcd with another."""
import pathlib

from page import Page, options
from rig import Etcd, Rig


class Servers(Page):
    def test_shows_every_server_and_why_it_may_be_old(self):
        if not pathlib.Path(Etcd.PROGRAM).exists():
            self.skipTest("no etcd here: scripts/setup check")
        etcd = Etcd()
        self.addCleanup(etcd.close)
        for server in ("gpu1", "gpu2"):
            self.rig = Rig(options.coordinator, options.node, etcd=etcd.url, server=server)
            self.addCleanup(self.rig.close)
        self.rig.engine("lender", False, 0).do("lend", bytes=32 << 20)
        self.operate()
        self.until(lambda: self.texts("#servers td")[::7] == ["gpu1", "gpu2, this one"])
        self.until(lambda: self.texts("#servers td")[11] == "32 MiB")
        self.assertTrue(self.find("#servers-section").is_displayed())
        self.assertEqual(self.texts("#alerts li"), [])
        etcd.process.kill()
        self.until(lambda: self.texts("#alerts li") == ["What is told of other servers may be old."])
        self.assertIn(etcd.url, self.find("#servers-fault").text)
        self.assertEqual(len(self.texts("#servers tr")), 2, "it shows what it knew")
