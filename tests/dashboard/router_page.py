# SPDX-License-Identifier: Apache-2.0
"""The router's page, before a real router and simulated engines."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request

from accessibility import CONTRAST, controls_without_names, landmarks
from page import Page, options

PROMPT = "a long story"


class RouterRig:
    """A router that wants tokens, or none, and engines a and b. Everything ends with close()."""

    def __init__(self, *engines: list[str], guarded: bool = True, more: tuple[str, ...] = ()):
        self._folder = tempfile.TemporaryDirectory(prefix="aqua-router-page-")
        self._children: list[subprocess.Popen] = []
        self._replies: list = []
        self.tokens = {role: self._issue(role) for role in ("read-only", "engine", "operator")}
        self.engines = {name: self._start(options.simulator, *words)[1] for name, words in zip("ab", engines)}
        named = [word for name, url in self.engines.items() for word in ("--engine", f"{name}={url}")]
        guard = ["--tokens", self._token_file()] if guarded else []
        self.router, self.page = self._start(options.router, "--listen", "127.0.0.1:0", "--health", "100", *guard, *named,
                                             *more)

    def _token_file(self) -> str:
        return str(pathlib.Path(self._folder.name, "tokens"))

    def _issue(self, role: str) -> str:
        return subprocess.run([options.coordinator, "token", "issue", role, "--tokens", self._token_file()],
                              capture_output=True, text=True, check=True).stdout.strip()

    def _start(self, *command: str) -> tuple[subprocess.Popen, str]:
        """The process, and the address that its first line tells."""
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._children.append(child)
        line = child.stdout.readline()
        return child, re.search(r"http://\S+|127\.0\.0\.1:\d+", line)[0]

    def ask(self, path: str, role: str, body: dict | None = None, url: str = ""):
        headers = {"Authorization": f"Bearer {self.tokens[role]}", "Content-Type": "application/json"}
        request = urllib.request.Request((url or f"http://{self.page}") + path, json.dumps(body).encode() if body else None,
                                         headers)
        return urllib.request.urlopen(request, timeout=60)

    def begin(self, url: str = ""):
        """An answer that goes on until close(): its first token is here."""
        body = {"prompt": PROMPT, "max_tokens": 100_000, "min_tokens": 100_000, "stream": True}
        reply = self.ask("/v1/completions", "engine", body, url)
        self._replies.append(reply)
        for line in reply:
            if b'"text"' in line:
                break
        thread = threading.Thread(target=lambda: [None for _ in reply], daemon=True)  # it is read on
        thread.start()

    def requests(self) -> list[dict]:
        with self.ask("/admin/v1/requests", "read-only") as reply:
            return json.load(reply)["requests"]

    def move(self) -> str:
        """Orders the only request to the other engine, whose name it answers."""
        request, = self.requests()
        to = "b" if request["engine"] == "a" else "a"
        self.ask(f"/admin/v1/requests/{request['name']}/move", "operator", {"to": to}).close()
        return to

    def close(self):
        for child in reversed(self._children):
            child.kill()
            child.wait()
            child.stdout.close()
        for reply in self._replies:
            with contextlib.suppress(OSError):
                reply.close()
        self._folder.cleanup()


class RouterPage(Page):
    def setUp(self):
        if not options.router:
            self.skipTest("--router and --simulator name no programs")
        self.media()

    def rig_of(self, *engines, guarded=True, more=()):
        self.rig = RouterRig(*engines, guarded=guarded, more=more)
        self.addCleanup(self.rig.close)

    def look(self):
        self.visit(self.rig.tokens["read-only"])
        self.until(lambda: self.find("#connection").get_attribute("data-state") == "live")
        self.until(lambda: self.texts("#engines tr td:nth-child(2)") == ["up", "up"])

    def moved(self):
        """An answer has moved, and the page shows it."""
        self.rig_of([], [])
        self.look()
        self.rig.begin()
        self.until(lambda: len(self.texts("#requests tr")) == 1)
        to = self.rig.move()
        self.until(lambda: self.texts("#last tr td:nth-child(6)") == ["done"])
        return to

    def test_shows_engines_requests_and_moves_as_they_are(self):
        to = self.moved()
        self.assertEqual(self.texts("#engines tr td:nth-child(1)"), ["a", "b"])
        self.assertEqual(self.texts("#last tr td:nth-child(4)"), [to])
        self.assertEqual(self.texts("#last tr td:nth-child(5)"), ["tokens"])
        self.assertEqual(self.texts("#last tr td:nth-child(8)"), ["an operator ordered it"])
        self.until(lambda: self.texts("#requests tr td:nth-child(2)") == [to])
        self.assertEqual(self.texts("#moves tr td:nth-child(2)"), ["0", "1"])
        self.assertEqual(self.find("#model").text, "simulated")
        self.assertFalse(self.find("#no-last").is_displayed())
        self.assertFalse(self.find("#lent").is_displayed(), "it was told of no coordinator")

    def test_says_why_a_move_failed(self):
        self.rig_of(["--most", "1"], ["--most", "1"])
        self.look()
        self.rig.begin()
        self.until(lambda: len(self.texts("#requests tr")) == 1)
        to = "b" if self.rig.requests()[0]["engine"] == "a" else "a"
        self.rig.begin(self.rig.engines[to])  # which has all that it may then
        self.rig.move()
        self.until(lambda: self.texts("#moves tr td:nth-child(5)") == ["", "no_room 1"])
        self.assertEqual(self.texts("#moves tr td:nth-child(4)"), ["0", "1"])
        self.assertIn(f"engine {to}", self.texts("#last tr td:nth-child(9)")[0])
        self.assertIn(f"engine {to}", self.texts("#requests tr td:nth-child(5)")[0])

    def test_leads_to_where_lent_memory_is_shown(self):
        self.rig_of([], [], more=("--coordinator-page", "http://127.0.0.1:7070/"))
        self.look()
        self.assertTrue(self.find("#lent").is_displayed())
        self.assertEqual(self.find("#coordinator").get_attribute("href"), "http://127.0.0.1:7070/")

    def test_shows_nothing_without_a_token_and_says_why_one_is_refused(self):
        self.rig_of([], [])
        self.visit()
        self.until(lambda: self.find("#connection").text == "A token is wanted.")
        self.assertTrue(self.find("#token").is_displayed())
        self.visit("0" * 32)
        self.until(lambda: "nobody has this token" in self.find("#fault").text)
        self.assertEqual(self.texts("#engines tr"), [])

    def test_a_name_made_to_lead_here_sees_nothing(self):
        self.rig_of([], [], guarded=False)
        rebound = f"http://evil.example:{self.rig.page.split(':')[1]}"
        self.browser.get(f"{rebound}/")
        self.assertEqual(self.browser.execute_script("return location.origin"), rebound)
        for path in ("/admin/v1/requests", "/metrics", "/v1/models"):
            status = self.browser.execute_async_script(
                "fetch(arguments[0]).then((reply) => arguments[1](reply.status), () => arguments[1]('refused'))", path)
            self.assertEqual(status, 421, path)

    def test_a_router_that_is_gone_is_said(self):
        self.rig_of([], [])
        self.look()
        self.rig.router.send_signal(signal.SIGKILL)
        self.until(lambda: self.find("#connection").text.startswith("The router does not answer"))
        self.assertEqual(len(self.texts("#engines tr")), 2, "it shows what it knew")

    def test_a_router_that_is_stopped_is_said(self):
        self.rig_of([], [])
        self.look()
        self.rig.router.send_signal(signal.SIGSTOP)
        self.until(lambda: self.find("#connection").text.startswith("The router does not answer"))
        self.rig.router.send_signal(signal.SIGCONT)
        self.until(lambda: self.find("#connection").text == "Live")

    def test_a_router_that_ends_says_so_itself(self):
        self.rig_of([], [])
        self.look()
        self.rig.begin()  # which it waits for
        self.rig.router.send_signal(signal.SIGTERM)
        self.until(lambda: self.find("#connection").text == "the router is stopping")

    def test_names_are_never_markup(self):
        name = "<img src=x onerror=document.title='owned'>"
        self.rig_of(["--name", name], ["--name", name])
        self.look()
        self.assertEqual(self.find("#model").text, name)
        self.assertEqual(self.browser.title, "aqua router")

    def test_loads_nothing_from_elsewhere_and_runs_no_script_but_its_own(self):
        self.rig_of([], [])
        self.look()
        for name in self.browser.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)"):
            self.assertTrue(name.startswith((f"http://{self.rig.page}/", "data:")), name)
        blocked = self.browser.execute_async_script(
            "const done = arguments[0];"
            "document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));"
            "const s = document.createElement('script'); s.textContent = '1'; document.head.append(s);")
        self.assertEqual(blocked, "script-src-elem")

    def test_is_for_everybody(self):
        self.moved()
        tree = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        self.assertEqual(controls_without_names(tree), [])
        self.assertEqual([name for role, name in landmarks(tree) if role == "region"],
                         ["Engines", "Moves", "Last moves", "Requests"])
        for scheme in ("light", "dark"):
            self.media(scheme)
            low = self.browser.execute_script(CONTRAST)
            self.assertGreater(low["checked"], 30)
            self.assertEqual(low["faults"], [], scheme)
        self.media(width=360, height=740)
        wide = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide[0], wide[1])

    def test_axe_finds_no_fault(self):
        if not os.environ.get("AQUA_AXE"):
            self.skipTest("AQUA_AXE names no axe.min.js; see scripts/fetch-axe")
        self.moved()
        self.browser.execute_script(pathlib.Path(os.environ["AQUA_AXE"]).read_text(encoding="utf-8"))
        found = self.browser.execute_async_script("axe.run().then(arguments[0])")
        self.assertEqual([(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]], [])


