// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/capi/objects.hpp"

namespace aqua::capi {
namespace {

// Constant-initialised and without destructors, as those of src/capi.
constinit HandleTable<PackerObject, Kind::packer> all_packers;

}  // namespace

HandleTable<PackerObject, Kind::packer>& packers() noexcept {
  return all_packers;
}

Result<void> check_may_call(const char* what, const LockedPacker& locked) {
  if (!locked.interrupted) return {};
  return Error{Code::failed_precondition,
               concat(what, ": memory ran out in the middle of an earlier call; free the packer, ",
                      "and tell another one what is where")};
}

}  // namespace aqua::capi
