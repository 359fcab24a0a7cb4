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

}  // namespace aqua::capi
