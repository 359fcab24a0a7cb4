// SPDX-License-Identifier: Apache-2.0
// What benchmarks call the arithmetic of sets of measurements, which they share with the examples.
#pragma once

#include "tools/report/samples.hpp"

namespace aqua::bench {

using report::median;
using report::now;
using report::quantile;
using report::ratios;

}  // namespace aqua::bench
