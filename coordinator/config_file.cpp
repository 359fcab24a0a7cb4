#include "coordinator/config_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "coordinator/option_table.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

Error at(const std::string& path, const toml::source_region& where, std::string_view what) {
  return Error{Code::invalid_argument,
               concat(path, ":", where.begin.line, ":", where.begin.column, ": ", what)};
}

// "" when the node is not of the type.
std::string scalar(const toml::node& node, OptionKind kind) {
  switch (kind) {
    case OptionKind::text:
      return node.value_exact<std::string>().value_or("");
    case OptionKind::flag:
      if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
      return "";
    case OptionKind::number:
    case OptionKind::list:
      if (const auto count = node.value_exact<std::int64_t>()) return concat(*count);
      return "";
  }
  return "";
}

std::string_view type_name(OptionKind kind) {
  switch (kind) {
    case OptionKind::text:
      return "a string in quotes";
    case OptionKind::flag:
      return "true or false";
    case OptionKind::number:
      return "an integer";
    case OptionKind::list:
      return "an array of integers";
  }
  return "";
}

Result<FileSetting> setting_of(const OptionSpec& spec, const toml::node& node,
                               const std::string& path) {
  FileSetting setting{.name = spec.name, .values = {}, .line = node.source().begin.line};
  const Error wrong =
      at(path, node.source(), concat(spec.name, ": expected ", type_name(spec.kind)));
  if (spec.kind != OptionKind::list) {
    setting.values.push_back(scalar(node, spec.kind));
    if (setting.values.back().empty()) return wrong;
    return setting;
  }
  const toml::array* const elements = node.as_array();
  if (elements == nullptr) return wrong;
  for (const toml::node& element : *elements) {
    setting.values.push_back(scalar(element, spec.kind));
    if (setting.values.back().empty()) return wrong;
  }
  return setting;
}

}  // namespace

Result<std::vector<FileSetting>> parse_config(std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) return at(path, parsed.error().source(), parsed.error().description());
  std::vector<FileSetting> settings;
  for (const auto& [key, node] : parsed.table()) {
    const OptionSpec* const spec = find_option(key.str());
    if (spec == nullptr) {
      return at(path, key.source(),
                concat("unknown key '", key.str(), "'; aqua-coordinator --help lists all"));
    }
    AQUA_ASSIGN(FileSetting setting, setting_of(*spec, node, path));
    settings.push_back(std::move(setting));
  }
  std::ranges::sort(settings, {}, &FileSetting::line);
  return settings;
}

Result<std::vector<FileSetting>> read_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) return errno_error(concat("--config ", path));
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return errno_error(concat("--config ", path));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxBytes)
    return Error{Code::invalid_argument, concat("--config ", path, ": more than 1 MiB")};
  return parse_config(text, path);
}

}  // namespace aqua::coordinator
