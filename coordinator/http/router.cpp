// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/router.hpp"

#include <optional>

namespace aqua::coordinator {
namespace {

// Takes the first segment off `path`, its slash included.
std::string_view take_segment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/', 1));
  path.remove_prefix(segment.size());
  return segment;
}

// What stands for each {…} of `pattern`; nullopt: another path.
std::optional<std::vector<std::string>> parameters_of(std::string_view pattern,
                                                      std::string_view path) {
  std::vector<std::string> parameters;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view expected = take_segment(pattern);
    const std::string_view given = take_segment(path);
    if (!expected.starts_with("/{")) {
      if (expected != given) return std::nullopt;
      continue;
    }
    if (given.size() < 2 || given.front() != '/') return std::nullopt;
    parameters.emplace_back(given.substr(1));
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parameters;
}

}  // namespace

Router::Match Router::match(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  Match match;
  for (const Route& route : routes_) {
    auto parameters = parameters_of(route.path, path);
    if (!parameters) continue;
    if (route.method == method) {
      match.route = &route;
      match.parameters = *std::move(parameters);
      return match;
    }
    match.allowed += (match.allowed.empty() ? "" : ", ") + route.method;
  }
  return match;
}

Lane Router::lane_of(std::string_view text) const {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return Lane::common;
  const std::string_view target = text.substr(blank + 1);
  const Match found = match(text.substr(0, blank), target.substr(0, target.find_first_of(" ?\r")));
  return found.route != nullptr ? found.route->lane : Lane::common;
}

std::string_view Router::label_of(std::string_view path) const {
  for (const Route& route : routes_) {
    if (parameters_of(route.path, path)) return route.path;
  }
  return kOtherPath;
}

}  // namespace aqua::coordinator
