// SPDX-License-Identifier: Apache-2.0
#include "ledger/types.hpp"

#include "base/concat.hpp"

namespace aqua::ledger {

std::string_view to_string(SlabState state) noexcept {
  switch (state) {
    case SlabState::offered:
      return "offered";
    case SlabState::leased:
      return "leased";
    case SlabState::suspect:
      return "suspect";
    case SlabState::revoking:
      return "revoking";
    case SlabState::orphaned:
      return "orphaned";
    case SlabState::quarantined:
      return "quarantined";
    case SlabState::returned:
      return "returned";
  }
  return "?";
}

std::string_view to_string(ClientState state) noexcept {
  return state == ClientState::live ? "live" : "suspect";
}

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::offers_available:
      return "offers_available";
    case EventKind::granted:
      return "granted";
    case EventKind::revoke:
      return "revoke";
    case EventKind::returned:
      return "returned";
    case EventKind::holder_dead:
      return "holder_dead";
    case EventKind::producer_gone:
      return "producer_gone";
    case EventKind::reclaim_done:
      return "reclaim_done";
    case EventKind::withdrawn:
      return "withdrawn";
  }
  return "?";
}

std::string to_string(const SlabId& id) {
  return concat(to_string(id.producer), "/", id.index);
}

}  // namespace aqua::ledger
