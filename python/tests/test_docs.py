"""What docs/python.md shows works as it stands there."""

from __future__ import annotations

import json
import re

from conftest import PACKAGE, run_python
from vllm.v1.kv_offload.factory import OffloadingSpecFactory
from vllm_engine import Engine

PAGE = (PACKAGE.parent / "docs/python.md").read_text()


def test_the_example_runs():
    example = re.search(r"^```python\n(.*?)^```$", PAGE, re.M | re.S).group(1)
    ended = run_python(example)
    assert (ended.stdout, ended.stderr) == ("seq 42 is in HOST\n", "")


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
    from aqua_kv.vllm.options import Options

    table = PAGE[PAGE.index('| under `"aqua"` |') :]
    for name in vars(Options(1)):
        assert f"`{name}`" in table, name
