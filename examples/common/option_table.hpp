// SPDX-License-Identifier: Apache-2.0
// OptionTable: the command line of an example. Options are `--name VALUE` or `--name=VALUE`, flags
// are `--name`; a table says which there are and where their values go.
//
// Threads: not thread-safe; read-only once made.
// Errors:  throws Failure naming the argument and what it should be.
#pragma once

#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "must.hpp"

namespace aqua::example {

// `text` as a number from `least` to `most`; `option` is for the message.
template <typename T>
T number(const std::string& option, std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.empty();
  if (!whole || !(value >= least && value <= most)) {
    throw Failure(option + " " + std::string(text) + ": expected a number from " +
                  std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

template <typename Options>
class OptionTable {
 public:
  using Setter = std::function<void(Options&, const std::string& option, std::string_view value)>;

  OptionTable& value(const std::string& name, Setter setter) {
    values_[name] = std::move(setter);
    return *this;
  }
  template <typename T>
  OptionTable& number(const std::string& name, T Options::*field, T least, T most) {
    return value(name, [=](Options& o, const std::string& option, std::string_view text) {
      o.*field = example::number<T>(option, text, least, most);
    });
  }
  OptionTable& path(const std::string& name, std::filesystem::path Options::*field) {
    return value(name,
                 [=](Options& o, const std::string&, std::string_view text) { o.*field = text; });
  }
  OptionTable& flag(const std::string& name, bool Options::*field, bool to = true) {
    flags_[name] = [=](Options& o) { o.*field = to; };
    return *this;
  }

  [[nodiscard]] Options parse(std::span<const char* const> arguments) const {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string argument = arguments[i];
      if (const auto flag = flags_.find(argument); flag != flags_.end()) {
        flag->second(options);
        continue;
      }
      const std::string name = argument.substr(0, argument.find('='));
      const auto setter = values_.find(name);
      if (setter == values_.end()) throw Failure("unknown option " + name + "; see --help");
      if (name.size() < argument.size()) {
        setter->second(options, name, std::string_view(argument).substr(name.size() + 1));
      } else if (i + 1 < arguments.size()) {
        setter->second(options, name, arguments[++i]);
      } else {
        throw Failure(name + " needs a value");
      }
    }
    return options;
  }

 private:
  std::map<std::string, Setter, std::less<>> values_;
  std::map<std::string, std::function<void(Options&)>, std::less<>> flags_;
};

}  // namespace aqua::example
