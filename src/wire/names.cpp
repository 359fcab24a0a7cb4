// SPDX-License-Identifier: Apache-2.0
#include "wire/names.hpp"

#include "aqua/result.hpp"
#include "wire/error.hpp"

namespace aqua::wire {
namespace {

// `last` is the largest enumerator; they are numbered from 0 without gaps.
template <typename E>
std::optional<E> find_named(std::string_view name, E last) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    if (to_string(static_cast<E>(i)) == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ledger::SlabState> parse_slab_state(std::string_view name) {
  return find_named(name, ledger::SlabState::returned);
}
std::optional<ledger::ClientState> parse_client_state(std::string_view name) {
  return find_named(name, ledger::ClientState::suspect);
}
std::optional<ledger::EventKind> parse_event_kind(std::string_view name) {
  return find_named(name, ledger::EventKind::withdrawn);
}
std::optional<Code> parse_code(std::string_view name) {
  return find_named(name, Code::internal);
}

}  // namespace aqua::wire
