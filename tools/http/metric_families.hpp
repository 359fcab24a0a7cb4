// SPDX-License-Identifier: Apache-2.0
// Families are metrics as Prometheus reads them, one kind after another. For sources only: who
// includes it links prometheus-cpp.
// Threads: not thread-safe. Pure.
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

namespace aqua::http {

class Families {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  // The ones that follow are of this family.
  void begin(const char* name, const char* help, prometheus::MetricType type) {
    prometheus::MetricFamily& family = all_.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
  }
  void add(double value, Labels labels = {}) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    const bool counts = all_.back().type == prometheus::MetricType::Counter;
    (counts ? metric.counter.value : metric.gauge.value) = value;
    all_.back().metric.push_back(std::move(metric));
  }
  void add(prometheus::ClientMetric metric) { all_.back().metric.push_back(std::move(metric)); }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  std::vector<prometheus::MetricFamily> all_;
};

}  // namespace aqua::http
