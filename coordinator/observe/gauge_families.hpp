// SPDX-License-Identifier: Apache-2.0
// What is true at the moment of a scrape, as families of prometheus-cpp.
//
// Threads: free functions.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace aqua::coordinator {

struct Gauges;

void append_gauges(std::vector<prometheus::MetricFamily>& families, const Gauges& gauges);
// Appends figures of this process, from /proc/self; what cannot be read is left out.
void append_process(std::vector<prometheus::MetricFamily>& families);

}  // namespace aqua::coordinator
