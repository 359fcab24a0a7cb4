// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/capi/objects.hpp"

namespace aqua::capi {
namespace {

constinit WeightsTable weights_table;
constinit PublisherTable publisher_table;

}  // namespace

WeightsTable& all_weights() noexcept {
  return weights_table;
}
PublisherTable& publishers() noexcept {
  return publisher_table;
}

}  // namespace aqua::capi
