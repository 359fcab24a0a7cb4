// SPDX-License-Identifier: Apache-2.0
// Shared weights over the C ABI, with a real keeper: published by one engine, mapped by another.
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/capi/capi_fixture.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {
namespace {

class CapiWeights : public CapiFixture {
 protected:
  CapiWeights() { std::iota(values_.begin(), values_.end(), std::uint16_t{1}); }

  [[nodiscard]] aqua_weights_options options(const char* version = nullptr) const {
    aqua_weights_options options = AQUA_WEIGHTS_OPTIONS_INIT;
    options.model = "small";
    options.version = version;
    options.keeper = socket_.c_str();
    return options;
  }
  static std::vector<aqua_weight_spec> two_tensors() {
    return {{.name = "a",
             .type = "F16",
             .block_elements = 1,
             .block_bytes = 2,
             .axes = 2,
             .shape = {32, 64}},
            {.name = "b",
             .type = "F32",
             .block_elements = 1,
             .block_bytes = 4,
             .axes = 0,
             .shape = {}}};
  }
  aqua_code publish(const char* version, aqua_weights_publisher* publisher) {
    const aqua_weights_options given = options(version);
    const auto tensors = two_tensors();
    return code_of(
        aqua_weights_publish(runtime_, &given, tensors.data(), tensors.size(), publisher));
  }
  // Publishes all of this version, `a` filled with values_.
  void publish_all(const char* version) {
    aqua_weights_publisher publisher{};
    ASSERT_EQ(publish(version, &publisher), AQUA_OK);
    ASSERT_EQ(
        code_of(aqua_weights_publisher_write(publisher, 0, 0, values_.data(), sizeof values_)),
        AQUA_OK);
    ASSERT_EQ(code_of(aqua_weights_publisher_commit(publisher)), AQUA_OK);
    ASSERT_EQ(code_of(aqua_weights_publisher_free(publisher)), AQUA_OK);
  }
  aqua_weights attach(const char* version = nullptr) {
    const aqua_weights_options given = options(version);
    aqua_weights weights{};
    EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, &weights)), AQUA_OK);
    return weights;
  }
  [[nodiscard]] static aqua_weight_tensor find(aqua_weights weights, const char* name) {
    aqua_weight_tensor tensor = AQUA_WEIGHT_TENSOR_INIT;
    EXPECT_EQ(code_of(aqua_weights_find(weights, name, &tensor)), AQUA_OK);
    return tensor;
  }
  [[nodiscard]] aqua_memory_budget budget() const {
    aqua_memory_budget told = AQUA_MEMORY_BUDGET_INIT;
    EXPECT_EQ(code_of(aqua_runtime_get_budget(runtime_, &told)), AQUA_OK);
    return told;
  }
  [[nodiscard]] static aqua_weights_info info_of(aqua_weights weights) {
    aqua_weights_info info = AQUA_WEIGHTS_INFO_INIT;
    EXPECT_EQ(code_of(aqua_weights_get_info(weights, &info)), AQUA_OK);
    return info;
  }

  test::KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
  std::array<std::uint16_t, 2048> values_{};
};

TEST_F(CapiWeights, WhatOneEnginePublishesAnotherReadsInPlace) {
  publish_all("1");
  EXPECT_EQ(budget().shared_bytes, 0U) << "what is published is the keeper's";
  const std::size_t all = budget().engine_bytes;
  const aqua_weights weights = attach();
  EXPECT_EQ(budget().shared_bytes, std::size_t{2} << 20);
  EXPECT_EQ(budget().engine_bytes, all - (std::size_t{2} << 20)) << "weights are not free";
  const aqua_weights_info info = info_of(weights);
  EXPECT_EQ(info.tensors, 2U);
  EXPECT_EQ(info.bytes, std::uint64_t{2} << 20);
  EXPECT_STREQ(info.version, "1");
  EXPECT_EQ(info.enforced, 1U);
  const aqua_weight_tensor a = find(weights, "a");
  EXPECT_EQ(a.bytes, sizeof values_);
  EXPECT_STREQ(a.name, "a");
  EXPECT_STREQ(a.type, "F16");
  EXPECT_EQ(a.block_elements, 1U);
  EXPECT_EQ(a.block_bytes, 2U);
  ASSERT_EQ(a.axes, 2U);
  EXPECT_EQ(a.shape[0], 32U);
  EXPECT_EQ(a.shape[1], 64U);
  EXPECT_EQ(a.strides[0], 128U);
  EXPECT_EQ(a.strides[1], 2U);
  EXPECT_EQ(std::memcmp(a.address, values_.data(), sizeof values_), 0);
  aqua_weight_tensor b = AQUA_WEIGHT_TENSOR_INIT;
  ASSERT_EQ(code_of(aqua_weights_get_tensor(weights, 1, &b)), AQUA_OK);
  EXPECT_STREQ(b.name, "b");
  EXPECT_EQ(b.axes, 0U);
  EXPECT_EQ(b.bytes, 4U);
  EXPECT_EQ(code_of(aqua_weights_verify(weights)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_weights_free(weights)), AQUA_OK);
  EXPECT_EQ(budget().engine_bytes, all);
}

TEST_F(CapiWeights, ResumingMapsTheNewestAtTheSameAddresses) {
  publish_all("1");
  const aqua_weights weights = attach();
  const void* const before = find(weights, "a").address;
  ASSERT_EQ(code_of(aqua_weights_suspend(weights)), AQUA_OK);
  EXPECT_EQ(budget().shared_bytes, 0U) << "what is suspended is not mapped";
  EXPECT_EQ(info_of(weights).is_suspended, 1U);
  EXPECT_EQ(code_of(aqua_weights_verify(weights)), AQUA_FAILED_PRECONDITION);
  values_[0] = 7777;
  publish_all("2");
  ASSERT_EQ(code_of(aqua_weights_resume(weights)), AQUA_OK);
  EXPECT_STREQ(info_of(weights).version, "2");
  EXPECT_EQ(info_of(weights).is_suspended, 0U);
  EXPECT_EQ(find(weights, "a").address, before);
  EXPECT_EQ(std::memcmp(before, values_.data(), sizeof values_), 0);
  EXPECT_EQ(code_of(aqua_weights_free(weights)), AQUA_OK);
}

TEST_F(CapiWeights, ARuntimeWithWeightsIsNotClosed) {
  publish_all("1");
  const aqua_weights weights = attach();
  aqua_error* const refused = aqua_runtime_close(runtime_);
  EXPECT_NE(std::string(aqua_error_message(refused)).find("1 weights"), std::string::npos)
      << aqua_error_message(refused);
  EXPECT_EQ(code_of(refused), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_weights_free(weights)), AQUA_OK);
}

TEST_F(CapiWeights, WhatIsNotCommittedIsNotThere) {
  aqua_weights_publisher publisher{};
  ASSERT_EQ(publish("1", &publisher), AQUA_OK);
  aqua_weights_publisher second{};
  EXPECT_EQ(publish("1", &second), AQUA_ALREADY_EXISTS);
  aqua_weights_options given = options();
  aqua_weights weights{};
  EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, &weights)), AQUA_NOT_FOUND);
  given.patience_ms = 1;
  EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, &weights)), AQUA_DEADLINE_EXCEEDED);
  EXPECT_EQ(code_of(aqua_weights_publisher_free(publisher)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, &weights)), AQUA_NOT_FOUND);
}

TEST_F(CapiWeights, BadInputIsRefusedAndChangesNothing) {
  publish_all("1");
  const aqua_weights weights = attach();
  aqua_weight_tensor tensor = AQUA_WEIGHT_TENSOR_INIT;
  EXPECT_EQ(code_of(aqua_weights_find(weights, "c", &tensor)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_weights_find(weights, nullptr, &tensor)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_weights_get_tensor(weights, 2, &tensor)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(tensor.address, nullptr);
  tensor.struct_size = 3;
  EXPECT_EQ(code_of(aqua_weights_get_tensor(weights, 0, &tensor)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_weights_free(weights)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_weights_free(weights)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_weights_verify({})), AQUA_INVALID_ARGUMENT);

  aqua_weights_options given = options("1");
  given.shards = 2;
  aqua_weights other{};
  EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, &other)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, nullptr)), AQUA_INVALID_ARGUMENT);
  given.keeper = "/nowhere/keeper.sock";
  EXPECT_EQ(code_of(aqua_weights_attach(runtime_, &given, &other)), AQUA_UNAVAILABLE);

  given = options("2");
  auto specs = two_tensors();
  aqua_weights_publisher publisher{};
  const auto publish_code = [&] {
    return code_of(aqua_weights_publish(runtime_, &given, specs.data(), specs.size(), &publisher));
  };
  specs[1].axes = AQUA_WEIGHT_AXES + 1;
  EXPECT_EQ(publish_code(), AQUA_INVALID_ARGUMENT);
  specs[1] = specs[0];
  EXPECT_EQ(publish_code(), AQUA_INVALID_ARGUMENT) << "the name is there twice";
  EXPECT_EQ(code_of(aqua_weights_publish(runtime_, &given, nullptr, 0, &publisher)),
            AQUA_INVALID_ARGUMENT);
  specs = two_tensors();
  ASSERT_EQ(publish_code(), AQUA_OK);
  EXPECT_EQ(code_of(aqua_weights_publisher_write(publisher, 0, 1, values_.data(), sizeof values_)),
            AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_weights_publisher_write(publisher, 2, 0, values_.data(), 1)),
            AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_weights_publisher_write(publisher, 0, 0, nullptr, 1)),
            AQUA_INVALID_ARGUMENT);
  ASSERT_EQ(code_of(aqua_weights_publisher_commit(publisher)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_weights_publisher_commit(publisher)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_weights_publisher_free(publisher)), AQUA_OK);
}

}  // namespace
}  // namespace aqua::test
