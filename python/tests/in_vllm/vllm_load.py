# SPDX-License-Identifier: Apache-2.0
"""An engine's worker as a process of its own: loads a model with load format aqua, and writes what
came of it as JSON. Arguments: a JSON object of options, among them the loader's under "extra"."""

from __future__ import annotations

import json
import sys
import time

import conftest  # noqa: F401  (the stand-in's path)

try:
    import torch
except ImportError:
    import torch_standin as torch

    sys.modules["torch"] = torch

from vllm.distributed import parallel_state
from vllm_models import configuration, contents

from aqua_kv.vllm import identity
from aqua_kv.vllm.loader import AquaModelLoader


def main() -> None:
    told = json.loads(sys.argv[1])
    parallel_state.TENSOR.rank_in_group = told.get("rank", 0)
    parallel_state.TENSOR.world_size = told.get("ranks", 1)
    parallel_state.WORLD.rank_in_group = told.get("rank", 0)
    parallel_state.WORLD.world_size = told.get("ranks", 1)
    parallel_state.WORLD.place = told.get("place", "")
    if "versions" in told:  # that ranks find, each its own
        identity.checkpoint_version = lambda _: told["versions"][told["rank"]]
        told["extra"]["version"] = ""
    config = configuration(told.get("kind", "Small"), told.get("seed", 1), **told["extra"])
    hf = config.model_config.hf_config
    load = hf.model_class

    def model_class():
        make = load()

        def made(config):
            model = make(config)
            reading = model.load

            def slow_load(config):
                print("reading", flush=True)
                time.sleep(told.get("read_seconds", 0))
                reading(config)

            object.__setattr__(model, "load", slow_load)
            return model

        return made

    hf.model_class = model_class
    loader = AquaModelLoader(config.load_config)
    external = loader.get_external_weight_memory(config) if told.get("ask") else None
    model = loader.load_model(config, config.model_config)
    print(json.dumps({
        "reads": hf.reads, "external": external, "contents": contents(model),
    }), flush=True)
    if told.get("write"):
        model.embed.weight.copy_(model.embed.weight.clone())
        print("written", flush=True)
    if told.get("stay"):
        sys.stdin.readline()


if __name__ == "__main__":
    main()
