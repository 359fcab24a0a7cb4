# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass


@dataclass
class GroupCoordinator:
    rank_in_group: int = 0
    world_size: int = 1


TENSOR = GroupCoordinator()
PIPELINE = GroupCoordinator()
DATA = GroupCoordinator()
CONTEXT = GroupCoordinator()


def get_pp_group() -> GroupCoordinator:
    return PIPELINE


def get_dp_group() -> GroupCoordinator:
    return DATA


def get_pcp_group() -> GroupCoordinator:
    return CONTEXT


def get_tensor_model_parallel_world_size() -> int:
    return TENSOR.world_size


def get_tensor_model_parallel_rank() -> int:
    return TENSOR.rank_in_group
