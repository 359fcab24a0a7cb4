#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs schemathesis against a daemon of its own, with an operator's token and the session of a
client that lends. usage: api_fuzz.py PROGRAM SECONDS SCHEMATHESIS; called by scripts/api-fuzz"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request

LENDER = {
    "id": "5f00000000000000000000000000e2a1", "name": "fuzz", "device": "d1" * 16, "device_name": "emu:0", "server": "any",
    "domain": "local", "exchange": "/x", "producer": True, "consumer": True,
}


def main(program, seconds, schemathesis):
    program = os.path.abspath(program)
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        token = subprocess.run([program, "token", "issue", "operator", "--data", data],
                               check=True, capture_output=True, text=True).stdout.strip()
        log = open(os.path.join(folder, "log"), "w+")
        daemon = subprocess.Popen(
            [program, "--data", data, "--listen", "127.0.0.1:0", "--client-ttl", "600000",
             "--max-rate", "1000000"], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            address = daemon.stdout.readline().strip().removeprefix("listening on ")
            lifeline = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            lifeline.connect(os.path.join(data, "lifeline.sock"))
            lifeline.send(json.dumps({"version": 1, "client": LENDER["id"]}).encode())
            secret = json.loads(lifeline.recv(16384))["secret"]
            headers = {"Authorization": f"Bearer {token}", "Aqua-Session": secret}
            join = urllib.request.Request(f"http://{address}/v1/clients", json.dumps(LENDER).encode(),
                                          {**headers, "Content-Type": "application/json"})
            urllib.request.urlopen(join).read()
            command = [
                os.path.abspath(schemathesis), "run", f"http://{address}/openapi.json", "--url", f"http://{address}",
                # A 500 is documented nowhere, so the first of these finds it; a 503 is an answer.
                "--checks", "status_code_conformance,content_type_conformance,"
                "response_schema_conformance,response_headers_conformance",
                # A long poll waits by design, up to a minute; leaving would end what the rest needs.
                "--exclude-operation-id", "watch", "--exclude-operation-id", "watchGroup",
                "--exclude-operation-id", "leave",
                "--phases", "examples,coverage,fuzzing", "--max-time", str(seconds),
                "--request-timeout", "20", "--generation-database", "none", "--no-color", "--workers", "1",
            ]
            for name, value in headers.items():
                command += ["--header", f"{name}: {value}"]
            status = subprocess.run(command, cwd=folder).returncode
            if daemon.poll() is not None:
                log.seek(0)
                print(f"the daemon ended with {daemon.returncode}:\n{log.read()[-4000:]}")
                return 1
            healthy = urllib.request.urlopen(f"http://{address}/healthz").status == 200
            return status if healthy else 1
        finally:
            daemon.kill()
            daemon.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3]))
