#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/operate/metrics.md and the alert rules against a running coordinator.

Usage: check_metrics_doc.py COORDINATOR ROOT. Every metric is in the document's table with its type
and labels, and no other; every alert has its section; every metric that an alert asks for exists, or
is on the router's, the courier's or the keeper's page, which tests of theirs hold against these.
"""
import pathlib
import re
import socket
import subprocess
import sys
import tempfile


def scrape(program: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        daemon = subprocess.Popen([program, "--data", folder + "/data"], stdout=subprocess.PIPE, text=True)
        try:
            path = daemon.stdout.readline().split("unix:")[1].strip()
            text = ""
            for _ in range(2):  # the second time there is a request to tell of
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(path)
                    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: aqua\r\nConnection: close\r\n\r\n")
                    text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
            return text.split("\r\n\r\n", 1)[1]
        finally:
            daemon.kill()
            daemon.wait()
            daemon.stdout.close()


def served(text: str) -> dict[str, tuple[str, set[str]]]:
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    labels: dict[str, set[str]] = {name: set() for name in types}
    for sample, inside in re.findall(r"^([a-z_]+)(?:\{(.*)\})? ", text, re.M):
        base = re.sub(r"_(bucket|sum|count)$", "", sample)
        name = base if types.get(base) == "histogram" else sample
        labels[name] |= set(re.findall(r'([a-z_]+)="', inside)) - {"le"}
    return {name: (types[name], labels[name]) for name in types}


def documented(text: str) -> dict[str, tuple[str, set[str]]]:
    rows = re.findall(r"^\| `([a-z_]+)` \| (gauge|counter|histogram) \| (.*?) \|", text, re.M)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def main() -> int:
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    text = scrape(program)
    document = (root / "docs/operate/metrics.md").read_text()
    rules = (root / "packaging/aqua-alerts.rules.yml").read_text()
    have, told = served(text), documented(document)
    have["aqua_loan_bytes"] = ("gauge", {"producer", "consumer"})  # nothing is lent here
    # What an engine serves, by headers of ours.
    headers = "".join(path.read_text() for path in (root / "include/aqua").glob("*/*metrics.hpp"))
    have |= {name: row for name, row in told.items() if name.startswith("aqua_engine_") and f'"{name}"' in headers}
    faults = [f"not in docs/operate/metrics.md, or otherwise: {name} {have[name]}, told {told.get(name)}"
              for name in have if told.get(name) != have[name]]
    faults += [f"not in docs/operate/metrics.md: {name}"
               for name in sorted(set(re.findall(r'"(aqua_engine_\w+)"', headers)) - told.keys())]
    faults += [f"docs/operate/metrics.md tells of {name}, which there is not" for name in told.keys() - have.keys()]
    others = "".join((root / "docs/operate" / page).read_text() for page in ("router.md", "courier.md", "keeper.md"))
    elsewhere = set(re.findall(r"\baqua_(?:router|courier|keeper)_[a-z_]+", others))
    alerts = re.findall(r"- alert: (\w+)", rules)
    faults += [f"no section for alert {alert}" for alert in alerts if f"\n### {alert}\n" not in document]
    faults += [f"alert {alert} does not name its section" for alert in alerts if f"#{alert.lower()}\n" not in rules]
    for name in re.findall(r"\b((?:aqua|process)_[a-z_]+)", "\n".join(re.findall(r"expr: (.*)", rules))):
        if re.sub(r"_bucket$", "", name) not in have and name not in elsewhere:
            faults.append(f"the rules ask for {name}, which there is not")
    if not alerts:
        faults.append("no alerts found")
    print("\n".join(faults) if faults else f"{len(have)} metrics and {len(alerts)} alerts are as documented")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
