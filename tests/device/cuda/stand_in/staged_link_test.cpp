// SPDX-License-Identifier: Apache-2.0
// How much of a staged transfer's time its link is in use, in the stand-in's own time: whatever
// holds up a copy engine between two parts shows here as a number.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/unique_fd.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::Way;

// What the link must be busy for, of the time from prepare() to the last byte.
constexpr double kLeastAlone = 0.99;
constexpr double kLeastOfBoth = 0.97;  // with a transfer each way, each of them

// From prepare() to the first bulk copy of a transfer the other way.
constexpr std::uint64_t kLongestStart = 100'000;  // ns

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kBlock = 16 << 10;
constexpr unsigned kPlanes = 32;  // of 16 layers
constexpr std::uint32_t kBlocks = 2'048;
constexpr std::uint64_t kParts = 32;  // of 32 MiB

// Addresses enough for a cache, with all of which the same memory is mapped: copies there touch
// 2 MiB of this machine's.
class ThinCache {
 public:
  ThinCache(device::Device& device, std::size_t bytes)
      : slab_(must(device.create_slab(kSlab))), range_(must(device.reserve(bytes))) {
    for (std::size_t at = 0; at < bytes; at += kSlab) must(device.map(*range_, at, *slab_));
  }
  [[nodiscard]] std::byte* base() const { return range_->base(); }

 private:
  static constexpr std::size_t kSlab = 2 * kMiB;
  const std::unique_ptr<device::Slab> slab_;
  const std::unique_ptr<device::AddressRange> range_;
};

// Registered host memory, thin as well.
class ThinTensor {
 public:
  ThinTensor(device::Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
    const UniqueFd file(::memfd_create("tensor", MFD_CLOEXEC));
    if (::ftruncate(file.get(), kPiece) != 0) std::abort();
    base_ = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      void* const place = ::mmap(base() + at, kPiece, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_FIXED, file.get(), 0);
      if (place != base() + at) std::abort();
    }
    must(device.register_host(base(), bytes));
  }
  ~ThinTensor() {
    must(device_.unregister_host(base(), bytes_));
    ::munmap(base_, bytes_);
  }
  ThinTensor(const ThinTensor&) = delete;
  ThinTensor& operator=(const ThinTensor&) = delete;
  [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(base_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPiece = 2 * kMiB;
  device::Device& device_;
  const std::size_t bytes_;
  void* base_ = nullptr;
};

class StagedLink : public ::testing::Test {
 protected:
  StagedLink() {
    for (std::uint32_t block = 0; block < kBlocks; ++block) blocks_.push_back(2 * block);
    stand_in::Variant variant;
    variant.in_time = true;
    driver_->behave(variant);
  }
  ~StagedLink() override {
    driver_->behave({});
    must(dev_->destroy_stream(fetching_));
    must(dev_->destroy_stream(offloading_));
  }
  [[nodiscard]] transfer::Transfer prepare(Direction direction, ThinTensor& tensor,
                                           std::size_t blocks, Stream stream) {
    transfer::TransferRequest r;
    r.layout = &layout_;
    r.blocks = std::span(blocks_).first(blocks);
    r.tensor = tensor.base();
    r.tensor_bytes = tensor.bytes();
    r.direction = direction;
    r.stream = stream;
    r.way = Way::staged;
    return must(mover_.prepare(r));
  }
  static double share(std::uint64_t busy_ns, std::uint64_t ns) {
    return static_cast<double>(busy_ns) / static_cast<double>(ns);
  }
  // How busy the engine for copies from the host is over a fetch of `blocks`. Tells what else it
  // took.
  double fetch(std::size_t blocks) {
    ThinTensor tensor(*dev_, layout_.packed_bytes(blocks));
    const stand_in::Usage before = driver_->usage(0);
    auto transfer = prepare(Direction::fetch, tensor, blocks, fetching_);
    must(transfer.post(fetching_));
    const stand_in::Usage posted = driver_->usage(0);
    must(transfer.ticket().wait());
    const stand_in::Usage after = driver_->usage(0);
    const double busy =
        share(after.from_host.busy_ns - before.from_host.busy_ns, after.ended_ns - before.now_ns);
    std::printf(
        "%zu MiB: link busy %.4f of %.3f ms; posting %.3f ms, %zu copies up, %zu launches\n",
        tensor.bytes() / kMiB, busy, static_cast<double>(after.ended_ns - before.now_ns) / 1e6,
        static_cast<double>(posted.now_ns - before.now_ns) / 1e6,
        static_cast<std::size_t>(after.from_host.commands - before.from_host.commands),
        static_cast<std::size_t>(after.kernels.commands - before.kernels.commands));
    EXPECT_GE(after.from_host.bytes - before.from_host.bytes, tensor.bytes());
    EXPECT_LE(after.from_host.commands - before.from_host.commands, kParts);
    EXPECT_LE(after.kernels.commands - before.kernels.commands, kParts + 1) << "and one list";
    EXPECT_EQ(after.to_host.commands, before.to_host.commands);
    EXPECT_EQ(posted.blocked, before.blocked) << "no call of a transfer waits for the GPU";
    return busy;
  }

  const std::unique_ptr<device::Device> dev_ = open(On::cuda);
  const stand_in::Hooks* const driver_ = stand_in::hooks();
  const Geometry geometry_{"", 16, 2, 2 * kBlocks, kBlock, 1, kBlock, 0, 2 * kBlocks* kBlock};
  const ThinCache cache_{*dev_, kPlanes* geometry_.plane_pitch};
  const Layout layout_ = geometry_.layout(cache_.base());
  std::vector<std::uint32_t> blocks_;  // no two of them neighbours
  const Stream fetching_ = must(dev_->create_stream());
  const Stream offloading_ = must(dev_->create_stream());
  Mover mover_{*dev_};
};

TEST_F(StagedLink, IsBusyAllThroughAFetchOfOneGiBIn16KiBBlocks) {
  EXPECT_GE(fetch(kBlocks), kLeastAlone);
}

TEST_F(StagedLink, IsBusyBothWaysWhileTransfersGoBothWays) {
  constexpr std::size_t kHalf = kBlocks / 2;
  ThinTensor in(*dev_, layout_.packed_bytes(kHalf));
  ThinTensor out(*dev_, layout_.packed_bytes(kHalf));
  auto fetch = prepare(Direction::fetch, in, kHalf, fetching_);
  auto offload = prepare(Direction::offload, out, kHalf, offloading_);
  const stand_in::Usage before = driver_->usage(0);
  must(fetch.post(fetching_));
  must(offload.post(offloading_));
  must(fetch.ticket().wait());
  must(offload.ticket().wait());
  const stand_in::Usage after = driver_->usage(0);
  const std::uint64_t ns = after.ended_ns - before.now_ns;
  const double up = share(after.from_host.busy_ns - before.from_host.busy_ns, ns);
  const double down = share(after.to_host.busy_ns - before.to_host.busy_ns, ns);
  std::printf("512 MiB each way: link busy %.4f from the host, %.4f to it, of %.3f ms\n", up, down,
              static_cast<double>(ns) / 1e6);
  EXPECT_GE(up, kLeastOfBoth);
  EXPECT_GE(down, kLeastOfBoth);
}

// The engine that the fetch's bulk copies have is not asked for its numbers of blocks.
TEST_F(StagedLink, AnOffloadThatIsPreparedWhileAFetchRunsStartsAtOnce) {
  constexpr std::size_t kFew = 2;  // one bulk copy
  ThinTensor in(*dev_, layout_.packed_bytes(kBlocks));
  ThinTensor out(*dev_, 2 * kMiB);
  auto fetch = prepare(Direction::fetch, in, kBlocks, fetching_);
  must(fetch.post(fetching_));
  const stand_in::Usage before = driver_->usage(0);
  auto offload = prepare(Direction::offload, out, kFew, offloading_);
  must(offload.post(offloading_));
  must(offload.ticket().wait());
  must(fetch.ticket().wait());
  const stand_in::Usage after = driver_->usage(0);
  ASSERT_EQ(after.to_host.commands, before.to_host.commands + 1);
  const std::uint64_t waited = after.to_host.began_ns - before.now_ns;
  const std::uint64_t fetched = after.ended_ns - before.now_ns;
  std::printf("an offload during a fetch: first bulk copy after %.3f ms; the fetch took %.3f ms\n",
              static_cast<double>(waited) / 1e6, static_cast<double>(fetched) / 1e6);
  EXPECT_LT(waited, kLongestStart);
}

}  // namespace
}  // namespace aqua::test
