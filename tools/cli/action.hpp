// SPDX-License-Identifier: Apache-2.0
// The action of a command of `aqua` that has several: its first word, unless that is an option.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua::tool {

// The first of `actions` where no word is given. Takes the word off `arguments`. invalid_argument
// lists the names there are.
template <typename Action>
[[nodiscard]] Result<Action> take_action(
    std::span<const std::string_view>& arguments,
    std::initializer_list<std::pair<std::string_view, Action>> actions) {
  if (arguments.empty() || arguments.front().starts_with("-")) return actions.begin()->second;
  std::string names;
  for (const auto& [name, action] : actions) {
    if (name == arguments.front()) {
      arguments = arguments.subspan(1);
      return action;
    }
    names += concat(names.empty() ? "" : ", ", name);
  }
  return Error{Code::invalid_argument,
               concat("no action '", arguments.front(), "': expected one of ", names)};
}

}  // namespace aqua::tool
