// SPDX-License-Identifier: Apache-2.0
// In the place of ucx_carrier.cpp where AQUA_UCX is OFF, or UCX was not found.
#include "tools/courier/ucx/ucx_carrier.hpp"

namespace aqua::courier {

void prepare_ucx(CarrierChoice /*choice*/) {}

Result<std::unique_ptr<UcxCarrier>> UcxCarrier::open(const TlsStream& /*beside*/,
                                                     CarrierChoice /*choice*/) {
  return Error{Code::unimplemented, "courier: this one is built without UCX"};
}

}  // namespace aqua::courier
