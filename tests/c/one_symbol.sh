#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# one_symbol.sh NM LIBRARY: the library defines allot_solve_json, and nothing else that can be seen.
set -eu
symbols=$("$1" --dynamic --defined-only --format=posix "$2" | cut -d' ' -f1)
echo "$symbols"
[ "$symbols" = allot_solve_json ]
