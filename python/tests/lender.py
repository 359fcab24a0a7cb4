# SPDX-License-Identifier: Apache-2.0
"""A process that lends memory of its emulated GPU: lender.py COORDINATOR DIRECTORY BYTES.

Answers in JSON, a line each. Commands, a line each: "reclaim MS" (all of it, within MS), "lend".
"""

import json
import sys

import aqua_kv


def main() -> None:
    coordinator, directory, lent_bytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with aqua_kv.Runtime.open(
        device="emu:7", coordinator=coordinator, name="lender", host_bytes=4 << 20,
        slab_bytes=4 << 20, socket_directory=directory,
        emulated=aqua_kv.EmulatedGpu(total_bytes=256 << 20),
    ) as runtime:
        runtime.lend(lent_bytes)
        print(json.dumps({"lent": lent_bytes}), flush=True)
        for line in sys.stdin:
            command = line.split()
            if command[0] == "lend":
                runtime.lend(lent_bytes)
                print(json.dumps({"lent": lent_bytes}), flush=True)
                continue
            with runtime.reclaim(lent_bytes, int(command[1])) as reclaim:
                try:
                    answer = {"returned": reclaim.wait().bytes_returned}
                except aqua_kv.Error as error:
                    holders = reclaim.progress().holders
                    answer = {"code": error.code.name, "holders": [h.name for h in holders]}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
