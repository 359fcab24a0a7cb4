# SPDX-License-Identifier: Apache-2.0
"""A wheel with the libaqua.so that AQUA_LIBRARY names inside, for this kind of machine; without
AQUA_LIBRARY a wheel for every machine, which finds the library when it is imported. The rest is
in pyproject.toml."""

import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

LIBRARY = os.environ.get("AQUA_LIBRARY", "")
if LIBRARY and not Path(LIBRARY).is_file():  # pip builds in another directory
    sys.exit(f"AQUA_LIBRARY={LIBRARY}: no such file; give an absolute path")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        inside = Path(self.build_lib) / "aqua_kv" / "lib"
        shutil.rmtree(inside, ignore_errors=True)
        if LIBRARY:
            inside.mkdir(parents=True)
            shutil.copyfile(LIBRARY, inside / "libaqua.so.0")


class WheelOfAnyPython(bdist_wheel):
    """The code is plain Python: only the library inside ties it to a machine, never to a Python."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not LIBRARY

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return bool(LIBRARY)


setup(distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfAnyPython})
