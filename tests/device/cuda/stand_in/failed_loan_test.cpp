// SPDX-License-Identifier: Apache-2.0
// A runtime whose driver refuses in the middle of a loan.
#include <cuda.h>

#include "aqua/elastic_pool.hpp"
#include "aqua/types.hpp"
#include "device/cuda/device.hpp"
#include "tests/device/cuda/stand_in/stand_in.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;

class FailedLoan : public test::RuntimeFixture {};

TEST_F(FailedLoan, OfAnElasticPoolGivesTheEngineItsMemoryBack) {
  if (const auto gpu = device::cuda_available(); !gpu.ok()) GTEST_SKIP() << gpu.error().message;
  const auto* driver = stand_in::hooks();
  if (driver == nullptr) GTEST_SKIP() << "the driver here is a real one";
  RuntimeOptions options;
  options.device = "cuda:0";
  options.name = "lender";
  options.host_bytes = 64_MiB;
  options.curve_directory = "off";
  auto lender = open(options);
  auto pool =
      ElasticPool::create(*lender, {.planes = 2, .plane_bytes = 8_MiB, .slab_bytes = 2_MiB});
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  const std::size_t whole = pool->usable_bytes_per_plane();
  driver->fail("cuMemUnmap", 0, 1, CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_TRUE(pool->lend(2, Stream{}).ok());
  await([&] { return pool->usable_bytes_per_plane() == whole; });
  EXPECT_EQ(pool->lent_quanta(), 0U);
  ASSERT_TRUE(pool->lend(2, Stream{}).ok()) << "the next one is not in its way";
  await([&] { return pool->lent_quanta() == 2; });
}

}  // namespace
}  // namespace aqua
