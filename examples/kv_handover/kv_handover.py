#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kv_handover: the KV cache of a request changes process, and no byte is copied. Over an emulated
GPU, with a keeper that runs; kv_handover.c does the same, and the two of them work together.

  kv_handover.py prefill KEEPER REQUEST  computes the KV of a prompt, a layer at a time, hands it over
                                         and waits until somebody has it
  kv_handover.py decode KEEPER [hold]    accepts what was handed over and compares every byte; with
                                         `hold` it waits for a line before it confirms
"""

import sys

import aqua_kv
from aqua_kv import Code, DeliveryOutcome, KvPool, KvPoolShape, emulated

PROMPT_BLOCKS = 8
SHAPE = KvPoolShape(
    layers=4, plane_block_bytes=2048, tokens_per_block=16, blocks=128, format="bytes of the example"
)


def open_runtime():
    return aqua_kv.Runtime.open(device="emu:0", coordinator="none", host_bytes=8 << 20)


def join(runtime, keeper, role):
    return KvPool.attach(
        runtime, "kv_handover", role, SHAPE,
        slab_bytes=2 << 20, reserve=2 * PROMPT_BLOCKS, keeper=keeper,
    )


def when_there_is(pool, ask):
    """What ask() answers, once that is something."""
    while not (answer := ask()):
        status = pool.status()
        if not status.connected:
            sys.exit(f"the keeper is away: {status.error}")
        pool.wait(1000)
    return answer


def compute(request, layer, plane, block):
    """What stands in for a kernel: the bytes of a block, by its place in the prompt."""
    seed = layer * 7 + plane * 3 + block * 17 + sum(request.encode())
    return bytes((seed + i * 31) & 0xFF for i in range(SHAPE.plane_block_bytes))


def each_block(pool, layer, blocks):
    """Where each block of a layer lies: its plane, its place in the prompt, and the array."""
    for plane in range(SHAPE.planes_per_layer):
        for place, block in enumerate(blocks):
            yield plane, place, pool.plane(layer, plane).block(block, (SHAPE.plane_block_bytes,))


def prefill(keeper, request):
    with open_runtime() as runtime, join(runtime, keeper, "prefill") as pool:
        with pool.open(request, "decode", turn=1) as parcel:  # nobody spoke for it before
            blocks = pool.allocate(PROMPT_BLOCKS)  # of its reserve
            for layer in range(SHAPE.layers):
                for plane, place, array in each_block(pool, layer, blocks):
                    emulated.write(runtime, array, compute(request, layer, plane, place))
            tokens = PROMPT_BLOCKS * SHAPE.tokens_per_block
            try:
                parcel.close(blocks, tokens=tokens, note=b"pending token 42")  # behind the kernels
                print(f"{request}: handed over in {PROMPT_BLOCKS} blocks", flush=True)
            except aqua_kv.Error as error:
                if error.code is not Code.NOT_FOUND:
                    raise
                # Another speaks for the request: its delivery has come, and says so.
        [delivery] = when_there_is(pool, pool.deliveries)
        confirmed = delivery.outcome is DeliveryOutcome.CONFIRMED
        print(f"{request}: {'confirmed' if confirmed else delivery.error}")
    return 0 if confirmed else 1


def decode(keeper, hold):
    with open_runtime() as runtime, join(runtime, keeper, "decode") as pool:
        [parcel] = when_there_is(pool, pool.accept)
        print(
            f"{parcel.id}: accepted under turn {parcel.turn}, {parcel.tokens} tokens, "
            f"{parcel.note.decode()}"
        )
        wrong = 0
        found = bytearray(SHAPE.plane_block_bytes)
        for layer in range(SHAPE.layers):
            for plane, place, array in each_block(pool, layer, parcel.blocks):
                emulated.read(runtime, array, found)
                expected = compute(parcel.id, layer, plane, place)
                wrong += sum(a != b for a, b in zip(found, expected))
        print(f"{parcel.id}: {wrong} bytes are wrong", flush=True)
        if hold:
            sys.stdin.readline()
        pool.confirm(parcel)  # its giver is told
        pool.finish(parcel)
        print(f"{parcel.id}: finished")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    told = sys.argv[1:]
    if len(told) == 3 and told[0] == "prefill":
        sys.exit(prefill(told[1], told[2]))
    if len(told) in (2, 3) and told[0] == "decode" and told[2:] in ([], ["hold"]):
        sys.exit(decode(told[1], hold=len(told) == 3))
    sys.exit("usage: kv_handover.py prefill KEEPER REQUEST | decode KEEPER [hold]")
