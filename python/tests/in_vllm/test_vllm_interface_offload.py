# SPDX-License-Identifier: Apache-2.0
"""aqua_kv.vllm's offloading spec, manager and worker against the files of the pinned vLLM."""

from __future__ import annotations

import ast
from typing import Dict, List

import pytest
from conftest import PACKAGE
from vllm_interface import (  # noqa: F401  (theirs is a fixture)
    check_alike,
    classes,
    is_abstract,
    methods,
    parameters,
    theirs,
)

CONNECTOR = "distributed/kv_transfer/kv_connector/v1/offloading"


@pytest.mark.parametrize(
    "path, ours_name, base_name",
    [
        ("manager.py", "AquaOffloadingManager", "OffloadingManager"),
        ("worker.py", "AquaOffloadingWorker", "OffloadingWorker"),
        ("spec.py", "AquaOffloadingSpec", "OffloadingSpec"),
        ("load_store.py", "AquaLoadStoreSpec", "BlockIDsLoadStoreSpec"),
    ],
)
def test_our_classes_implement_the_interface(theirs, path, ours_name, base_name):
    ours = classes((PACKAGE / "aqua_kv/vllm" / path).read_text())[ours_name]
    base = classes(theirs.text("v1/kv_offload/base.py"))[base_name]
    assert [ast.unparse(b) for b in ours.bases] == [base_name]
    missing = {n for n, m in methods(base).items() if is_abstract(m)} - set(methods(ours))
    assert not missing
    for name, method in methods(ours).items():
        theirs_too = methods(base).get(name)
        if theirs_too is None or name == "__init__" and ours_name != "AquaOffloadingSpec":
            continue
        check_alike(method, theirs_too)


def calls(text: str, receiver: str) -> Dict[str, List[ast.Call]]:
    """Calls of methods of self.RECEIVER."""
    found: Dict[str, List[ast.Call]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == f"self.{receiver}":
                found.setdefault(node.func.attr, []).append(node)
    return found


@pytest.mark.parametrize(
    "path, receiver, module, name",
    [
        ("scheduler.py", "manager", "manager.py", "AquaOffloadingManager"),
        ("worker.py", "worker", "worker.py", "AquaOffloadingWorker"),
    ],
)
def test_what_the_connector_calls_is_there_and_takes_what_it_gives(
    theirs, path, receiver, module, name
):
    base = classes(theirs.text("v1/kv_offload/base.py"))
    ours = classes((PACKAGE / "aqua_kv/vllm" / module).read_text())[name]
    there = {**methods(base[ast.unparse(ours.bases[0])]), **methods(ours)}
    made = calls(theirs.text(f"{CONNECTOR}/{path}"), receiver)
    assert made
    for method, each in made.items():
        assert method in there, method
        wanted = [p.rstrip("=") for p in parameters(there[method])][1:]
        for call in each:
            given = wanted[: len(call.args)] + [k.arg for k in call.keywords]
            required = [p for p in parameters(there[method])[1:] if not p.endswith("=")]
            assert len(call.args) <= len(wanted), ast.unparse(call)
            assert set(given) <= set(wanted) and set(required) <= set(given), ast.unparse(call)


def test_the_factory_finds_a_spec_by_the_names_that_we_tell(theirs):
    text = theirs.text("v1/kv_offload/factory.py")
    for expression in (
        "extra_config.get('spec_module_path')", "importlib.import_module(spec_module_path)",
        "getattr(spec_module, spec_name)", "spec_cls(config)",
    ):
        assert expression in ast.unparse(ast.parse(text)), expression
