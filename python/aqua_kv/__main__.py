# SPDX-License-Identifier: Apache-2.0
"""python -m aqua_kv [--json]: versions, and what the library can do."""

from __future__ import annotations

import argparse
import json

from . import __version__, has_feature, library_path, library_version


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m aqua_kv", description="Versions of aqua_kv and of the libaqua it loads."
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    features = {name: has_feature(name) for name in ("cuda", "emulated")}
    if parser.parse_args().json:
        told = {
            "aqua_kv": __version__,
            "libaqua": library_version(),
            "library": library_path(),
            "features": features,
        }
        print(json.dumps(told, indent=1))
        return
    words = ", ".join(name if there else f"no {name}" for name, there in features.items())
    print(f"aqua_kv {__version__}, libaqua {library_version()} ({library_path()}): {words}")


if __name__ == "__main__":
    main()
