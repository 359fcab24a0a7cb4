# SPDX-License-Identifier: Apache-2.0
"""Chats with engines that have a language, by OpenAI's own client (PyPI: openai)."""
import json

from play.clients import events
from play.process import call

SUBJECTS = ("a lighthouse", "the tides", "a mill on a river", "how bread rises", "a letter that came late", "two brothers",
            "a garden in winter", "the first bicycle")
SHARED = ("seed", "temperature", "max_tokens", "min_tokens")


def chat(number, answer_tokens):
    """A question and how it is to be answered: half of them with the likeliest tokens."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    return {"messages": [{"role": "system", "content": "You are a patient storyteller who likes details."},
                         {"role": "user", "content": f"Story {number}: tell me about {subject}, at some length."}],
            "seed": number, "temperature": 0.8 * (number % 2), "max_tokens": answer_tokens,
            "min_tokens": answer_tokens // 2}


def tokens_of_tales(url, count):
    """So many, of an engine's own."""
    tale = " ".join(f"{number}. There was {subject}." for number, subject in enumerate(SUBJECTS * count))
    return json.loads(call(url + "/tokenize", {"prompt": tale}))["tokens"][:count]


def said_by(found):
    """(the ids of an answer, its text)"""
    ids, text = [], ""
    for more, words in found:
        ids += more
        text += words
    return ids, text


def ask_engine(url, body):
    """An engine itself knows no chats but their tokens."""
    prompt = json.loads(call(url + "/tokenize", {"messages": body["messages"], "add_generation_prompt": True}))["tokens"]
    asked = {key: body[key] for key in SHARED} | {"prompt": prompt, "stream": True, "return_token_ids": True}
    choices = (event["choices"][0] for event in events(url + "/v1/completions", asked))
    return said_by((choice["token_ids"], choice["text"]) for choice in choices)


def ask_llama_server(url, body):
    text = json.loads(call(url + "/apply-template", {"messages": body["messages"]}))["prompt"]
    prompt = json.loads(call(url + "/tokenize", {"content": text, "add_special": True, "parse_special": True}))["tokens"]
    asked = {"prompt": prompt, "n_predict": body["max_tokens"], "temperature": body["temperature"], "stream": True,
             "return_tokens": True, "cache_prompt": True}
    return said_by((event["tokens"], event["content"]) for event in events(url + "/completion", asked))


class OpenAiClient:
    def __init__(self, url):
        import openai  # wanted here alone
        self.client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=600)
        self.model = self.client.models.list().data[0].id

    def ask(self, body):
        own = {"min_tokens": body["min_tokens"], "return_token_ids": True}
        with self.client.chat.completions.create(
                model=self.model, messages=body["messages"], seed=body["seed"], temperature=body["temperature"],
                max_tokens=body["max_tokens"], stream=True, extra_body=own) as chunks:
            return said_by((getattr(chunk.choices[0], "token_ids", None) or [], chunk.choices[0].delta.content or "")
                           for chunk in chunks if chunk.choices)
