#include "coordinator/router.hpp"

namespace aqua::coordinator {
namespace {

// What stands for the {…} of `pattern`, "" where it has none; nullopt: another path.
std::optional<std::string_view> parameter_of(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return path == pattern ? std::optional<std::string_view>("") : std::nullopt;
  const std::string_view after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= open + after.size() || !path.starts_with(pattern.substr(0, open)) ||
      !path.ends_with(after)) {
    return std::nullopt;
  }
  const std::string_view inside = path.substr(open, path.size() - open - after.size());
  if (inside.find('/') != std::string_view::npos) return std::nullopt;
  return inside;
}

}  // namespace

Router::Match Router::match(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  Match match;
  for (const Route& route : routes_) {
    const auto parameter = parameter_of(route.path, path);
    if (!parameter) continue;
    if (route.method == method) {
      match.route = &route;
      match.parameter = *parameter;
      return match;
    }
    match.allowed += (match.allowed.empty() ? "" : ", ") + route.method;
  }
  return match;
}

}  // namespace aqua::coordinator
