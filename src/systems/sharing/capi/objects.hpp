// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of shared weights. These objects are for one thread at a time and
// the C ABI is for many: each has a lock, which calls take in turn.
#pragma once

#include <memory>
#include <optional>

#include "aqua/c/weights.h"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "base/mutex.hpp"
#include "capi/call.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

struct LockedWeights {
  Mutex lock{};
  std::optional<sharing::SharedWeights> weights{};
  bool suspended = false;
};
struct WeightsObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedWeights> locked;
};

struct LockedPublisher {
  Mutex lock{};
  std::optional<sharing::WeightsPublisher> publisher{};
  bool committed = false;
};
struct PublisherObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedPublisher> locked;
};

inline constexpr std::uint32_t kChunksOfPublishers = 4;
using WeightsTable =
    HandleTable<WeightsObject, Kind::weights, kChunksOfSharing - kChunksOfPublishers>;
using PublisherTable = HandleTable<PublisherObject, Kind::weights_publisher, kChunksOfPublishers>;

[[nodiscard]] WeightsTable& all_weights() noexcept;
[[nodiscard]] PublisherTable& publishers() noexcept;

}  // namespace aqua::capi
