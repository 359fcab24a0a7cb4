# SPDX-License-Identifier: Apache-2.0
"""aqua_kv.vllm's connector against the files of the pinned vLLM."""

from __future__ import annotations

import ast

import pytest
from conftest import PACKAGE
from vllm_interface import (  # noqa: F401  (theirs is a fixture)
    check_alike,
    classes,
    fields,
    is_abstract,
    methods,
    theirs,
)

CONNECTORS = "distributed/kv_transfer/kv_connector"


def test_our_connector_implements_the_interface(theirs):
    ours = classes((PACKAGE / "aqua_kv/vllm/connector.py").read_text())["AquaConnector"]
    base = classes(theirs.text(f"{CONNECTORS}/v1/base.py"))["KVConnectorBase_V1"]
    assert [ast.unparse(each) for each in ours.bases] == ["KVConnectorBase_V1"]
    assert {n for n, m in methods(base).items() if is_abstract(m)} <= set(methods(ours))
    own = {name for name in methods(ours) if name.startswith("_") or name == "open_runtime"}
    shared = set(methods(ours)) - own | {"__init__"}
    assert shared <= set(methods(base)) and len(shared) > 10
    for name in shared:
        check_alike(methods(ours)[name], methods(base)[name])


def test_its_metadata_is_of_their_kind(theirs):
    ours = classes((PACKAGE / "aqua_kv/vllm/stream_scheduler.py").read_text())
    assert [ast.unparse(b) for b in ours["AquaConnectorMetadata"].bases] == ["KVConnectorMetadata"]
    assert "KVConnectorMetadata" in classes(theirs.text(f"{CONNECTORS}/v1/base.py"))


@pytest.mark.parametrize(
    "name, base", [("StreamStats", "KVConnectorStats"), ("StreamPromMetrics", "KVConnectorPromMetrics")]
)
def test_its_metrics_are_of_their_kind(theirs, name, base):
    ours = classes((PACKAGE / "aqua_kv/vllm/stream_metrics.py").read_text())[name]
    text = theirs.text(f"{CONNECTORS}/v1/metrics.py")
    there = methods(classes(text)[base])
    assert [ast.unparse(each) for each in ours.bases] == [base]
    for method, own in methods(ours).items():
        check_alike(own, there[method])
    # They raise NotImplementedError in the base.
    assert {n for n, m in there.items() if "NotImplementedError" in ast.unparse(m)} <= set(methods(ours))
    assert "self._counter_cls = metric_types[Counter]" in text


@pytest.mark.parametrize(
    "name, used",
    [
        ("SchedulerOutput", ["scheduled_new_reqs", "scheduled_cached_reqs", "num_scheduled_tokens",
                             "preempted_req_ids"]),
        ("NewRequestData", ["req_id", "block_ids", "num_computed_tokens"]),
        ("CachedRequestData", ["req_ids", "resumed_req_ids", "new_block_ids",
                               "num_computed_tokens"]),
    ],
)
def test_what_it_reads_of_a_step_is_there(theirs, name, used):
    there = classes(theirs.text("v1/core/sched/output.py"))[name]
    assert set(used) <= set(fields(there))
    text = (PACKAGE / "aqua_kv/vllm/stream_scheduler.py").read_text()
    assert all(f".{field}" in text for field in used), "the list here is out of date"


def test_caches_have_the_form_that_it_reads(theirs):
    layouts = classes(theirs.text("v1/kv_cache_layout.py"))["KVCacheLayout"]
    assert "[L, B, H, N, <content>]" in (ast.get_docstring(layouts) or "")
    there = classes(theirs.text("v1/kv_cache_interface.py"))
    assert "max_tp_shards" in fields(there["AttentionSpec"])
    assert "kv_cache_spec" in fields(there["KVCacheGroupSpec"])
    assert "self._kv_cache_config = kv_cache_config" in theirs.text(f"{CONNECTORS}/v1/base.py")


def test_what_it_reads_of_how_an_engine_is_parallel_is_there(theirs):
    there = classes(theirs.text("config/parallel.py"))["ParallelConfig"]
    assert "property" in ast.unparse(methods(there)["use_ubatching"].decorator_list[0])
    used = ["prefill_context_parallel_size", "decode_context_parallel_size", "data_parallel_size",
            "tensor_parallel_size", "pipeline_parallel_size", "rank"]
    assert set(used) <= set(fields(there))
    text = (PACKAGE / "aqua_kv/vllm/connector.py").read_text()
    assert all(name in text for name in [*used, "use_ubatching"]), "the list here is out of date"


def test_the_factory_finds_it_by_the_names_that_we_tell(theirs):
    text = ast.unparse(ast.parse(theirs.text(f"{CONNECTORS}/factory.py")))
    assert "kv_transfer_config.kv_connector_module_path" in text
    assert "importlib.import_module" in text
