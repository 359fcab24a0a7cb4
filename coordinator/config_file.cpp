// SPDX-License-Identifier: Apache-2.0
#include "coordinator/config_file.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace aqua::coordinator {
constexpr void assert_toml(bool sound) {
  if (!sound) throw std::logic_error("not TOML");
}
}  // namespace aqua::coordinator

// What toml++ asserts of a document ("[=]") is refused, too, in builds without assertions as well.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_EXCEPTIONS 1
#define TOML_ASSERT(expr) ::aqua::coordinator::assert_toml(static_cast<bool>(expr))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "coordinator/option_table.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

Error at(const std::string& path, const toml::source_region& where, std::string_view what) {
  return Error{Code::invalid_argument,
               concat(path, ":", where.begin.line, ":", where.begin.column, ": ", what)};
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; });
}

// toml++ to 3.3.0 has undefined behaviour where a letter like U+00E9 stands for a space or a key.
// Text beyond ASCII is therefore for comment lines only, and as no string has several lines, a
// line that begins with # is one.
Result<void> check_characters(std::string_view text, const std::string& path) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto complaint = [&](std::string_view what) {
      return Error{Code::invalid_argument, concat(path, ":", number, ": ", what)};
    };
    ++number;
    if (line.find(R"(""")") != line.npos || line.find("'''") != line.npos)
      return complaint("a string of several lines, which no option takes");
    const std::size_t first = line.find_first_not_of(" \t");
    const bool comment = first != line.npos && line[first] == '#';
    if (!comment && !is_ascii(line))
      return complaint(R"(not ASCII; within quotes write \u00E9, or a comment on its own line)");
  }
  return {};
}

Result<toml::table> parse_toml(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const std::string_view what = error.description();
    const bool bare = what.find("value type") != std::string_view::npos;
    return at(path, error.source(), concat(what, bare ? "; text stands in quotes" : ""));
  } catch (const std::logic_error&) {
    return Error{Code::invalid_argument, concat(path, ": not TOML")};
  }
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
  AQUA_TRY(check_characters(text, path));
  AQUA_ASSIGN(const toml::table table, parse_toml(text, path));
  std::vector<FileSetting> settings;
  for (const auto& [key, node] : table) {
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
  auto text = read_file(path, kMaxBytes);
  if (!text.ok()) return Error{text.error().code, concat("--config ", text.error().message)};
  return parse_config(*text, path);
}

std::string config_string(const std::string& text) {
  std::ostringstream out;
  out << toml::toml_formatter(toml::value<std::string>(text), toml::format_flags::none);
  return out.str();
}

}  // namespace aqua::coordinator
