# SPDX-License-Identifier: Apache-2.0
"""What the model computes with: PyTorch, or NumPy where that is all there is. Both take the same
calls for nearly everything; what differs is here."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

import numpy as np


class Maths:
    """Arrays of one type on one device. `xp` is the module that makes them."""

    name = ""
    xp: Any

    def norm(self, x: Any) -> Any:
        return x / self.xp.sqrt((x * x).mean(-1)[..., None] + 1e-5)

    def silu(self, x: Any) -> Any:
        return x / (1 + self.xp.exp(-x))

    def rope(self, x: Any, angles: Any) -> Any:
        """`x`: tokens, heads, head_dim. `angles`: tokens, head_dim / 2."""
        cos, sin = self.like(self.xp.cos(angles), x), self.like(self.xp.sin(angles), x)
        cos, sin = cos[:, None, :], sin[:, None, :]
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = self.xp.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
        return turned.reshape(x.shape)

    def attention(self, q: Any, k: Any, v: Any, first: int) -> Any:
        """Of tokens from `first` on over all up to them. `q`: tokens, heads, head_dim; `k`, `v`:
        as many tokens as there are in all, kv_heads, head_dim."""
        tokens, heads, dim = q.shape
        groups = k.shape[1]
        xp = self.xp
        scores = xp.einsum("ngrd,tgd->grnt", q.reshape(tokens, groups, heads // groups, dim), k)
        seen = self.numbers(range(k.shape[0]))[None, :] <= self.numbers(
            range(first, first + tokens))[:, None]
        scores = scores * dim**-0.5 + self.like(~seen, scores) * -1e9
        scores = xp.exp(scores - xp.amax(scores, -1)[..., None])
        shares = scores / scores.sum(-1)[..., None]
        return xp.einsum("grnt,tgd->ngrd", shares, v).reshape(tokens, heads, dim)

    def numbers(self, values: Sequence[int]) -> Any:
        """Indices, where the arrays are."""
        raise NotImplementedError

    def floats(self, values: Sequence[float]) -> Any:
        """Of 32 bits."""
        raise NotImplementedError

    def like(self, x: Any, other: Any) -> Any:
        """`x` with the element type of `other`."""
        raise NotImplementedError

    def random(self, seed: int, shape: Tuple[int, ...], scale: float) -> Any:
        """Normally distributed, the same for the same seed."""
        raise NotImplementedError

    def over(self, memory: Any, shape: Tuple[int, ...]) -> Any:
        """An array over memory that supports the buffer protocol."""
        raise NotImplementedError

    def bits(self, x: Any) -> bytes:
        """Every bit of it, for comparisons."""
        raise NotImplementedError

    def digest(self, x: Any) -> int:
        """A number of all its bits and of their places."""
        raise NotImplementedError


class NumpyMaths(Maths):
    name = "numpy"
    xp = np
    element_bytes = 4

    def numbers(self, values: Sequence[int]) -> Any:
        return np.asarray(values, np.int64)

    def floats(self, values: Sequence[float]) -> Any:
        return np.asarray(values, np.float32)

    def like(self, x: Any, other: Any) -> Any:
        return x.astype(other.dtype)

    def random(self, seed: int, shape: Tuple[int, ...], scale: float) -> Any:
        return np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(scale)

    def over(self, memory: Any, shape: Tuple[int, ...]) -> Any:
        return np.frombuffer(memory, np.float32).reshape(shape)

    def bits(self, x: Any) -> bytes:
        return bytes(np.ascontiguousarray(x).tobytes())

    def digest(self, x: Any) -> int:
        words = np.ascontiguousarray(x).reshape(-1).view(np.int32).astype(np.int64)
        return int((words * np.arange(1, 2 * words.size, 2, dtype=np.int64)).sum())


class TorchMaths(Maths):
    """In half the bytes (bfloat16) on a GPU."""

    name = "torch"

    def __init__(self, device: str = "cpu") -> None:
        import torch

        self.xp = torch
        self.device = torch.device(device)
        self.type = torch.float32 if device == "cpu" else torch.bfloat16
        self.element_bytes = 4 if device == "cpu" else 2

    def numbers(self, values: Sequence[int]) -> Any:
        return self.xp.tensor(list(values), dtype=self.xp.int64, device=self.device)

    def floats(self, values: Sequence[float]) -> Any:
        return self.xp.tensor(list(values), dtype=self.xp.float32, device=self.device)

    def like(self, x: Any, other: Any) -> Any:
        return x.to(other.dtype)

    def random(self, seed: int, shape: Tuple[int, ...], scale: float) -> Any:
        source = self.xp.Generator(self.device).manual_seed(seed)
        made = self.xp.empty(shape, dtype=self.type, device=self.device)
        return made.normal_(0, scale, generator=source)

    def over(self, memory: Any, shape: Tuple[int, ...]) -> Any:
        return self.xp.frombuffer(memory, dtype=self.type).reshape(shape)

    def bits(self, x: Any) -> bytes:
        return bytes(x.contiguous().view(-1).view(self.xp.uint8).cpu().numpy().tobytes())

    def digest(self, x: Any) -> int:
        whole = self.xp.int32 if self.element_bytes == 4 else self.xp.int16
        words = x.contiguous().view(-1).view(whole).to(self.xp.int64)
        odd = self.xp.arange(1, 2 * words.numel(), 2, device=words.device)
        return int((words * odd).sum().item())

    def attention(self, q: Any, k: Any, v: Any, first: int) -> Any:
        fused = getattr(self.xp.nn.functional, "scaled_dot_product_attention", None)
        whole = first == 0 and q.shape[0] == k.shape[0]
        if fused is None or not (whole or q.shape[0] == 1):
            return super().attention(q, k, v, first)
        repeats = q.shape[1] // k.shape[1]
        queries = q.transpose(0, 1)[None]
        keys = k.repeat_interleave(repeats, 1).transpose(0, 1)[None]
        values = v.repeat_interleave(repeats, 1).transpose(0, 1)[None]
        return fused(queries, keys, values, is_causal=whole)[0].transpose(0, 1)
