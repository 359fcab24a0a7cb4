# SPDX-License-Identifier: Apache-2.0
"""The dashboard as a test drives it: engines around it, a browser before it, its orders given."""
import argparse
import shutil
import unittest

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from rig import MIB, Rig

PATIENCE = 60
options = argparse.Namespace()


def open_browser():
    chrome = webdriver.ChromeOptions()
    chrome.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--hide-scrollbars", "--window-size=1100,900",
                     "--host-resolver-rules=MAP evil.example 127.0.0.1"):
        chrome.add_argument(argument)
    return webdriver.Chrome(options=chrome, service=webdriver.chrome.service.Service(shutil.which("chromedriver")))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def setUp(self):
        self.rig = Rig(options.coordinator, options.node)
        self.addCleanup(self.rig.close)
        self.media()

    def lend(self, lender="lender", borrower="borrower", number=0):
        """A lender of 32 MiB, all of it held by a borrower."""
        producer = self.rig.engine(lender, False, number)
        consumer = self.rig.engine(borrower, True, number + 1)
        producer.do("lend", bytes=32 * MIB)
        self.until(lambda: sum(slab["state"] == "leased" for slab in self.slabs(lender)) == 16)
        return producer, consumer

    def slabs(self, lender):
        state = self.rig.ask("/v1/state")
        own = {client["id"] for client in state["clients"] if client["name"] == lender}
        return [slab for slab in state["slabs"] if slab["producer"] in own]

    def visit(self, token=None):
        self.browser.get(f"http://{self.rig.page}/")
        if token is not None:
            self.browser.execute_script("document.querySelector('#access').open = true")
            self.find("#token").send_keys(token)
            self.find("#token-form button[type=submit]").click()

    def operate(self):
        self.visit(self.rig.operator_token)
        self.until(lambda: self.find("#connection").get_attribute("data-state") == "live")
        self.until(lambda: "operating" in (self.find("body").get_attribute("class") or ""))

    def find(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def texts(self, css):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)", css)

    def until(self, condition, what=""):
        return WebDriverWait(self.browser, PATIENCE, poll_frequency=0.05).until(lambda _: condition(), what)

    def media(self, scheme="light", motion="no-preference", width=1100, height=900):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def reclaim_by_page(self, lender, mib, seconds):
        self.find(f'button[aria-label="Reclaim {lender}"]').click()
        for field, value in (("#order-mib", mib), ("#order-seconds", seconds)):
            self.find(field).clear()
            self.find(field).send_keys(str(value))
        self.find("#order-go").click()
