# SPDX-License-Identifier: Apache-2.0
"""Which chunk holds what: the manager alone."""

from __future__ import annotations

import pickle

import pytest
from vllm.v1.kv_offload.base import LookupResult, Medium, ReqContext, make_offload_key

from aqua_kv.vllm import AquaLoadStoreSpec, AquaOffloadingManager

CONTEXT = ReqContext("request")


def keys(*numbers):
    return [make_offload_key(bytes([n]), 0) for n in numbers]


def stored(manager, *numbers):
    out = manager.prepare_store(keys(*numbers), CONTEXT)
    manager.complete_store(out.keys_to_store, CONTEXT)
    return out


@pytest.fixture
def manager():
    return AquaOffloadingManager(4, enable_events=True)


def state(manager, number):
    return manager.lookup(keys(number)[0], CONTEXT)


def test_a_key_is_missed_then_pending_then_hit(manager):
    assert state(manager, 1) is LookupResult.MISS
    out = manager.prepare_store(keys(1), CONTEXT)
    assert state(manager, 1) is LookupResult.HIT_PENDING
    manager.complete_store(out.keys_to_store, CONTEXT)
    assert state(manager, 1) is LookupResult.HIT


def test_a_failed_store_leaves_nothing(manager):
    out = manager.prepare_store(keys(1, 2), CONTEXT)
    manager.complete_store(out.keys_to_store, CONTEXT, success=False)
    assert state(manager, 1) is LookupResult.MISS
    assert len(stored(manager, 3, 4, 5, 6).keys_to_store) == 4  # all chunks are free again
    events = list(manager.take_events())
    assert (events[0].removed, events[0].metadata_only) == (True, True)
    assert (events[1].removed, events[1].metadata_only) == (False, False)


def test_what_is_stored_or_being_stored_is_not_stored_again(manager):
    stored(manager, 1)
    manager.prepare_store(keys(2), CONTEXT)
    out = manager.prepare_store(keys(1, 2, 3, 3), CONTEXT)
    assert out.keys_to_store == keys(3) and len(out.store_spec.block_ids) == 1


def test_chunks_are_never_given_twice(manager):
    taken = [int(c) for n in range(4) for c in stored(manager, n).store_spec.block_ids]
    assert sorted(taken) == [0, 1, 2, 3]


def test_the_longest_unused_key_goes_and_is_told(manager):
    for n in range(4):
        stored(manager, n)
    manager.touch(keys(0), CONTEXT)
    list(manager.take_events())
    out = stored(manager, 9)
    assert out.evicted_keys == keys(1)
    removed, added = manager.take_events()
    assert (removed.keys, removed.removed, removed.medium) == (keys(1), True, Medium.CPU)
    assert (added.keys, added.removed) == (keys(9), False)
    assert list(manager.take_events()) == []


def test_the_tail_of_a_prefix_goes_before_its_head(manager):
    stored(manager, 0, 1, 2, 3)
    assert stored(manager, 9).evicted_keys == keys(3)


def test_what_is_being_read_or_written_is_never_evicted(manager):
    stored(manager, 0, 1)
    manager.prepare_store(keys(2, 3), CONTEXT)
    manager.prepare_load(keys(0), CONTEXT)
    manager.prepare_load(keys(0), CONTEXT)
    assert manager.prepare_store(keys(4, 5), CONTEXT) is None  # only 1 is idle
    assert state(manager, 1) is LookupResult.HIT  # and nothing has changed
    manager.complete_load(keys(0), CONTEXT)
    assert manager.prepare_store(keys(4, 5), CONTEXT) is None  # 0 has another reader
    manager.complete_load(keys(0), CONTEXT)
    assert manager.prepare_store(keys(4, 5), CONTEXT).evicted_keys == keys(1, 0)


def test_keys_of_the_same_call_are_not_evicted_for_each_other(manager):
    stored(manager, 0, 1, 2, 3)
    assert manager.prepare_store(keys(0, 1, 2, 3, 4), CONTEXT) is None
    out = manager.prepare_store(keys(1, 2, 3, 4), CONTEXT)
    assert out.evicted_keys == keys(0) and out.keys_to_store == keys(4)


def test_more_than_there_is_room_for_is_not_stored(manager):
    assert manager.prepare_store(keys(1, 2, 3, 4, 5), CONTEXT) is None
    assert AquaOffloadingManager(0).prepare_store(keys(1), CONTEXT) is None


def test_loading_what_is_not_there_is_refused_and_changes_nothing(manager):
    stored(manager, 1)
    with pytest.raises(KeyError):
        manager.prepare_load(keys(1, 2), CONTEXT)
    stored(manager, 3, 4, 5)
    assert stored(manager, 6).evicted_keys == keys(1)  # it was not pinned


def test_a_reset_forgets_everything(manager):
    stored(manager, 0, 1)
    manager.prepare_load(keys(0), CONTEXT)
    manager.prepare_store(keys(2), CONTEXT)
    manager.reset_cache()
    manager.complete_store(keys(2), CONTEXT)  # late: no effect
    assert state(manager, 0) is state(manager, 2) is LookupResult.MISS
    assert len(stored(manager, 5, 6, 7, 8).keys_to_store) == 4


def test_without_events_none_are_kept():
    manager = AquaOffloadingManager(1)
    stored(manager, 1)
    stored(manager, 2)
    assert list(manager.take_events()) == []


def test_a_store_spec_travels_to_the_workers(manager):
    spec = pickle.loads(pickle.dumps(stored(manager, 1, 2).store_spec))
    assert type(spec) is AquaLoadStoreSpec and list(spec.block_ids) == [0, 1]
