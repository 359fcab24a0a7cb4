# SPDX-License-Identifier: Apache-2.0
"""Processes of the fleet, and how they are asked."""
import ctypes
import json
import re
import signal
import subprocess
import time
import urllib.request


START = time.monotonic()


class Failure(Exception):
    pass


def show(*words):
    print(f"[{time.monotonic() - START:6.2f} s]", *words, flush=True)


def die_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Child:
    """A process that ends with us at the latest."""

    def __init__(self, name, *command, stdin=None, stdout=subprocess.PIPE, stderr=None, log=None):
        """`log`: a file that has what it says, of which nothing is read here."""
        self.name = name
        if log:
            with open(log, "w") as file:
                return self.start(command, stdin, file, subprocess.STDOUT)
        self.start(command, stdin, stdout, stderr)

    def start(self, command, stdin, stdout, stderr):
        self.process = subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=stdout, stderr=stderr, text=True,
                                        preexec_fn=die_with_us)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise Failure(f"{self.name} has ended: exit status {self.process.wait()}")
        return text.strip()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def call(url, body=None, method=None, timeout=60):
    data = json.dumps(body).encode() if body else b"" if method == "POST" else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return reply.read().decode()


def await_true(what, condition, seconds=180):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise Failure(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def samples(text, name):
    """Of a metric: {its labels: its value}."""
    found = {}
    for labels, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.M):
        found[frozenset(re.findall(r'(\w+)="([^"]*)"', labels))] = float(value)
    return found
