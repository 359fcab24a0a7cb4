// SPDX-License-Identifier: Apache-2.0
// A ModelBook with a loader, readers and devices.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "systems/sharing/decide/model_book.hpp"

namespace aqua::sharing {

using Copies = std::vector<CopyId>;

inline DeviceUuid gpu(std::uint8_t number) {
  DeviceUuid id;
  id.bytes[0] = number;
  return id;
}

class ModelBookTest : public ::testing::Test {
 protected:
  static constexpr ClientNumber kLoader = 1, kOther = 2, kReader = 3, kLate = 4;
  ModelBook book_;

  // A version with one shard, there.
  CopyId publish(const std::string& version) {
    const CopyId id = book_.open(kLoader, {"m", version}, gpu(0)).value();
    forgotten_ = book_.commit(kLoader, id).value();
    return id;
  }
  Code attach_code(const ShardName& name, const DeviceUuid& device = gpu(0)) {
    const auto attached = book_.attach(kLate, name, device);
    return attached.ok() ? Code::internal : attached.error().code;
  }
  Copies forgotten_;  // by the last publish()
};

}  // namespace aqua::sharing
