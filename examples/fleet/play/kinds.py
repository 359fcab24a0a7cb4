# SPDX-License-Identifier: Apache-2.0
"""Kinds of engines: how they are started, what they are asked, and what one alone says to it."""
import functools

from play.chats import OpenAiClient, ask_engine, ask_llama_server, chat, tokens_of_tales
from play.clients import ask, question
from play.members import Engine, LlamaServer

PACE_MS = 25  # an iteration, as on a GPU
CHAT_TOKENS = 120  # of an answer


class Integers:
    """fleet_engine: a transformer in integers."""
    moves = ("kv", "tokens")
    larger_model = ("--layers", 7, "--kv-heads", 6)
    router_words = ()
    ask_alone = staticmethod(ask)

    def __init__(self, options):
        self.options = options

    def engine(self, letter, *words, port=0, within=()):
        return Engine(self.options.build, letter, port, "fleet_engine", "--iteration-ms", PACE_MS, *words, within=within)

    def questions(self, count):
        return [question(number, 60) for number in range(count)]

    def asker(self, url):
        return functools.partial(ask, url)

    def long_question(self, engine, tokens):
        """Of so many tokens, by which moves are measured. While another engine computes it the answer goes on."""
        return question(1, tokens, 200 + tokens * 3 // 10)


class Llamas(Integers):
    """fleet_llama: a real model over the pages of a pool."""
    larger_model = ()
    ask_alone = staticmethod(ask_engine)

    def engine(self, letter, *words, port=0, within=()):
        return Engine(self.options.build, letter, port, "fleet_llama", "--model", self.options.model, "--budget", 96,
                      "--pool-blocks", 2048, *words, within=within)

    def questions(self, count):
        return [chat(number, CHAT_TOKENS) for number in range(count)]

    def asker(self, url):
        return OpenAiClient(url).ask

    def long_question(self, engine, tokens):
        return question(1, 1, 400 + tokens * 2) | {"prompt": tokens_of_tales(engine.url, tokens)}


class LlamaServers(Llamas):
    """llama.cpp's own server, as it is: it knows nothing of pools, and draws by no position."""
    moves = ("tokens",)
    # Requests wait for a place there, and a place is one request's until its answer has ended.
    router_words = ("--hold", 60_000, "--silence", 300)
    ask_alone = staticmethod(ask_llama_server)

    def engine(self, letter, *words, port=0, within=()):
        return LlamaServer(self.options.llama_server, letter, port, self.options.model)

    def questions(self, count):
        return [chat(number, CHAT_TOKENS) | {"temperature": 0} for number in range(count)]


def kind_of(options):
    return LlamaServers(options) if options.llama_server else Llamas(options) if options.model else Integers(options)
