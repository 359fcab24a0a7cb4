#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a profile that the command wrote against docs/plan/profile.schema.json.

Usage: schema_test.py SCHEMA COMMAND...: the command prints a profile. Exits 77 without jsonschema.
"""
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: no jsonschema for python3")
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
profile = json.loads(subprocess.run(sys.argv[2:], check=True, capture_output=True, text=True).stdout)
validator = jsonschema.Draft202012Validator(schema)
validator.validate(profile)
# Every field of it is asked for: without any of them it is no profile.
for key in [key for key in profile if key != "evidence"]:
    less = {other: value for other, value in profile.items() if other != key}
    assert not validator.is_valid(less), f"valid without {key}"
for key in profile["evidence"]:
    less = {other: value for other, value in profile["evidence"].items() if other != key}
    assert not validator.is_valid(profile | {"evidence": less}), f"valid without evidence.{key}"
for name in ("probes", "bursts", "batches"):
    assert profile["evidence"][name], f"no {name} to check"
print("the schema describes what is written")
