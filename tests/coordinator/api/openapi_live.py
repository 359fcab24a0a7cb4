#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a running aqua-coordinator against the OpenAPI document that it serves itself: every
operation is called with its documented example and with faults, and every reply must be of a
documented status, type and shape, without an undocumented field.

usage: openapi_live.py PROGRAM; exit status 77: skipped, jsonschema is missing
"""
import copy
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: Python's jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)

KNOWN_BAD = "f" * 32


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("aqua")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, program, folder):
        self.data = os.path.join(folder, "data")
        self.process = subprocess.Popen([program, "--data", self.data], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on unix:"), line
        self.path = line.strip().removeprefix("listening on unix:")

    def call(self, method, target, body=None, headers=None):
        connection = Unix(self.path)
        headers = dict(headers or {})
        if body is not None:
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, target, body=body, headers=headers)
        except BrokenPipeError:
            pass  # refused before all was sent: the reply is there to be read
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()

    def session(self, client):
        """A lifeline, to be kept open, and its secret."""
        lifeline = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        lifeline.connect(os.path.join(self.data, "lifeline.sock"))
        lifeline.send(json.dumps({"version": 1, "client": client}).encode())
        return lifeline, json.loads(lifeline.recv(16384))["secret"]


def closed(schema):
    """The schema with every object shut: an undocumented field in a reply is a fault."""
    if isinstance(schema, dict):
        schema = {key: closed(value) for key, value in schema.items()}
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        schema = [closed(value) for value in schema]
    return schema


class Checker:
    def __init__(self, document):
        self.document = document
        self.root = {"components": closed(document["components"])}
        self.checked = set()

    def validate(self, schema, value):
        jsonschema.Draft202012Validator({**schema, **self.root}).validate(value)

    def operation(self, method, path):
        return self.document["paths"][path][method.lower()]

    def reply(self, method, path, status, headers, body):
        responses = self.operation(method, path)["responses"]
        where = f"{method} {path} {status}"
        assert str(status) in responses, f"{where} is not documented: {body!r}"
        response = responses[str(status)]
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].split("/")[-1]]
        media = headers["Content-Type"]
        assert media in response["content"], f"{where} came as {media}"
        value = json.loads(body) if "json" in media else body.decode()
        schema = response["content"][media]["schema"]
        self.validate(closed(schema), value)
        if status >= 400:
            assert value["status"] == status, where
        self.checked.add((method, path, status))
        return value


def main(program):
    folder = tempfile.TemporaryDirectory()
    daemon = Daemon(program, folder.name)
    try:
        document = json.loads(daemon.call("GET", "/openapi.json")[2])
        assert document["openapi"].startswith("3.1."), document["openapi"]
        for schema in document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        checker = Checker(document)

        def example(method, path):
            content = checker.operation(method, path)["requestBody"]["content"]["application/json"]
            jsonschema.Draft202012Validator({**content["schema"], "components": document["components"]}).validate(
                content["example"])
            return copy.deepcopy(content["example"])

        def call(secret, method, path, body=None, expect=200, target=None, headers=None):
            headers = dict(headers or {})
            if secret:
                headers["Aqua-Session"] = secret
            status, got, text = daemon.call(method, target or path, body, headers)
            assert status == expect, f"{method} {path}: {status} {text!r}, expected {expect}"
            return checker.reply(method, path, status, got, text)

        # The examples tell one story: A lends, B borrows, A wants it back.
        a = example("POST", "/v1/clients")
        pair = example("PUT", "/v1/pairs")
        b = {**a, "id": pair["consumer"], "device": "d2" * 16, "producer": False}
        a["consumer"] = False
        line_a, lender = daemon.session(a["id"])
        line_b, borrower = daemon.session(b["id"])
        for path in ("/", "/dashboard.css", "/common.js", "/dashboard.js", "/healthz", "/readyz", "/v1/info", "/v1/servers", "/openapi.json"):
            call(None, "GET", path)
        call(lender, "POST", "/v1/clients", a)
        call(borrower, "POST", "/v1/clients", b)
        call(lender, "POST", "/v1/clients/self/renew")
        call(lender, "POST", "/v1/offers", example("POST", "/v1/offers"))
        call(None, "PUT", "/v1/pairs", pair)
        call(None, "GET", "/v1/pairs")
        grants = call(borrower, "POST", "/v1/leases", example("POST", "/v1/leases"), headers={"Idempotency-Key": "k-1"})
        again = call(borrower, "POST", "/v1/leases", example("POST", "/v1/leases"), headers={"Idempotency-Key": "k-1"})
        assert grants == again and len(grants["grants"]) == 1, (grants, again)
        index = grants["grants"][0]["index"]
        withdrawal = example("POST", "/v1/offers/withdraw")
        call(lender, "POST", "/v1/offers/withdraw", {"indexes": [index]}, expect=409)
        withdrawal["indexes"] = [1 - index]
        call(lender, "POST", "/v1/offers/withdraw", withdrawal)
        reclaim = call(lender, "POST", "/v1/reclaims", {**example("POST", "/v1/reclaims"), "within_ms": 60000})
        number = reclaim["reclaim"]["id"]
        call(lender, "GET", "/v1/reclaims/{id}", target=f"/v1/reclaims/{number}")
        for secret in (lender, borrower):
            call(secret, "GET", "/v1/watch")
            events = call(secret, "GET", "/v1/watch", target="/v1/watch?after=0&timeout_ms=0")
            assert events["events"], events
            call(secret, "GET", "/v1/clients/self")
        call(None, "GET", "/v1/state")
        given = example("POST", "/v1/leases/return")
        given["leases"][0]["index"] = index
        given["leases"].append({**given["leases"][0], "index": 77})
        results = call(borrower, "POST", "/v1/leases/return", given)["results"]
        assert results[0] == {} and results[1]["code"] == "not_found", results
        clean = example("POST", "/v1/offers/scrubbed")
        clean["slabs"][0]["index"] = index
        clean["slabs"].append({**clean["slabs"][0], "index": 77})
        results = call(lender, "POST", "/v1/offers/scrubbed", clean)["results"]
        assert results[0] == {"state": "returned"} and results[1]["code"] == "not_found", results
        call(None, "DELETE", "/v1/pairs/{consumer}", target=f"/v1/pairs/{b['id']}")
        call(None, "DELETE", "/v1/pairs/{consumer}", target=f"/v1/pairs/{b['id']}", expect=404)
        story = call(None, "GET", "/v1/slabs/{producer}/{index}/events", target=f"/v1/slabs/{a['id']}/{index}/events")
        assert [event["event"] for event in story["events"]] == ["offer", "grant", "reclaim", "give_back", "scrub"], story
        assert call(None, "GET", "/v1/history")["samples"]
        assert "aqua_slabs{" in call(None, "GET", "/metrics")

        # Both serve a model as a pipeline of two stages; B leaves it and comes back.
        made = call(lender, "POST", "/v1/groups", example("POST", "/v1/groups"))["group"]
        assert made["state"] == "forming" and made["term"] == 1, made

        def of_group(secret, method, what, body=None, **more):
            path = "/v1/groups/{group}" + what.partition("?")[0]
            return call(secret, method, path, body, target=f"/v1/groups/{made['id']}{what}", **more)

        joins = example("POST", "/v1/groups/{group}/join")
        other = {**joins, "rank": {**joins["rank"], "stage": 1}}
        of_group(lender, "POST", "/join", joins)
        assert of_group(borrower, "POST", "/join", other)["group"]["state"] == "running"
        of_group(borrower, "POST", "/join", {**other, "shape": {**other["shape"], "dtype": "bf16"}}, expect=409)
        of_group(borrower, "POST", "/leave")
        assert of_group(lender, "GET", "/watch")["group"]["state"] == "waiting"
        of_group(lender, "POST", "/acknowledge", {"term": 1, "marks": []}, expect=409)
        of_group(lender, "POST", "/acknowledge", example("POST", "/v1/groups/{group}/acknowledge"))
        of_group(borrower, "POST", "/join", other)
        plan = of_group(borrower, "POST", "/acknowledge", {"term": 2, "marks": []})["group"]["plan"]
        assert plan["resume"] == [{"role": "decode", "sequence": 7, "mark": 0}], plan
        of_group(lender, "POST", "/resumed", example("POST", "/v1/groups/{group}/resumed"))
        of_group(borrower, "POST", "/resumed", {"term": 2})
        seen = of_group(None, "GET", "")["group"]
        assert seen["state"] == "running" and seen["term"] == 2, seen
        after = f"/watch?after={seen['version']}&timeout_ms=0"
        assert of_group(lender, "GET", after)["group"]["version"] == seen["version"]
        assert [row["name"] for row in call(None, "GET", "/v1/groups")["groups"]] == [seen["name"]]
        of_group(lender, "POST", "/close")
        of_group(None, "GET", "", expect=404)
        made = call(lender, "POST", "/v1/groups", example("POST", "/v1/groups"))["group"]
        of_group(None, "DELETE", "")

        # An operator takes memory home, and has a lender lend no more.
        offer = example("POST", "/v1/offers")
        call(lender, "POST", "/v1/offers", {"slabs": [{**offer["slabs"][0], "index": 5}]})
        recall = call(None, "POST", "/v1/recalls", example("POST", "/v1/recalls"))
        assert [slab["index"] for slab in recall["withdrawn"]] == [5], recall
        events = call(lender, "GET", "/v1/watch", target="/v1/watch?after=0&timeout_ms=0")["events"]
        assert events[-1]["kind"] in ("withdrawn", "reclaim_done"), events
        call(None, "POST", "/v1/drains", example("POST", "/v1/drains"))
        draining = {row["id"]: row["draining"] for row in call(None, "GET", "/v1/state")["clients"]}
        assert draining == {a["id"]: True, b["id"]: False}, draining
        call(None, "DELETE", "/v1/drains/{client}", target=f"/v1/drains/{a['id']}")
        call(borrower, "DELETE", "/v1/clients/self")

        # Faults, on every operation that can have them.
        for path, operations in document["paths"].items():
            target = path.replace("{id}", "999").replace("{index}", "1")
            for of in ("{consumer}", "{client}", "{producer}", "{group}"):
                target = target.replace(of, KNOWN_BAD)
            for method, operation in operations.items():
                method = method.upper()
                if any("session" in way for way in operation["security"]):
                    call(None, method, path, {} if "requestBody" in operation else None, expect=401, target=target)
                    call(KNOWN_BAD, method, path, {} if "requestBody" in operation else None, expect=401, target=target)
                if "requestBody" in operation:
                    for bad in (b"{", b"[]", b"{}", b"\xff"):
                        call(lender, method, path, bad, expect=400, target=target)
                    call(lender, method, path, b"x" * 1048577, expect=413, target=target)
                    call(lender, method, path, b"{}", expect=415, target=target, headers={"Content-Type": "text/plain"})
                call(lender, method, path, expect=401, target=target, headers={"Authorization": "Bearer no"})
                call(lender, method, path, expect=400, target=target, headers={"Range": "bytes=0-1"})
                call(lender, method, path, expect=431, target=target, headers={f"X-{i}": "y" for i in range(80)})
        call(lender, "GET", "/v1/reclaims/{id}", target="/v1/reclaims/999", expect=404)
        call(lender, "GET", "/v1/reclaims/{id}", target="/v1/reclaims/x", expect=400)
        story = "/v1/slabs/{producer}/{index}/events"
        call(None, "GET", story, target=f"/v1/slabs/{KNOWN_BAD}/1/events", expect=404)
        call(None, "GET", story, target=f"/v1/slabs/{KNOWN_BAD}/x/events", expect=400)
        call(None, "DELETE", "/v1/drains/{client}", target=f"/v1/drains/{KNOWN_BAD}", expect=404)

        every = {(m.upper(), p) for p, ops in document["paths"].items() for m in ops}
        never = every - {(m, p) for m, p, status in checker.checked if status == 200}
        assert not never, f"never answered 200: {sorted(never)}"
        print(f"{len(every)} operations, {len(checker.checked)} kinds of replies, all as documented")
        line_a.close()
        line_b.close()
    finally:
        daemon.process.kill()
        daemon.process.wait()


if __name__ == "__main__":
    main(sys.argv[1])
