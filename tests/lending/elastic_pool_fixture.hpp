// SPDX-License-Identifier: Apache-2.0
// An elastic pool of three planes and five quanta, whose bytes a test marks and reads as kernels
// would.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "aqua/types.hpp"
#include "device/memfd/device.hpp"
#include "lending/elastic_pool.hpp"
#include "tests/transfer/device_memory.hpp"
#include "tests/transfer/faulty_device.hpp"

namespace aqua::lending {

using namespace aqua::literals;
using test::Bytes;
using test::must;

inline constexpr std::size_t kPoolSlab = 2_MiB;
inline constexpr std::size_t kPlanes = 3;
inline constexpr std::size_t kQuanta = 5;

// On a device that delays work and closes its addresses to host threads.
class PoolFixture : public ::testing::Test {
 protected:
  explicit PoolFixture(bool filler) : filler_(filler) {
    pool_ = must(ElasticPool::create(faulty_, options()));
    stream_ = must(device_->create_stream());
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
      bases_.push_back(pool_->plane_base(plane));
  }
  ~PoolFixture() override { must(device_->destroy_stream(stream_)); }

  [[nodiscard]] ElasticPoolOptions options() const {
    return {.planes = kPlanes, .plane_bytes = kQuanta * kPoolSlab, .filler = filler_};
  }

  // As an engine's kernels would, on its stream.
  void write(std::byte* to, Bytes bytes) {
    must(device::launch(*device_, stream_, [to, bytes = std::move(bytes)] {
      std::memcpy(device::kernel_view(to), bytes.data(), bytes.size());
    }));
  }
  [[nodiscard]] Bytes read(const std::byte* from, std::size_t bytes) {
    Bytes out(bytes);
    must(device::launch(*device_, stream_, [from, &out] {
      std::memcpy(out.data(), device::kernel_view(from), out.size());
    }));
    test::drain(*device_, stream_);
    return out;
  }
  [[nodiscard]] std::byte* place(std::size_t plane, std::size_t quantum) {
    return bases_[plane] + quantum * kPoolSlab;
  }
  // Different for every place.
  static const Bytes& mark(std::size_t plane, std::size_t quantum) {
    static std::map<std::size_t, Bytes> marks;  // made once: every test compares them all
    const std::size_t key = 100 * plane + quantum + 1;
    Bytes& bytes = marks[key];
    if (bytes.empty()) bytes = test::random_bytes(kPoolSlab, static_cast<unsigned>(key));
    return bytes;
  }
  void mark_all() {
    for (std::size_t plane = 0; plane < kPlanes; ++plane) {
      for (std::size_t q = 0; q < kQuanta; ++q) write(place(plane, q), mark(plane, q));
    }
  }
  // The addresses are as ever and the lowest `quanta` hold what was written.
  void expect_kept(std::size_t quanta) {
    EXPECT_EQ(pool_->usable_bytes_per_plane(), quanta * kPoolSlab);
    for (std::size_t plane = 0; plane < kPlanes; ++plane) {
      ASSERT_EQ(pool_->plane_base(plane), bases_[plane]);
      for (std::size_t q = 0; q < quanta; ++q) {
        ASSERT_TRUE(read(place(plane, q), kPoolSlab) == mark(plane, q)) << plane << ' ' << q;
      }
    }
  }
  ElasticPool::Slabs shrink(std::size_t quanta) {
    must(pool_->begin_shrink(quanta, stream_));
    test::drain(*device_, stream_);
    return must(pool_->poll_shrink()).value();
  }

  const bool filler_;
  std::unique_ptr<device::Device> device_ = must(
      device::open_emulated({.ordinal = 0, .total_bytes = 64_MiB, .hostile = true, .seed = 7}));
  test::FaultyDevice faulty_{*device_};
  std::unique_ptr<ElasticPool> pool_;
  Stream stream_;
  std::vector<std::byte*> bases_;
};

// What holds with and without a filler.
class ElasticPoolTest : public PoolFixture, public ::testing::WithParamInterface<bool> {
 protected:
  ElasticPoolTest() : PoolFixture(GetParam()) {}
};

class ElasticPoolWithFiller : public PoolFixture {
 protected:
  ElasticPoolWithFiller() : PoolFixture(true) {}
};

}  // namespace aqua::lending
