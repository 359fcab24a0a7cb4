// SPDX-License-Identifier: Apache-2.0
#include "device/seal_state.hpp"

namespace aqua::device {

Result<void> SealState::check_seal() const {
  if (state_ != State::lent) return {};
  return Error{Code::failed_precondition, "seal: the slab was created to lend, not to publish"};
}

Error SealState::still_written() {
  return Error{Code::failed_precondition,
               "seal: the slab is still mapped to be written, here or in a forked child: unmap it "
               "first"};
}

Result<void> SealState::check_export() const {
  if (state_ != State::open) return {};
  return Error{Code::failed_precondition, "export_slab: a slab to publish is to be sealed first"};
}

Result<void> SealState::check_map(MapAccess access) const {
  if (state_ != State::sealed || access == MapAccess::read_only) return {};
  return Error{Code::permission_denied, "map: the slab is sealed, and can only be read"};
}

}  // namespace aqua::device
