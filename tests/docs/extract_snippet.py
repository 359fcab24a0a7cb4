#!/usr/bin/env python3
"""Writes the first fenced block of a language in a page to a file, so that it can be compiled.

Usage: extract_snippet.py PAGE LANGUAGE OUTPUT
"""
import pathlib
import re
import sys

page, language, output = sys.argv[1:]
match = re.search(rf"^```{language}\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)
if not match:
    sys.exit(f"{page}: no block of {language}")
pathlib.Path(output).write_text(match.group(1))
