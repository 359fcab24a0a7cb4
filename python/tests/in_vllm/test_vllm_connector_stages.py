# SPDX-License-Identifier: Apache-2.0
"""AquaConnector in engines with pipeline stages, whose workers have some of the layers each."""

from __future__ import annotations

import pytest
from vllm_streams import Engine


@pytest.mark.parametrize(
    "prefill_stages, decode_stages", [((), (2, 1)), ((1, 2), ()), ((1, 2), (2, 1))], ids=str
)
def test_each_worker_gets_the_layers_of_its_stage_and_the_heads_of_its_rank(
    keeper, tmp_path, prefill_stages, decode_stages
):
    decode = Engine(
        "kv_consumer", keeper.socket, str(tmp_path), stage_layers=decode_stages,
        peer_stage_layers=prefill_stages)
    prefill = Engine(
        "kv_producer", keeper.socket, str(tmp_path), stage_layers=prefill_stages,
        peer_stage_layers=decode_stages, replica=1)
    assert len(prefill.workers) == (len(prefill_stages) or 1)
    assert len(decode.workers) == (len(decode_stages) or 1) * 2
    for prompt, chunks in ((1, 1), (2, 3)):
        name = f"r{prompt}"
        keep, params = prefill.prefill(name, prompt, 21, [0, 5, 2, 3, 4, 1], chunks)
        assert keep
        prefill.sent(name)
        assert decode.decode(name, 21, [7, 8, 9], params) == []
        wrong = [worker.wrong([7, 8, 9], 21, prompt) for worker in decode.workers]
        assert wrong == [0] * len(decode.workers)
    prefill.close()
    decode.close()


def test_of_several_stages_all_must_say_how_many_layers_they_have(keeper, tmp_path):
    engine = Engine("kv_consumer", keeper.socket, str(tmp_path))
    worker = engine.workers[0]
    worker.connector._vllm_config.parallel_config.pipeline_parallel_size = 2
    with pytest.raises(ValueError, match="stage_layers must be given for 2 stages"):
        worker.connector.register_kv_caches(worker.caches)
    engine.close()
