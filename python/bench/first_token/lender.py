# SPDX-License-Identifier: Apache-2.0
"""The other process: lends BYTES of DEVICE's memory until its standard input ends.
Usage: lender.py DEVICE COORDINATOR DIRECTORY BYTES SLAB_BYTES"""

import sys

import aqua_kv


def main() -> None:
    device, coordinator, directory = sys.argv[1:4]
    lent, slab = int(sys.argv[4]), int(sys.argv[5])
    emulated = aqua_kv.EmulatedGpu(total_bytes=2 * lent) if device.startswith("emu") else None
    with aqua_kv.Runtime.open(
        device=device, coordinator=coordinator, name="neighbour", socket_directory=directory,
        host_bytes=4 << 20, slab_bytes=slab, curve_directory="off", emulated=emulated,
    ) as runtime:
        runtime.lend(lent)
        print("lent", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
