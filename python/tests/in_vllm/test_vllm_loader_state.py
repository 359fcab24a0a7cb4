# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua`: what processing makes anew, plain attributes, and what parameters are beside
their bytes."""

from __future__ import annotations

import pytest
from vllm_loader_engines import (  # noqa: F401  (among them fixtures)
    engine,
    making,
    mappings_that_are_read_only,
    reading,
    refused,
    torch,
    within,
)
from vllm_models import Packed, contents, fill, form


def scale_of(torch, what, strided=False):
    made = torch.empty((32, 2) if strided else (32,), dtype=torch.float32)
    fill(made, what)
    if strided:
        made = torch.as_strided(made, (32,), (2,))
    return torch.nn.Parameter(made, requires_grad=False)


@pytest.mark.parametrize(
    "made, words",
    [
        (lambda t: scale_of(t, "other"), "packed.weight_scale has other bytes here"),
        (
            lambda t: scale_of(t, "scale 32", strided=True),
            r"packed.weight_scale has strides \[2\] here, and is published with \[1\]",
        ),
    ],
)
def test_what_processing_makes_anew_is_refused_unless_it_is_what_is_published(
    engine, monkeypatch, torch, made, words
):
    engine("Quantized").load()

    def process(self, layer):
        layer.weight_scale = made(torch)

    monkeypatch.setattr(Packed, "process_weights_after_loading", process)
    with refused("the published weights are not this model's", words):
        engine("Quantized").load()


def test_what_processing_makes_anew_may_be_what_is_published(engine, monkeypatch, torch):
    published = engine("Quantized").load()

    def process(self, layer):
        layer.weight_scale = scale_of(torch, "scale 32")

    monkeypatch.setattr(Packed, "process_weights_after_loading", process)
    mapped = engine("Quantized").load()
    assert contents(mapped) == contents(published)
    assert not within(mapped.packed.weight_scale, mappings_that_are_read_only())


def test_a_tensor_that_processing_writes_in_place_is_compared(engine, monkeypatch, torch):
    engine("Quantized").load()

    def process(self, layer):
        layer.weight_scale.data = scale_of(torch, "other")

    monkeypatch.setattr(Packed, "process_weights_after_loading", process)
    with refused("packed.weight_scale has other bytes here"):
        engine("Quantized").load()


def test_an_attribute_that_the_constructor_makes_in_memory_is_what_is_published(engine, torch):
    def change(model):
        model.rotary.window = torch.empty((3,), dtype=torch.int32, device="cpu")

    published = making(engine(), change).load()
    mapped = making(engine(), change).load()
    assert form(mapped.rotary.window) == form(published.rotary.window)
    assert form(mapped.rotary.window) != form(torch.zeros((3,), dtype=torch.int32, device="cpu"))


def test_an_attribute_of_another_form_is_refused(engine, torch):
    engine().load()

    def change(model):
        model.rotary.window = torch.empty((4,), dtype=torch.int32, device="cpu")

    with refused(r"rotary.window became a attribute of int32 \[4\] here", r"int32 \[3\]"):
        making(engine(), change).load()


def test_an_attribute_that_loading_made_is_refused_where_it_is_not_made(engine, torch):
    def change(model):
        model.rotary.found = torch.empty((3,), dtype=torch.int32, device="cpu")

    published = reading(engine(), change).load()
    with refused("the attribute rotary.found is published, and this model lacks it"):
        engine().load()
    mapped = making(engine(), change).load()
    assert form(mapped.rotary.found) == form(published.rotary.found)


def noted(torch, **notes):
    class Sharded(torch.nn.Parameter):
        pass

    Sharded.__module__ = "sharded"

    def change(model):
        weight = Sharded(model.qkv.weight, requires_grad=False)
        vars(weight).update(notes)
        model.qkv.weight = weight

    change.kind = Sharded
    return change


def test_a_parameter_keeps_its_class_and_what_is_noted_on_it(engine, torch):
    change = noted(torch, is_shuffled=True, sizes=[1, {"a": None}], weight_loader=print)
    objects = []
    first = making(making(engine(), change), lambda model: objects.append(model.qkv.weight))
    published, mapped = first.load(), making(engine(), change).load()
    assert published.qkv.weight is objects[0]
    assert within(published.qkv.weight, mappings_that_are_read_only())
    for model in (published, mapped):
        weight = model.qkv.weight
        assert type(weight) is change.kind and weight.is_shuffled
        assert weight.sizes == [1, {"a": None}] and weight.weight_loader is print
    assert contents(mapped) == contents(published)


def test_what_loading_notes_on_a_parameter_is_there_where_it_is_mapped(engine, torch):
    def change(model):
        model.qkv.weight.is_shuffled = True

    reading(engine(), change).load()
    assert engine().load().qkv.weight.is_shuffled


def test_code_that_is_noted_on_a_parameter_is_the_engines_own(engine):
    def change(loader):
        return lambda model: setattr(model.qkv.weight, "weight_loader", loader)

    making(engine(), change(print)).load()
    mine = making(engine(), change(lambda: 1))
    assert mine.load().qkv.weight.weight_loader() == 1


@pytest.mark.parametrize("notes, words", [
    ({"layer": object()}, "qkv.weight is published with an attribute layer, a builtins:object"),
    ({}, "qkv.weight is published as a sharded:"),
])  # fmt: skip
def test_a_parameter_that_cannot_be_made_alike_is_refused(engine, torch, notes, words):
    change = noted(torch, **notes)
    if notes:
        change = lambda model: setattr(model.qkv.weight, "layer", notes["layer"])  # noqa: E731
    reading(engine(), change).load()
    with refused(words):
        engine().load()


def test_a_tensor_noted_on_a_parameter_is_refused(engine, torch):
    def change(model):
        model.qkv.weight.zeros = torch.empty((1,), device="cpu")

    with refused("qkv.weight has a tensor as an attribute, zeros"):
        reading(engine(), change).load()
