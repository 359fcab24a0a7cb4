#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard in a real browser, before a real coordinator and real engines, and the router's page.

Usage: dashboard_test.py --coordinator PROGRAM --node PROGRAM [--router PROGRAM --simulator PROGRAM]
                         [--screenshots DIR] [unittest options]
AQUA_AXE names axe.min.js (scripts/fetch-axe); without it that one check is skipped. Exits 77
where there is no chromium, chromedriver or selenium (scripts/setup browser).
"""
import argparse
import os
import pathlib
import shutil
import signal
import sys
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select
except ImportError:
    print("skipped: no selenium; scripts/setup browser")
    sys.exit(77)

from accessibility import CONTRAST, controls_without_names, landmarks
from page import Page, options
from rig import MIB
from router_page import RouterPage  # noqa: F401  (as Tunnel)
from servers import Servers  # noqa: F401  (as Tunnel)
from tunnel import Tunnel  # noqa: F401  (unittest finds its tests here)


class Dashboard(Page):
    # --- what it shows ----------------------------------------------------------------------
    def test_shows_who_lends_to_whom(self):
        self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        self.assertEqual(self.texts("#loans td")[:5], ["lender", "borrower", "16", "32 MiB", "leased 16"])
        self.assertEqual(self.texts("#lenders .sum"), ["32 MiB of 32 MiB lent"])
        self.assertEqual(self.texts("#borrowers .sum"), ["borrows 32 MiB"])
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, "#bands path")), 1)
        self.assertIn("leased 32 MiB", self.find("#chart-text").text)
        self.assertEqual(self.texts("#alerts li"), [])

    def test_says_why_a_borrower_gets_nothing(self):
        self.lend()
        self.rig.engine("second", True, 2)
        self.operate()
        why = "Gets no more: nothing is offered to it now; of 1 lender within reach 1 with nothing free."
        self.until(lambda: sorted(self.texts("#borrowers .why")) == ["", why])

    def test_shows_a_reclaim_as_it_happens(self):
        producer, consumer = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        consumer.stop()  # it cannot move off yet
        producer.do("reclaim", bytes=4 * MIB, within_ms=600_000)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, '#reclaims tr[data-state="open"]'))
        self.assertIn("2", self.texts("#loans td")[4])
        self.assertTrue(self.browser.find_elements(By.CSS_SELECTOR, "#bands path.moving"))
        consumer.child.send_signal(signal.SIGCONT)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, '#reclaims tr[data-state="complete"]'))
        cells = self.texts("#reclaims td")
        self.assertEqual(cells[1:5], ["lender", "4.0 MiB", "4.0 MiB", "complete"])
        took = self.rig.ask("/v1/state")["reclaims"][0]["took_ms"]
        self.assertEqual(cells[5], f"{took} ms" if took < 1000 else f"{took / 1000:.1f} s")
        self.until(lambda: self.texts("#lenders .sum") == ["28 MiB of 28 MiB lent"])

    def test_slab_past_its_deadline_is_an_alert_until_it_is_back(self):
        _, consumer = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        consumer.stop()
        self.reclaim_by_page("lender", 2, 1)
        self.until(lambda: any("past its deadline: 1 slab missing, held by borrower" in text
                               for text in self.texts("#alerts li")))
        consumer.child.send_signal(signal.SIGCONT)
        self.until(lambda: not self.texts("#alerts li"))

    def test_lost_coordinator_is_said(self):
        self.operate()
        self.rig.daemon.kill()
        self.until(lambda: self.find("#connection").text.startswith("The coordinator does not answer"))

    def test_stopped_coordinator_is_said(self):
        self.operate()
        self.rig.daemon.send_signal(signal.SIGSTOP)
        self.until(lambda: self.find("#connection").text == "The coordinator does not answer; what is shown is old.")
        self.rig.daemon.send_signal(signal.SIGCONT)
        self.until(lambda: self.find("#connection").text == "Live")

    # --- orders -----------------------------------------------------------------------------
    def test_without_a_token_it_orders_nothing_and_says_why(self):
        self.lend()
        self.visit()
        self.until(lambda: "token" in self.find("#connection").text)
        self.assertFalse([each for each in self.browser.find_elements(By.CSS_SELECTOR, ".operator")
                          if each.is_displayed()])

    def test_wrong_token_is_refused(self):
        self.lend()
        self.visit("0" * 32)
        self.until(lambda: "refused" in self.find("#fault").text)
        self.assertFalse(self.find("#pair-form").is_displayed())
        self.assertEqual(self.texts("#lenders li"), [])
        self.assertEqual(self.rig.ask("/v1/state")["reclaims"], [])

    def test_operators_reclaim_brings_memory_home(self):
        producer, consumer = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        self.reclaim_by_page("lender", 6, 30)
        self.until(lambda: "accepted" in self.find("#outcome").text)
        self.until(lambda: self.texts("#lenders .sum") == ["26 MiB of 26 MiB lent"])
        self.until(lambda: producer.do("status")["lent"] == 26 * MIB)
        self.assertEqual(consumer.do("verify")["mismatches"], 0)

    def test_drain_empties_a_lender_and_ends(self):
        producer, _ = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        self.find('button[aria-label="Drain lender"]').click()
        self.find("#order-go").click()
        self.until(lambda: producer.do("status")["lent"] == 0)
        self.until(lambda: self.texts("#notes li") == ["lender is drained: nothing of it is lent."])
        self.assertEqual(self.texts("#alerts li"), [])
        self.assertEqual((self.texts("#lenders h3"), self.texts("#borrowers h3")), (["lender"], ["borrower"]),
                         "each stands where it was")
        self.find('button[aria-label="End drain lender"]').click()
        self.until(lambda: not self.texts("#notes li"))

    def test_chart_has_axes_and_marks_reclaims(self):
        producer, _ = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        self.assertEqual(self.texts("#chart-bytes span"), ["32 MiB", "16 MiB", "0 B"])
        self.assertRegex(" ".join(self.texts("#chart-times span")), r"^\S+ \w+ ago \S+ \w+ ago now$")
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "#chart-marks path"), [])
        producer.do("reclaim", bytes=4 * MIB, within_ms=60_000)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#chart-marks path"))
        self.assertTrue(self.find("#chart-key").is_displayed())

    def test_pair_and_unpair(self):
        self.rig.engine("lender", False, 0)
        self.rig.engine("borrower", True, 1)
        self.operate()
        self.until(lambda: self.texts("#pair-consumer option"))
        for field, name in (("#pair-producer", "lender"), ("#pair-consumer", "borrower")):
            Select(self.find(field)).select_by_visible_text(name)
        self.find("#pair-form button").click()
        self.until(lambda: self.texts("#loans td")[:2] == ["lender", "borrower"])
        self.assertEqual(len(self.rig.ask("/v1/pairs")["pairs"]), 1)
        self.find('button[aria-label="Unpair lender and borrower"]').click()
        self.until(lambda: self.rig.ask("/v1/pairs")["pairs"] == [])

    def test_names_are_never_markup(self):
        name = "<img src=x onerror=document.title='owned'>"
        self.rig.engine(name.replace("/", ""), False, 0)
        self.operate()
        self.until(lambda: name in self.texts("#lenders h3"))
        self.assertEqual(self.browser.title, "aqua coordinator")

    # --- for everybody ----------------------------------------------------------------------
    def test_controls_have_names_and_landmarks_are_there(self):
        self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        tree = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        self.assertEqual(controls_without_names(tree), [])
        found = landmarks(tree)
        for role in ("banner", "main"):
            self.assertEqual(len([1 for each, _ in found if each == role]), 1, found)
        regions = [name for role, name in found if role == "region"]
        self.assertEqual(regions, ["Alerts", "Devices", "Who lends to whom", "Bytes over time", "Reclaims"])

    def test_contrast_is_at_least_4_5_in_light_and_dark(self):
        _, consumer = self.lend()
        self.operate()
        consumer.stop()
        self.until(lambda: self.texts("#alerts li"))  # it is silent: alerts have a colour of their own
        for scheme in ("light", "dark"):
            self.media(scheme)
            low = self.browser.execute_script(CONTRAST)
            self.assertGreater(low["checked"], 40)
            self.assertEqual(low["faults"], [], scheme)

    def test_keyboard_alone_can_order_a_reclaim(self):
        producer, _ = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        self.browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")

        def press(*keys):
            webdriver.ActionChains(self.browser).send_keys(*keys).perform()

        def focused():
            return self.browser.switch_to.active_element

        self.browser.execute_script("document.querySelector('.skip').focus()")
        self.assertTrue(focused().is_displayed())
        for _ in range(30):
            if focused().get_attribute("aria-label") == "Reclaim lender":
                break
            press(Keys.TAB)
        self.assertEqual(focused().get_attribute("aria-label"), "Reclaim lender")
        self.assertNotEqual(focused().value_of_css_property("outline-style"), "none")
        press(Keys.ENTER)
        self.until(lambda: focused().get_attribute("id") == "order-mib")
        webdriver.ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
        press("2", Keys.ENTER)
        self.until(lambda: producer.do("status")["lent"] == 30 * MIB)
        self.assertEqual(focused().get_attribute("aria-label"), "Reclaim lender", "focus comes back")

    def test_focus_stays_while_the_page_lives(self):
        producer, _ = self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        button = self.find('button[aria-label="Drain borrower"]')
        self.browser.execute_script("arguments[0].focus()", button)
        producer.do("reclaim", bytes=4 * MIB, within_ms=60_000)
        self.until(lambda: self.texts("#lenders .sum") == ["28 MiB of 28 MiB lent"])
        self.assertEqual(self.browser.switch_to.active_element, button)

    def test_phone_needs_no_sideways_scrolling(self):
        self.lend()
        self.media(width=360, height=740)
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        wide = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide[0], wide[1])
        for table in self.browser.execute_script(
                "return [...document.querySelectorAll('.scroll')].map((e) => [e.scrollWidth, e.clientWidth])"):
            self.assertLessEqual(table[0], table[1], "a table is cut off")

    def test_reduced_motion_moves_nothing(self):
        producer, consumer = self.lend()
        self.media(motion="reduce")
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        consumer.stop()
        producer.do("reclaim", bytes=4 * MIB, within_ms=600_000)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#bands path.moving"))
        self.assertEqual(self.browser.execute_script("return document.getAnimations().length"), 0)
        self.media()
        self.assertGreater(self.browser.execute_script("return document.getAnimations().length"), 0)

    def test_axe_finds_no_fault(self):
        if not os.environ.get("AQUA_AXE"):
            self.skipTest("AQUA_AXE names no axe.min.js; see scripts/fetch-axe")
        self.lend()
        self.operate()
        self.until(lambda: self.texts("#loans tr"))
        axe = pathlib.Path(os.environ["AQUA_AXE"]).read_text(encoding="utf-8")
        for scheme in ("light", "dark"):
            self.media(scheme)
            self.browser.execute_script(axe)  # by the driver, which the page's policy does not bind
            found = self.browser.execute_async_script("axe.run().then(arguments[0])")
            faults = [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]]
            self.assertEqual(faults, [], scheme)
            self.assertGreater(len(found["passes"]), 20)

    def test_page_says_nothing_to_anybody_else(self):
        self.operate()
        loaded = self.browser.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
        self.assertTrue(loaded)
        for name in loaded:
            self.assertTrue(name.startswith((f"http://{self.rig.page}/", "data:")), name)
        blocked = self.browser.execute_async_script(
            "const done = arguments[0];"
            "document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));"
            "const s = document.createElement('script'); s.textContent = '1'; document.head.append(s);")
        self.assertEqual(blocked, "script-src-elem")

    # --- pictures for the docs --------------------------------------------------------------
    def test_screenshots(self):
        if not options.screenshots:
            self.skipTest("--screenshots DIR makes the pictures of docs/operate/dashboard.md")
        producer, consumer = self.lend("decode-0", "prefill-0")
        second, _ = self.lend("decode-1", "prefill-1", 2)
        self.operate()
        self.until(lambda: len(self.texts("#loans tr")) == 2)
        second.do("reclaim", bytes=8 * MIB, within_ms=60_000)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, '#reclaims tr[data-state="complete"]'))
        consumer.stop()
        producer.do("reclaim", bytes=12 * MIB, within_ms=60_000)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, '#reclaims tr[data-state="open"]'))
        self.until(lambda: self.texts("#alerts li"))
        folder = pathlib.Path(options.screenshots)
        folder.mkdir(parents=True, exist_ok=True)
        for name, scheme, width, height in (("light", "light", 1000, 1440), ("dark", "dark", 1000, 1440),
                                            ("phone", "light", 390, 1000)):
            self.media(scheme, width=width, height=height)
            self.browser.execute_script("scrollTo(0, 0)")
            path = folder / f"dashboard-{name}.png"
            self.browser.save_screenshot(str(path))
            self.assertLess(path.stat().st_size, 150_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coordinator", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--router")
    parser.add_argument("--simulator")
    parser.add_argument("--screenshots")
    parser.parse_known_args(namespace=options)
    rest = parser.parse_known_args()[1]
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            print(f"skipped: no {program}; scripts/setup browser")
            return 77
    unittest.main(argv=[sys.argv[0], *rest])
    return 0


if __name__ == "__main__":
    sys.exit(main())
