#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-build in a checkout in which cmake and ninja pretend. Usage: see scripts_fixture.py."""
import shutil
import subprocess

from scripts_fixture import PATIENCE, WithPrograms, run, scripts


class GpuBuild(WithPrograms):
    def setUp(self):
        super().setUp()
        (self.folder / "scripts").mkdir()
        for name in ("gpu-build", "gpu-check", "gpu-environment", "gpu-report"):
            shutil.copy(scripts() / name, self.folder / "scripts")
        for name in ("aqua_kv/device.py", "aqua_kv/__pycache__/device.pyc", "bench/first_token/first_token.py",
                     "tests/device.py", "tests/in_vllm/vllm_engine.py"):
            path = self.folder / "python" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
        self.script("bin/nvcc", "true")
        self.script("bin/cmake", "true")
        self.script("bin/ninja", r"""if [ "$3" = -t ]; then printf '%s: phony\n' exporter_death aqua_shared; exit; fi
          mkdir -p build/gpu-tree/bin build/gpu-tree/src; echo library >build/gpu-tree/src/libaqua.so
          head -c "${PROGRAM_BYTES:-1000}" /dev/zero >build/gpu-tree/bin/exporter_death""")
        self.script("bin/strip", 'cp "$3" "$2"')
        self.script("bin/ldd", "true")

    def build(self, *arguments, **environment):
        return subprocess.run([self.folder / "scripts/gpu-build", *arguments], env=self.environment() | environment,
                              check=True, capture_output=True, text=True, timeout=PATIENCE)

    def sanitizer(self):
        folder = self.folder / "compute-sanitizer"
        for name in ("include/sanitizer.h", "docs/index.html", "libsanitizer-collection.so"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("x" * 100, encoding="utf-8")
        self.script("compute-sanitizer/compute-sanitizer", "true")

    def test_prints_the_size_of_each_part_and_of_all(self):
        done = self.build()
        self.assertRegex(done.stdout, r"(?m)^ +0\.0 MiB  exporter_death$")
        self.assertRegex(done.stdout, r"(?m)^gpu-build: build/gpu is 0\.0 MiB, 0\.0 MiB as tar\.gz$")
        self.assertNotIn("warning", done.stderr)
        self.assertEqual({path.name for path in (self.folder / "build/gpu").iterdir()},
                         {"exporter_death", "libaqua.so", "gpu-check", "gpu-environment", "gpu-report", "python", "commit"})

    def test_takes_the_python_sources_alone(self):
        self.build()
        python = self.folder / "build/gpu/python"
        self.assertEqual({str(path.relative_to(python)) for path in python.rglob("*") if path.is_file()},
                         {"aqua_kv/device.py", "bench/first_token/first_token.py", "tests/device.py"})

    def test_warns_above_64_mib_and_names_the_biggest(self):
        done = self.build(PROGRAM_BYTES=str(65 << 20))
        self.assertIn("warning: more than 64 MiB; the biggest files:\n    65.0 MiB  build/gpu/exporter_death\n", done.stderr)

    def test_takes_of_the_sanitizer_what_runs(self):
        self.sanitizer()
        self.build()
        copied = self.folder / "build/gpu/compute-sanitizer"
        self.assertEqual({path.name for path in copied.iterdir()}, {"compute-sanitizer", "libsanitizer-collection.so"})
        self.build("--without-sanitizer")
        self.assertFalse(copied.exists())


if __name__ == "__main__":
    run()
