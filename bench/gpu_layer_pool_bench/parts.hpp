// SPDX-License-Identifier: Apache-2.0
// The parts of gpu_layer_pool_bench. Each adds a row.
#pragma once

#include "gpu_layer_pool_bench/bed.hpp"
#include "layer_pool_bench/report.hpp"

namespace aqua::bench {

// Kernels that write and compare blocks of streamed layers, in graphs that were captured before the
// first step and are replayed while frames change under them.
void measure_graphs(Report& report, Bed& bed);
// A step with half of the layers streamed, whose copies take 0.9 of what the layers compute, over
// one with all of them resident.
void measure_step(Report& report, Bed& bed);
// How long resize() keeps an engine, for each number of layers that change sides.
void measure_resize(Report& report, Bed& bed);
// What the marks of a pool with a goal cost a step: of the thread that posts, and of the device.
void measure_marks(Report& report, Bed& bed);

}  // namespace aqua::bench
