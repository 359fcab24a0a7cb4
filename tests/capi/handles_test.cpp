// SPDX-License-Identifier: Apache-2.0
// Handles that are good for nothing: zero, freed, of another kind, invented.
#include <cstring>
#include <set>
#include <vector>

#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

class Handles : public CapiFixture {};

TEST_F(Handles, ZeroIsAnInvalidArgumentToEveryCall) {
  aqua_tier tier = 0;
  int done = 0;
  std::size_t n = 0;
  void* address = nullptr;
  EXPECT_EQ(code_of(aqua_runtime_tick({})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_runtime_close({})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_runtime_lend({}, 1)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_get_tier({}, &tier)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_free({})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_pin_release({})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_ticket_done({}, &done)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_layout_packed_bytes({}, 1, &n)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_pool_get_plane({}, 0, &address)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_reclaim_wait({}, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_emulated_free({})), AQUA_INVALID_ARGUMENT);
}

TEST_F(Handles, OneOfAnotherKindIsNamedInTheError) {
  const aqua_tensor held = tensor();
  aqua_error* error = aqua_pin_release(aqua_pin{held.id});
  EXPECT_EQ(aqua_error_code(error), AQUA_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(aqua_error_message(error), "tensor"), nullptr);
  aqua_error_free(error);
  EXPECT_EQ(code_of(aqua_runtime_close(aqua_runtime{held.id})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_free(held)), AQUA_OK);
}

TEST_F(Handles, AFreedOneStaysNotFoundWhenItsPlaceIsUsedAgain) {
  const aqua_tensor first = tensor();
  ASSERT_EQ(code_of(aqua_tensor_free(first)), AQUA_OK);
  const aqua_tensor second = tensor();
  EXPECT_NE(first.id, second.id);
  aqua_tier tier = 0;
  EXPECT_EQ(code_of(aqua_tensor_get_tier(first, &tier)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_tensor_free(first)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_tensor_get_tier(second, &tier)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_tensor_free(second)), AQUA_OK);
}

TEST_F(Handles, InventedNumbersAreRefused) {
  const aqua_tensor held = tensor();
  for (unsigned bit = 0; bit < 64; ++bit) {
    const aqua_code code = code_of(aqua_tensor_free({held.id ^ (std::uint64_t{1} << bit)}));
    EXPECT_TRUE(code == AQUA_NOT_FOUND || code == AQUA_INVALID_ARGUMENT) << bit;
  }
  EXPECT_EQ(code_of(aqua_tensor_free({UINT64_MAX})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_free(held)), AQUA_OK);
}

TEST_F(Handles, ManyAreAllDifferentAndAllGood) {
  std::vector<aqua_tensor> all;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(tensor(256));
    ids.insert(all.back().id);
  }
  EXPECT_EQ(ids.size(), all.size());
  aqua_error* error = aqua_runtime_close(runtime_);
  EXPECT_EQ(aqua_error_code(error), AQUA_FAILED_PRECONDITION);
  EXPECT_NE(std::strstr(aqua_error_message(error), "1000 tensors"), nullptr)
      << aqua_error_message(error);
  aqua_error_free(error);
  for (const aqua_tensor one : all) EXPECT_EQ(code_of(aqua_tensor_free(one)), AQUA_OK);
}

TEST_F(Handles, APinOutlivesItsTensorsHandleAndKeepsTheRuntimeOpen) {
  const aqua_tensor held = tensor();
  aqua_pin pin{};
  void* data = nullptr;
  ASSERT_EQ(code_of(aqua_tensor_pin(held, AQUA_ACCESS_WRITE, 0, 0, 64, &pin, &data)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_tensor_free(held)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_runtime_close(runtime_)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_emulated_write(runtime_, 0, data, "still there", 12)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_pin_release(pin)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_runtime_close(runtime_)), AQUA_OK);
}

TEST_F(Handles, AfterCloseEveryCallOnTheRuntimeIsNotFound) {
  ASSERT_EQ(code_of(aqua_runtime_close(runtime_)), AQUA_OK);
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 1;
  aqua_tensor out{7};
  EXPECT_EQ(code_of(aqua_tensor_allocate(runtime_, &options, &out)), AQUA_NOT_FOUND);
  EXPECT_EQ(out.id, 7u);  // written only on success
  aqua_memory_budget budget = AQUA_MEMORY_BUDGET_INIT;
  EXPECT_EQ(code_of(aqua_runtime_get_budget(runtime_, &budget)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_runtime_close(runtime_)), AQUA_NOT_FOUND);
}

}  // namespace
}  // namespace aqua::test
