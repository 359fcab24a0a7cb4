# SPDX-License-Identifier: Apache-2.0
"""What docs/engine/python.md, vllm_streams.md and vllm_weights.md tell vLLM is taken, and every option
is in their tables."""

from __future__ import annotations

import importlib
import json
import re

from conftest import PACKAGE
from vllm.v1.kv_offload.factory import OffloadingSpecFactory
from vllm_engine import Engine

from aqua_kv.vllm.loader_options import LoaderOptions
from aqua_kv.vllm.options import Options
from aqua_kv.vllm.stream_options import Peer, StreamOptions

PAGE = (PACKAGE.parent / "docs/engine/python.md").read_text()
VLLM_STREAMS = (PACKAGE.parent / "docs/engine/vllm_streams.md").read_text()
VLLM_WEIGHTS = (PACKAGE.parent / "docs/engine/vllm_weights.md").read_text()


def test_the_vllm_line_is_taken():
    shown = json.loads(re.search(r"--kv-transfer-config '(.*?)'", PAGE, re.S).group(1))
    assert shown["kv_connector"] == "OffloadingConnector"
    extra = shown["kv_connector_extra_config"]
    config = Engine().spec.config
    spec = OffloadingSpecFactory.create_spec(
        type(config)(**{**vars(config), "extra_config": extra})
    )
    assert type(spec).__name__ == "AquaOffloadingSpec"
    assert spec.chunk_count == 17179869184 // (config.worker_kv_bytes_per_block * 4)


def test_every_option_is_in_the_table():
    table = PAGE[PAGE.index('| under `"aqua"` |') :]
    for name in vars(Options(1)):
        assert f"`{name}`" in table, name


def test_the_weights_loaders_line_is_taken_and_its_options_are_in_the_table():
    shown = json.loads(re.search(r"--model-loader-extra-config '(.*?)'", VLLM_WEIGHTS, re.S).group(1))
    assert LoaderOptions.parse(shown).when_missing == "fail"
    table = VLLM_WEIGHTS[VLLM_WEIGHTS.index("| option |") : VLLM_WEIGHTS.index("## What happens")]
    told = {name for row in table.splitlines() for name in re.findall("`(\\w+)`", row.split("|")[1] if row else "")}
    assert told == set(vars(LoaderOptions()))
    for words in (r"`when_missing`.*?\| `publish` \|", r"`load_format`.*?\| `auto` \|"):
        assert re.search(words, table), words


def test_the_connectors_line_is_taken_and_its_options_are_in_the_table():
    shown = json.loads(re.search(r"--kv-transfer-config '(.*?)'", VLLM_STREAMS, re.S).group(1))
    module = importlib.import_module(shown["kv_connector_module_path"])
    assert getattr(module, shown["kv_connector"]) is module.AquaConnector
    options = StreamOptions.parse(shown["kv_connector_extra_config"])
    assert options.peer == Peer(16, 2)
    table = VLLM_STREAMS[VLLM_STREAMS.index('| under `"aqua"`') : VLLM_STREAMS.index("## How it works")]
    rows = [row.split("|") for row in table.splitlines()[2:] if row]
    assert {row[1].strip(" `") for row in rows} == set(vars(options))
    for name, default in (("sequences", "64"), ("patience_s", "120"), ("ready", "2")):
        assert next(r for r in rows if f"`{name}`" in r[1])[2].strip() == default
        assert str(getattr(options, name)) == default
    assert options.parcel_bytes == 256 << 20
    assert all(f"`{name}`" in table for name in vars(options.peer))
