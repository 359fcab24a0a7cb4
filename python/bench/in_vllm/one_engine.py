# SPDX-License-Identifier: Apache-2.0
"""One vLLM engine of in_vllm.py: one_engine.py ROLE DIRECTORY. DIRECTORY has the model; what came of it is
written there as ROLE.json, whole or not at all.

reference  answers all prompts at once, and then one by one
producer   computes them for the consumer, and one more, whose KV is passed off as another's
consumer   goes on with what the producer has computed; asks for a prompt that nobody computes
publish    as reference, by --load-format aqua: publishes the weights
map        likewise, once they are published
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

LENGTHS = (17, 33, 48, 64, 95, 128, 160, 211, 300, 420, 512, 700)
TOKENS = 32
BLOCKS = {"producer": 16, "consumer": 32}  # tokens of a block
PASSED_OFF = 3  # the prompt that another one's KV is passed off as
LOST = 4  # the prompt that is awaited in vain
PATIENCE_S = 20


def prompts() -> List[List[int]]:
    draw = random.Random(7)
    return [[draw.randrange(3, 2048) for _ in range(length)] for length in LENGTHS]


def other_prompt() -> List[int]:
    draw = random.Random(8)
    return [draw.randrange(3, 2048) for _ in range(LENGTHS[PASSED_OFF])]


class Place:
    """Files by which engines wait for one another."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, name: str, what: Any) -> None:
        new = self.directory / f"{name}.new"
        new.write_text(json.dumps(what), encoding="utf-8")
        new.replace(self.directory / f"{name}.json")

    def read(self, name: str, of: str) -> Any:
        """Waits for it for as long as the engine `of` has not failed; in_vllm.py ends who waits in vain."""
        while not (self.directory / f"{name}.json").exists():
            outcome = self.directory / f"{of}.json"
            if outcome.exists() and not json.loads(outcome.read_text(encoding="utf-8"))["ok"]:
                raise RuntimeError(f"{of} has failed")
            time.sleep(0.05)  # another process writes it, and tells nobody
        return json.loads((self.directory / f"{name}.json").read_text(encoding="utf-8"))


class Engine:
    def __init__(self, role: str, directory: Path) -> None:
        from vllm import LLM

        settings = directory / "settings.json"  # of in_vllm.py, for each engine
        more: Dict[str, Any] = json.loads(settings.read_text(encoding="utf-8"))
        if role in BLOCKS:
            peer = BLOCKS["consumer" if role == "producer" else "producer"]
            more["block_size"] = BLOCKS[role]
            more["kv_transfer_config"] = {
                "kv_connector": "AquaConnector", "kv_connector_module_path": "aqua_kv.vllm.connector",
                "kv_role": f"kv_{role}", "kv_load_failure_policy": "recompute",
                "kv_connector_extra_config": {"aqua": {
                    "name": "in_vllm", "peer": {"block_size": peer}, "patience_s": PATIENCE_S,
                    "parcel_bytes": 32 << 20, "socket_directory": str(directory),
                }},
            }
        if role in ("publish", "map"):
            more["load_format"] = "aqua"
            more["model_loader_extra_config"] = {
                "socket_directory": str(directory),
                "when_missing": "publish" if role == "publish" else "fail",
            }
        self._llm = LLM(
            model=str(directory / "model"), skip_tokenizer_init=True, dtype="bfloat16", seed=0,
            enforce_eager=True, max_model_len=1024, max_num_batched_tokens=512, max_num_seqs=16,
            gpu_memory_utilization=0.1, kv_cache_memory_bytes=128 << 20,
            enable_prefix_caching=False, disable_log_stats=False, **more,
        )

    def answers(
        self, asked: Sequence[List[int]], tokens: int = TOKENS,
        transfers: Optional[Sequence[Any]] = None,
    ) -> List[Dict[str, Any]]:
        from vllm import SamplingParams

        def sampling(transfer: Any) -> Any:
            extra = None if transfer is None else {"kv_transfer_params": dict(transfer)}
            return SamplingParams(
                temperature=0.0, max_tokens=tokens, ignore_eos=True, detokenize=False, logprobs=2,
                extra_args=extra)

        given = transfers if transfers is not None else [None] * len(asked)
        outputs = self._llm.generate(
            [{"prompt_token_ids": prompt} for prompt in asked], [sampling(each) for each in given],
            use_tqdm=False)

        def best(chances: Any) -> List[float]:
            return sorted((each.logprob for each in chances.values()), reverse=True)[:2]

        return [
            {"ids": list(output.outputs[0].token_ids),
             "best": [best(chances) for chances in output.outputs[0].logprobs],
             "transfer": output.kv_transfer_params}
            for output in outputs
        ]

    def loaded_tokens(self) -> int:
        """Of prompts, whose KV came from elsewhere, by vLLM's own count."""
        return sum(
            int(metric.value) for metric in self._llm.get_metrics()
            if metric.name == "vllm:external_prefix_cache_hits")


def play(role: str, place: Place) -> None:
    """Writes what came of it while the engine lives: its end may hang."""

    def tell(what: Dict[str, Any]) -> None:
        place.write(role, {"ok": True, **what})

    if role == "map":
        place.read("published", "publish")
    engine = Engine(role, place.directory)
    asked = prompts()
    if role == "producer":
        place.read("consumer_is_up", "consumer")  # there is room from then on
        all_asked = [*asked, other_prompt()]
        computed = engine.answers(all_asked, 1, [{"do_remote_decode": True}] * len(all_asked))
        place.write("computed", [each["transfer"] for each in computed])
        place.read("consumer", "consumer")  # it takes them from here
        return tell({"answers": computed})
    if role == "consumer":
        place.write("consumer_is_up", True)
        transfers = place.read("computed", "producer")
        taken = engine.answers([*asked, asked[PASSED_OFF]], TOKENS, transfers)
        loaded = engine.loaded_tokens()
        nobodys = {"do_remote_prefill": True, "do_remote_decode": False, "aqua_sequence": 12345,
                   "aqua_tokens": len(asked[LOST])}
        lost = engine.answers([asked[LOST]], TOKENS, [nobodys])
        return tell({
            "answers": taken[:-1], "passed_off": taken[-1], "lost": lost, "loaded_tokens": loaded})
    told: Dict[str, Any] = {"answers": engine.answers(asked)}
    if role == "reference":
        told["one_by_one"] = [engine.answers([prompt])[0] for prompt in asked]
    if role == "publish":
        place.write("published", True)
        place.read("map", "map")  # both have the weights at once
    return tell(told)


def main() -> None:
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1"  # goes on with its steps once answers are out
    role, place = sys.argv[1], Place(Path(sys.argv[2]))
    try:
        play(role, place)
        status = 0
    except BaseException as error:
        traceback.print_exc()
        place.write(role, {"ok": False, "error": f"{type(error).__name__}: {error}"})
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # in_vllm.py ends the processes that vLLM has started


if __name__ == "__main__":
    main()
