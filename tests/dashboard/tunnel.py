# SPDX-License-Identifier: Apache-2.0
"""The dashboard through a tunnel to the Unix socket, where the browser has an operator's rights."""
import json

from page import Page, options
from rig import Rig


class Tunnel(Page):
    def through_a_tunnel(self):
        self.rig = Rig(options.coordinator, options.node, tunnel=True)
        self.addCleanup(self.rig.close)
        self.rig.engine("lender", False, 0)
        self.until(lambda: self.rig.ask("/v1/state")["clients"])

    def fetch(self, url, **request):
        """What the page that is open gets when it asks: a status, or the browser's own refusal."""
        return self.browser.execute_async_script(
            "const done = arguments[2];"
            "fetch(arguments[0], arguments[1]).then((reply) => done(reply.status), () => done('refused'))",
            url, request)

    def drain(self, url, kind="application/json", **more):
        client = self.rig.ask("/v1/state")["clients"][0]["id"]
        return self.fetch(f"{url}/v1/drains", method="POST", headers={"Content-Type": kind},
                          body=json.dumps({"client": client, "within_ms": 1000}), **more)

    def drained(self):
        return self.rig.ask("/v1/state")["clients"][0]["draining"]

    def test_behind_a_tunnel_it_shows_the_state_and_orders_nothing_without_a_token(self):
        self.through_a_tunnel()
        self.visit()
        self.until(lambda: self.texts("#lenders h3") == ["lender"])
        self.assertEqual(self.drain(f"http://{self.rig.page}"), 403)
        self.assertFalse(self.drained())
        self.operate()
        self.find('button[aria-label="Drain lender"]').click()
        self.find("#order-go").click()
        self.until(self.drained)

    def test_a_name_made_to_lead_here_gives_no_orders_and_sees_nothing(self):
        self.through_a_tunnel()
        rebound = f"http://evil.example:{self.rig.page.split(':')[1]}"
        self.browser.get(f"{rebound}/")
        self.assertEqual(self.browser.execute_script("return location.origin"), rebound)
        self.assertEqual(self.fetch(f"{rebound}/v1/state"), 421)
        self.assertEqual(self.drain(rebound), 421)
        self.assertFalse(self.drained())

    def test_a_page_of_another_port_gives_no_orders_and_sees_nothing(self):
        self.through_a_tunnel()
        other = Rig(options.coordinator, options.node)  # serves a page, too, on a port of its own
        self.addCleanup(other.close)
        self.browser.get(f"http://{other.address}/openapi.json")  # no policy binds this document
        ours = f"http://{self.rig.page}"
        for mode in ("cors", "no-cors"):
            for kind in ("application/json", "text/plain"):
                self.assertIn(self.drain(ours, kind, mode=mode), ("refused", 0), (mode, kind))
            self.assertIn(self.fetch(f"{ours}/v1/state", mode=mode), ("refused", 0), mode)
        self.assertFalse(self.drained())
