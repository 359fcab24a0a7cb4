# SPDX-License-Identifier: Apache-2.0
"""Questions, and clients that ask them."""
import json
import random
import threading
import time
import urllib.request

from play.process import Failure

ANSWER_TOKENS = 300
VOCABULARY = 50_000


def question(number, prompt_tokens, answer_tokens=ANSWER_TOKENS, stream=True):
    draw = random.Random(number)
    return {"prompt": [draw.randrange(VOCABULARY) for _ in range(prompt_tokens)], "max_tokens": answer_tokens,
            "min_tokens": answer_tokens, "seed": number, "stream": stream, "return_token_ids": True}


def events(url, body):
    """Those of a streamed answer."""
    request = urllib.request.Request(url, json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as reply:
        for line in reply:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise Failure(event["error"]["message"])
            yield event


def ask(url, body, token=lambda ids: None):
    """The ids of a streamed answer; `token` is called after each."""
    ids = []
    for event in events(url + "/v1/completions", body):
        ids += event["choices"][0]["token_ids"]
        token(ids)
    return ids


def ask_whole(url, body):
    """The ids of an answer that comes in one piece."""
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.load(reply)["choices"][0]["token_ids"]


def first_token_seconds(url, body, since=None):
    """Until the first token of its answer: from now on, or since then."""
    since, times = since or time.monotonic(), []
    ask(url, body, lambda ids: times.append(time.monotonic()))
    return times[0] - since


class Clients:
    """Ask one question after another until they are told to stop, and compare. Each has an `ask` of its own."""

    def __init__(self, count, right, make_ask):
        self.right, self.make_ask = right, make_ask
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.equal, self.wrong = 0, []
        self.threads = [threading.Thread(target=self.ask_on, args=(number,)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def ask_on(self, number):
        ask_one = None
        while not self.over.is_set():
            try:
                ask_one = ask_one or self.make_ask()
                body, right = self.right[number % len(self.right)]
                said = ask_one(body)
                fault = "" if said == right else f"question {number % len(self.right)}: another answer"
            except Exception as error:  # whatever is wrong with an answer
                fault = f"{error!r}"
            with self.lock:
                self.equal += not fault
                self.wrong += [fault] if fault else []
            number += 7

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
