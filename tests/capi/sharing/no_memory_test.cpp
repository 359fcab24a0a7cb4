// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on shared weights makes is made to fail. The call says so, and what
// it was called on is of use afterwards. Of the calls that do not speak to the keeper: the others
// build JSON, whose library allocates when it destroys and ends the process where it cannot
// (nlohmann/json 3.11, json_value::destroy()).
#include <array>
#include <utility>

#include "tests/capi/fail_each.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {
namespace {

class NoMemoryWeights : public CapiFixture {
 protected:
  NoMemoryWeights() {
    options_.model = "small";
    options_.version = "1";
    options_.keeper = socket_.c_str();
    spec_.name = "a";
    spec_.type = "U8";
    spec_.block_elements = spec_.block_bytes = spec_.axes = 1;
    spec_.shape[0] = values_.size();
  }
  aqua_error* publish() {
    return aqua_weights_publish(runtime_, &options_, &spec_, 1, &publisher_);
  }
  aqua_error* write() const {
    return aqua_weights_publisher_write(publisher_, 0, 0, values_.data(), values_.size());
  }
  void free_publisher() { freed(aqua_weights_publisher_free(std::exchange(publisher_, {}))); }
  aqua_error* attach() { return aqua_weights_attach(runtime_, &options_, &weights_); }

  test::KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
  const std::array<char, 4096> values_{};
  aqua_weights_options options_ = AQUA_WEIGHTS_OPTIONS_INIT;
  aqua_weight_spec spec_{};
  aqua_weights_publisher publisher_{};
  aqua_weights weights_{};
};

TEST_F(NoMemoryWeights, Publishing) {
  freed(publish());
  fail_each("aqua_weights_publisher_write", [&] { return write(); });
  free_publisher();
}

TEST_F(NoMemoryWeights, Reading) {
  freed(publish());
  freed(write());
  freed(aqua_weights_publisher_commit(publisher_));
  free_publisher();
  freed(attach());
  aqua_weight_tensor tensor = AQUA_WEIGHT_TENSOR_INIT;
  aqua_weights_info info = AQUA_WEIGHTS_INFO_INIT;
  fail_each("aqua_weights_find", [&] { return aqua_weights_find(weights_, "a", &tensor); });
  fail_each("aqua_weights_get_tensor",
            [&] { return aqua_weights_get_tensor(weights_, 0, &tensor); });
  fail_each("aqua_weights_get_info", [&] { return aqua_weights_get_info(weights_, &info); });
  fail_each("aqua_weights_verify", [&] { return aqua_weights_verify(weights_); });
  EXPECT_EQ(code_of(aqua_weights_verify(weights_)), AQUA_OK);
  freed(aqua_weights_free(weights_));
}

}  // namespace
}  // namespace aqua::test
