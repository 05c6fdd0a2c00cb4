// SPDX-License-Identifier: Apache-2.0
// The flags of this translation unit are the flags of every xfail case under nvcc (see xfail.py).
#include <allot/allot.hpp>
