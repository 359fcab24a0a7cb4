// SPDX-License-Identifier: Apache-2.0
// CommandLine: the options of a program or of one of its commands, over CLI11, whose headers only
// command_line.cpp pays for. Options are `--name VALUE` or `--name=VALUE`, flags are `--name`; of
// one given twice the last counts.
//
// Threads: not thread-safe.
// Owns:    nothing of what it fills: the fields outlive it.
// Errors:  invalid_argument names the option, what was given and what it may be.
#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua {

// Whether --help or -h is among them: then nothing else counts.
[[nodiscard]] bool asks_for_help(std::span<const std::string_view> arguments);

// All of `text` as a number from `least` to `most`.
template <typename Number>
[[nodiscard]] Result<Number> parse_between(std::string_view text, Number least, Number most) {
  const auto all = [&](auto& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
  };
  Number value{};
  if (all(value) && value >= least && value <= most) return value;
  double wide = 0;  // 1e6 is whole, too
  const bool fits = std::integral<Number> && all(wide) && wide >= static_cast<double>(least) &&
                    wide <= static_cast<double>(most) && wide < 0x1p53;
  if (fits && static_cast<double>(static_cast<Number>(wide)) == wide)
    return static_cast<Number>(wide);
  return Error{Code::invalid_argument, concat("expected a ", std::integral<Number> ? "whole " : "",
                                              "number from ", least, " to ", most)};
}

// An option, a flag or a value without a name, as the help shows it.
struct OptionText {
  std::string name;
  std::string value;  // what is to be given; empty for flags and values without a name
  std::string help;
};

class CommandLine {
 public:
  using Set = std::function<Result<void>(std::string_view value)>;

  // `command` begins every message, unless it is empty. `about` begins the help.
  CommandLine(std::string command, const std::string& about);
  CommandLine(CommandLine&&) noexcept;
  ~CommandLine();

  // What is added from here on stands under this heading.
  CommandLine& group(std::string heading);

  // `value` says in the help what is to be given, and `fallback`, unless empty, what counts if
  // nothing is. Messages of `set` follow "--name VALUE: ".
  CommandLine& option(const std::string& name, const std::string& value, const std::string& help,
                      Set set, const std::string& fallback = "");
  CommandLine& flag(const std::string& name, bool& field, const std::string& help, bool to = true);
  // May be given again and again.
  CommandLine& list(const std::string& name, std::vector<std::string>& field,
                    const std::string& value, const std::string& help);
  // A value without a name.
  CommandLine& positional(const std::string& value, std::string& field, const std::string& help);

  // A std::string or std::filesystem::path.
  template <typename Text>
  CommandLine& text(const std::string& name, Text& field, const std::string& value,
                    const std::string& help) {
    return option(
        name, value, help,
        [&field](std::string_view given) -> Result<void> {
          field = given;
          return {};
        },
        std::string(field));
  }

  // `field` may be optional. What it holds now is shown where it is a value that can be given.
  template <typename Field, typename Number = std::remove_cvref_t<Field>>
  requires std::is_arithmetic_v<Number> CommandLine& number(const std::string& name, Field& field,
                                                            std::type_identity_t<Number> least,
                                                            std::type_identity_t<Number> most,
                                                            const std::string& value,
                                                            const std::string& help) {
    const bool shown = field >= least && field <= most;
    return option(name, value, help, into(field, least, most), shown ? concat(field) : "");
  }
  template <typename Number>
  CommandLine& number(const std::string& name, std::optional<Number>& field,
                      std::type_identity_t<Number> least, std::type_identity_t<Number> most,
                      const std::string& value, const std::string& help) {
    return option(name, value, help, into(field, least, most));
  }
  // In whole units of its type.
  template <typename Rep, typename Unit>
  CommandLine& number(const std::string& name, std::chrono::duration<Rep, Unit>& field,
                      std::type_identity_t<Rep> least, std::type_identity_t<Rep> most,
                      const std::string& value, const std::string& help) {
    return option(
        name, value, help,
        [&field, least, most](std::string_view given) -> Result<void> {
          auto number = parse_between<Rep>(given, least, most);
          if (!number.ok()) return std::move(number).error();
          field = std::chrono::duration<Rep, Unit>(*number);
          return {};
        },
        concat(field.count()));
  }

  // One of these names.
  template <typename Enum>
  CommandLine& choice(const std::string& name, Enum& field,
                      std::vector<std::pair<std::string, Enum>> names, const std::string& value,
                      const std::string& help) {
    std::string fallback;
    for (const auto& [known, meaning] : names) {
      if (meaning == field) fallback = known;
    }
    return option(name, value, help, one_of(field, std::move(names)), fallback);
  }
  // `fallback` says in the help what counts if nothing is given.
  template <typename Enum>
  CommandLine& choice(const std::string& name, std::optional<Enum>& field,
                      std::vector<std::pair<std::string, Enum>> names, const std::string& value,
                      const std::string& help, const std::string& fallback) {
    return option(name, value, help, one_of(field, std::move(names)), fallback);
  }

  // Sets fields in the order in which options were added. Those that are not given keep their
  // values.
  [[nodiscard]] Result<void> parse(std::span<const std::string_view> arguments);
  [[nodiscard]] std::string help();
  // What the help is made of: its beginning, and what it lists, in the order of the declarations.
  [[nodiscard]] std::string about() const;
  [[nodiscard]] std::vector<OptionText> options() const;

 private:
  struct Impl;

  template <typename Field, typename Number>
  static Set into(Field& field, Number least, Number most) {
    return [&field, least, most](std::string_view given) -> Result<void> {
      auto number = parse_between<Number>(given, least, most);
      if (!number.ok()) return std::move(number).error();
      field = *number;
      return {};
    };
  }

  template <typename Field, typename Enum>
  static Set one_of(Field& field, std::vector<std::pair<std::string, Enum>> names) {
    return [&field, names = std::move(names)](std::string_view given) -> Result<void> {
      std::string all;
      for (const auto& [known, meaning] : names) {
        if (known == given) return field = meaning, Result<void>{};
        all += (all.empty() ? "" : ", ") + known;
      }
      return Error{Code::invalid_argument, "expected one of " + all};
    };
  }

  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua
