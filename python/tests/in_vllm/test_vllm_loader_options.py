# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua`: how it is chosen, its options, and what they say of weights that are not
published."""

from __future__ import annotations

import pytest
from conftest import PACKAGE
from vllm_loader_engines import (  # noqa: F401  (among them fixtures)
    engine,
    mappings_that_are_read_only,
    refused,
    torch,
    within,
)


def test_it_is_registered_as_a_load_format(engine):
    from aqua_kv.vllm.loader import AquaModelLoader
    from aqua_kv.vllm.plugin import register
    from vllm.model_executor.model_loader import get_model_loader

    register()
    register()
    assert type(get_model_loader(engine().config.load_config)) is AquaModelLoader
    assert 'aqua = "aqua_kv.vllm.plugin:register"' in (PACKAGE / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    "extra, words",
    [
        ({"when_mising": "load"}, "no option 'when_mising'; there are when_missing, load_format"),
        ({"when_missing": "maybe"}, "when_missing is 'maybe'; there are publish, load, fail"),
        ({"load_format": "tensorizer"}, "load_format is 'tensorizer'; there are auto, hf"),
        ({"wait_seconds": "1"}, "wait_seconds is '1', not int"),
        ({"wait_seconds": True}, "wait_seconds is True, not int"),
        ({"wait_seconds": -1}, "wait_seconds must not be negative"),
        ({"map_buffers": 1}, "map_buffers is 1, not bool"),
        ({"load_options": []}, r"load_options is \[\], not dict"),
    ],
)
def test_options_that_cannot_be_are_named(engine, extra, words):
    with pytest.raises(ValueError, match=words):
        engine(**extra).make()


def test_a_device_that_torch_does_not_have_is_refused(engine):
    for device in ("", "cuda:0"):
        with refused("torch's device is cpu"):
            engine(device=device).load()


def test_without_a_keeper_nothing_is_read_from_a_disk(engine):
    for when in ("publish", "load", "fail"):
        lost = engine(keeper="/nowhere/keeper.sock", when_missing=when)
        with refused("unavailable", "Start aqua-keeper"):
            lost.load()
        with refused("unavailable"):
            lost.external_bytes()
        assert lost.hf.reads == 0


def test_what_is_not_published_is_an_error_or_read_for_one_engine_as_the_options_say(
    engine, caplog
):
    absent = engine(when_missing="fail")
    with refused("is not published", "start an engine that publishes it"):
        absent.load()
    with refused("is not published"):
        absent.external_bytes()
    assert absent.hf.reads == 0
    alone = engine(when_missing="load")
    assert alone.external_bytes() == 0
    model = alone.load()
    assert alone.hf.reads == 1 and not alone.published()
    assert "read for this engine alone" in caplog.text
    assert not within(model.qkv.weight, mappings_that_are_read_only())


def test_a_download_is_the_readers(engine):
    one = engine()
    one.make().download_model(one.config.model_config)
    assert one.hf.downloads == 1
    absent = engine(when_missing="fail")
    absent.make().download_model(absent.config.model_config)
    assert absent.hf.downloads == 0
