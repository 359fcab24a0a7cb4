# SPDX-License-Identifier: Apache-2.0
"""Weights of one name at the keeper, as an engine meets them: there, being loaded by another engine,
or to be loaded by this one.

The first rank of an engine asks, waits and claims for all of its ranks; the others wait for it. So
an engine has or awaits one claim at most, and two engines never wait for each other.
"""

from __future__ import annotations

import ctypes
import logging
import math
import time
from typing import Any, Callable, List, Optional, TypeVar, cast

from vllm.distributed.parallel_state import GroupCoordinator

from .. import emulated
from .._errors import Code, Error
from .._owned import Owned
from ..runtime import Runtime
from ..weights import NewWeight, SharedWeights, WeightTensor, claim_weights, publish_weights
from .description import SharingError
from .identity import Identity
from .loader_options import LoaderOptions
from .tensors import mapped_bytes

Said = TypeVar("Said")

_log = logging.getLogger(__name__)

_HOST_BYTES = 2 << 20  # nothing is kept in host memory
_LONGEST_MS = 2**32 - 1
# What attach() answers where another engine has yet to publish, on this device.
_MISSING = (Code.NOT_FOUND, Code.FAILED_PRECONDITION)


class Session:
    """Has `weights` where they are published. Without, and where they are to be published, the
    engine's first rank has the claim: no other engine reads this model meanwhile."""

    def __init__(self, identity: Identity, options: LoaderOptions, runtime: Runtime) -> None:
        self.identity = identity
        self.runtime = runtime
        self.weights: Optional[SharedWeights] = None
        self._options = options
        self._claim: Optional[Owned] = None

    def find(self) -> None:
        """For the first rank. Blocks while another engine loads them. SharingError: they are not
        there, and the options say to fail; or they were not there in time."""
        deadline = time.monotonic() + self._options.wait_seconds
        waits = False
        while True:
            self.weights, missing = self._attach()
            if self.weights is not None or self._options.when_missing != "publish":
                return self._check(missing)
            if self._take_claim():
                # It may have been published between the question and the claim.
                self.weights, _ = self._attach()
                if self.weights is not None:
                    self.release()
                return
            if not waits:
                _log.info("Aqua weights: another engine is loading %s; waiting", self.identity)
                waits = True
            self._wait_for(self._claim_name, deadline, "another engine has been loading it")

    def follow(self) -> None:
        """For the other ranks, once the first has found them or claimed them. What is missing by then
        this rank reads too, as it may be alone with that: each rank has a shard of its own."""
        self.weights, missing = self._attach()
        self._check(missing)

    def publish(self, new: List[NewWeight]) -> SharedWeights:
        """Publishes them, and maps what is published by then: another's, where one was faster."""
        try:
            publish_weights(
                self.runtime, self.identity.model, self.identity.version, new, **self._place()
            )
        except Error as error:
            if error.code is not Code.ALREADY_EXISTS:
                raise
            _log.warning(
                "Aqua weights: %s was published by another engine meanwhile; its copy is used, "
                "this engine's is dropped", self.identity,
            )
        deadline = time.monotonic() + self._options.wait_seconds
        self.weights, missing = self._attach()
        while self.weights is None:
            if self._has_gone():
                raise SharingError(
                    f"load format aqua: another version of {self.identity.model} was published "
                    f"before all shards of {self.identity.version} were, and has superseded it; "
                    "start again"
                )
            self.weights, missing = self._wait_for(
                self.identity.model, deadline, f"not all of its shards were published ({missing})"
            )
        return self.weights

    def release(self) -> None:
        """Lets go of the claim. The weights stay mapped while tensors over them are there."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def close(self) -> None:
        self.release()
        self.runtime.close()

    def _check(self, missing: Optional[Error]) -> None:
        if missing is not None and self._options.when_missing == "fail":
            raise SharingError(
                f"load format aqua: {self.identity} is not published ({missing}), and "
                '"when_missing" is "fail": start an engine that publishes it'
            )

    def _attach(self, model: str = "", patience_ms: int = 0) -> Any:
        try:
            return (
                SharedWeights.attach(
                    self.runtime, model or self.identity.model, version=self.identity.version,
                    patience_ms=patience_ms, **self._place(),
                ),
                None,
            )
        except Error as error:
            if error.code not in _MISSING:
                raise
            return None, error

    def _wait_for(self, model: str, deadline: float, what: str) -> Any:
        """What _attach() answers when nobody is publishing that any more. SharingError: somebody is,
        at the deadline."""
        left_ms = min(math.ceil((deadline - time.monotonic()) * 1000), _LONGEST_MS)
        try:
            if left_ms > 0:
                return self._attach(model, left_ms)
        except Error as error:
            if error.code is not Code.DEADLINE_EXCEEDED:
                raise
        raise SharingError(
            f"load format aqua: {what} for more than {self._options.wait_seconds} s: "
            f"{self.identity}. See to that engine, or raise \"wait_seconds\""
        )

    @property
    def _claim_name(self) -> str:
        return f"{self.identity.model} claim"

    def _take_claim(self) -> bool:
        try:
            self._claim = claim_weights(
                self.runtime, self._claim_name, self.identity.version, **self._place()
            )
        except Error as error:
            if error.code is not Code.ALREADY_EXISTS:
                raise
            return False
        return True

    def _has_gone(self) -> bool:
        """Whether the keeper no longer has this rank's shard: it could be published again, or is
        superseded."""
        try:
            claim_weights(
                self.runtime, self.identity.model, self.identity.version, **self._place()
            ).close()
        except Error as error:
            if error.code not in (Code.ALREADY_EXISTS, Code.FAILED_PRECONDITION):
                raise
            return error.code is Code.FAILED_PRECONDITION
        return True

    def _place(self) -> Any:
        return {
            "shard": self.identity.shard,
            "shards": self.identity.shards,
            "keeper": self._options.keeper,
        }


def first_rank_says(ranks: GroupCoordinator, ask: Callable[[], Said]) -> Said:
    """Called by all ranks of an engine: what `ask` answers in the first one, or a SharingError with
    what that one met, whatever it was. Nobody waits for a rank that has failed."""
    said: Optional[Said] = None
    failure: Optional[Exception] = None
    if ranks.rank_in_group == 0:
        try:
            said = ask()
        except Exception as error:
            failure = error
    if ranks.world_size > 1:
        said, told = ranks.broadcast_object((said, failure and _text(failure)), src=0)
        if told is not None and ranks.rank_in_group != 0:
            raise SharingError(f"the engine's first rank: {told}")
    if failure is not None:
        raise failure
    return cast(Said, said)


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, SharingError) else f"{type(error).__name__}: {error}"


def open_session(
    identity: Identity, options: LoaderOptions, device: Any, ranks: GroupCoordinator
) -> Session:
    """Called by all ranks of an engine. `device`: torch's. SharingError where the keeper cannot be
    reached, and in every rank what the first one met."""
    opened: List[Session] = []

    def meet(how: Callable[[Session], None]) -> None:
        try:
            runtime = _open_runtime(options, _device_name(options, device))
            opened.append(Session(identity, options, runtime))
            how(opened[0])
        except Error as error:
            raise _told(error, identity) from error

    try:
        first_rank_says(ranks, lambda: meet(Session.find))
        if ranks.rank_in_group != 0:
            meet(Session.follow)
        return opened[0]
    except BaseException:
        for session in opened:
            session.close()
        raise


def _open_runtime(options: LoaderOptions, device: str) -> Runtime:
    return Runtime.open(
        device=device,
        coordinator="none",
        name="vllm weights",
        socket_directory=options.socket_directory,
        host_bytes=_HOST_BYTES,
        curve_directory="off",
    )


def _told(error: Error, identity: Identity) -> SharingError:
    what = f"load format aqua, {identity}: {error}"
    if error.code is Code.UNAVAILABLE:
        what += (
            '. Start aqua-keeper, or name its socket ("keeper" in model_loader_extra_config, or '
            "$AQUA_KEEPER). Nothing was read from a disk instead"
        )
    return SharingError(what)


def _device_name(options: LoaderOptions, device: Any) -> str:
    named = options.device or (f"cuda:{device.index}" if device.type == "cuda" else "")
    if not named or named.startswith("emu:") != (device.type == "cpu"):
        raise SharingError(
            f"load format aqua: torch's device is {device}, libaqua's {named or 'not named'}: "
            "weights are shared on CUDA devices, and on emulated ones (emu:N) with torch's CPU"
        )
    return named


def to_host(runtime: Runtime, device: Any) -> Callable[[WeightTensor], bytes]:
    def read(tensor: WeightTensor) -> bytes:
        if device.type == "cpu":
            host = (ctypes.c_ubyte * tensor.bytes)()
            emulated.read(runtime, tensor, host)
            return bytes(host)
        return bytes(mapped_bytes(tensor, device).cpu().numpy().tobytes())

    return read
