#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_test_names.sh PROGRAM...: fails when one of these GoogleTest programs cannot list its
# tests, or lists one whose parameter prints as raw bytes or as an address.
status=0
for program; do
  tests=$("$program" --gtest_list_tests) && [ -n "$tests" ] || { echo "$program lists no tests"; status=1; }
  if printf '%s\n' "$tests" | grep -E -e '-byte object <|0x[0-9a-f]{5}'; then
    echo "$program: a PrintTo() is missing for the parameters above"
    status=1
  fi
done
exit $status
