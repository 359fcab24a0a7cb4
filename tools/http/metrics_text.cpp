// SPDX-License-Identifier: Apache-2.0
#include "tools/http/metrics_text.hpp"

#include <cmath>

#include "tools/report/text.hpp"

namespace aqua::http {
namespace {

constexpr std::string_view kBlank = " \t";

void skip_blanks(std::string_view& rest) {
  const std::size_t first = rest.find_first_not_of(kBlank);
  rest.remove_prefix(first == rest.npos ? rest.size() : first);
}

// The quoted value that `rest` begins with, without its escapes.
bool take_quoted(std::string_view& rest, std::string& out) {
  if (!rest.starts_with('"')) return false;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) {
      ++i;
      out += rest[i] == 'n' ? '\n' : rest[i];
    } else {
      out += rest[i];
    }
  }
  return false;
}

bool take_labels(std::string_view& rest, std::map<std::string, std::string>& labels) {
  rest.remove_prefix(1);  // {
  for (;;) {
    skip_blanks(rest);
    if (rest.starts_with('}')) break;
    const std::size_t equals = rest.find('=');
    if (equals == rest.npos) return false;
    const std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::string value;
    if (!take_quoted(rest, value)) return false;
    labels[name] = std::move(value);
    skip_blanks(rest);
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
  rest.remove_prefix(1);  // }
  return true;
}

std::optional<MetricSample> parse_sample(std::string_view rest) {
  MetricSample sample;
  if (rest.starts_with('{') && !take_labels(rest, sample.labels)) return std::nullopt;
  skip_blanks(rest);
  const std::string_view number = rest.substr(0, rest.find_first_of(kBlank));
  const auto value = report::parse_number<double>(number);
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

std::vector<MetricSample> find_metric(std::string_view text, std::string_view name) {
  std::vector<MetricSample> found;
  report::Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.empty() || (line.front() != '{' && kBlank.find(line.front()) == kBlank.npos)) continue;
    if (auto sample = parse_sample(line)) found.push_back(*std::move(sample));
  }
  return found;
}

std::optional<double> metric_sum(std::string_view text, std::string_view name) {
  const auto samples = find_metric(text, name);
  if (samples.empty()) return std::nullopt;
  double sum = 0;
  for (const MetricSample& sample : samples) sum += sample.value;
  return std::isfinite(sum) ? std::optional(sum) : std::nullopt;
}

}  // namespace aqua::http
