# SPDX-License-Identifier: Apache-2.0
"""The files of the pinned vLLM, which are read, not run, and what they define: classes, methods,
parameters, fields and members by name. AQUA_VLLM names a folder that scripts/vllm-interface made, or
the wheel itself; without it build/vllm is looked for."""

from __future__ import annotations

import ast
import os
import zipfile
from pathlib import Path
from typing import Dict, List, Optional

import pytest
from conftest import PACKAGE

from aqua_kv.vllm import VLLM_VERSION

LOADER = "model_executor/model_loader"


class Theirs:
    """Files of the pinned vLLM."""

    def __init__(self, place: Path) -> None:
        self._wheel = zipfile.ZipFile(place) if place.is_file() else None
        self._folder = place
        if self._wheel is not None:
            assert place.name.startswith(f"vllm-{VLLM_VERSION}-"), f"not vLLM {VLLM_VERSION}"
        else:
            found = (place / "version").read_text().strip()
            assert found == VLLM_VERSION, f"vLLM {found}, not {VLLM_VERSION}"

    def text(self, path: str) -> str:
        if self._wheel is not None:
            return self._wheel.read(f"vllm/{path}").decode()
        return (self._folder / "vllm" / path).read_text()


@pytest.fixture(scope="module")
def theirs() -> Theirs:
    named = os.environ.get("AQUA_VLLM") or str(PACKAGE.parent / "build/vllm")
    if not os.path.exists(named):
        pytest.skip(f"AQUA_VLLM names no files of vLLM {VLLM_VERSION} (scripts/vllm-interface)")
    return Theirs(Path(named))


def classes(text: str) -> Dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def methods(node: ast.ClassDef) -> Dict[str, ast.FunctionDef]:
    return {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}


def functions(text: str) -> Dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def parameters(method: ast.FunctionDef) -> List[str]:
    """Names in order, "=" after those that have a default; "**" before what takes all others."""
    arguments = method.args
    names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    first = len(names) - len(arguments.defaults)
    told = [name + ("=" if i >= first else "") for i, name in enumerate(names)]
    told += [a.arg + ("=" if d else "") for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    assert arguments.vararg is None
    return told + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])


def default_of(method: ast.FunctionDef, name: str) -> Optional[str]:
    names = [argument.arg for argument in method.args.args]
    defaults = dict(zip(reversed(names), reversed(method.args.defaults)))
    return ast.unparse(defaults[name]) if name in defaults else None


def check_alike(ours: ast.FunctionDef, theirs: ast.FunctionDef) -> None:
    """The same parameters with the same defaults."""
    assert parameters(ours) == parameters(theirs), ours.name
    for name in parameters(ours):
        name = name.rstrip("=")
        assert default_of(ours, name) == default_of(theirs, name), ours.name


def is_abstract(method: ast.FunctionDef) -> bool:
    return any("abstractmethod" in ast.unparse(d) for d in method.decorator_list)


def fields(node: ast.ClassDef) -> Dict[str, bool]:
    """Annotated fields in order, and whether they have a default."""
    return {
        item.target.id: item.value is not None
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def members(node: ast.ClassDef) -> Dict[str, str]:
    return {
        item.targets[0].id: ast.unparse(item.value)
        for item in node.body
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)
    }
