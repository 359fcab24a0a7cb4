#include "coordinator/http_routes.hpp"

namespace aqua::coordinator {
namespace {

// Takes the first segment off `path`, its slash included.
std::string_view take_segment(std::string_view& path) {
  const std::size_t end = path.find('/', 1);
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(segment.size());
  return segment;
}

bool matches(std::string_view route, std::string_view path) {
  while (!route.empty() && !path.empty()) {
    const std::string_view expected = take_segment(route);
    const std::string_view given = take_segment(path);
    const bool any = expected.starts_with("/{");
    if (any ? given.size() < 2 : expected != given) return false;
  }
  return route.empty() && path.empty();
}

}  // namespace

Route route_of(std::string_view path) {
  for (std::size_t i = 0; i + 1 < kRoutes.size(); ++i) {
    if (matches(kRoutes[i], path)) return {i};
  }
  return {};
}

}  // namespace aqua::coordinator
