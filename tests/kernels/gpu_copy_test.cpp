// SPDX-License-Identifier: Apache-2.0
// The kernels on a GPU: every byte of the destination area compared, gaps included.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/copy.hpp"
#include "tests/kernels/random_blocks.hpp"
#include "tests/kernels/segment_lists.hpp"

namespace aqua::kernels {
namespace {

#define ASSERT_CUDA(call) \
  ASSERT_EQ(call, cudaSuccess) << cudaGetErrorString(static_cast<cudaError_t>(cudaGetLastError()))

enum class Where : std::uint8_t { device, host };  // host: page-locked and mapped

struct Route {
  Where src, dst;
  CopyKernel kernel;
  unsigned max_sms;
};

std::string name_of(const Route& route) {
  const auto place = [](Where w) { return std::string(w == Where::device ? "Device" : "Host"); };
  const char* kernel = route.kernel == CopyKernel::vector ? "Vector" : "Bulk";
  return place(route.src) + "To" + place(route.dst) + kernel + std::to_string(route.max_sms);
}

void PrintTo(const Route& route, std::ostream* out) {
  *out << name_of(route);
}

class Memory {
 public:
  Memory(Where where, std::uint64_t bytes) : where_(where) {
    void* p = nullptr;
    error_ = where == Where::device ? cudaMalloc(&p, bytes)
                                    : cudaHostAlloc(&p, bytes, cudaHostAllocMapped);
    data_ = static_cast<std::byte*>(p);
  }
  ~Memory() { where_ == Where::device ? cudaFree(data_) : cudaFreeHost(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] cudaError_t error() const { return error_; }
  [[nodiscard]] cudaError_t put(const std::vector<std::byte>& from) const {
    return cudaMemcpy(data_, from.data(), from.size(), cudaMemcpyDefault);
  }
  [[nodiscard]] std::vector<std::byte> get(std::uint64_t bytes) const {
    std::vector<std::byte> out(bytes);
    EXPECT_EQ(cudaMemcpy(out.data(), data_, bytes, cudaMemcpyDefault), cudaSuccess);
    return out;
  }

 private:
  Where where_;
  std::byte* data_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) GTEST_SKIP() << "no GPU: " << cudaGetErrorString(error);
    if (count == 0) GTEST_SKIP() << "no GPU: the driver has no device";
    ASSERT_CUDA(cudaStreamCreate(&stream_));  // which waits for what put() queued
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  // The list as the device reads it.
  void run(CopyLaunch launch, const Route& route) {
    const std::uint64_t list_bytes = launch.count * sizeof(Segment);
    const Memory list(Where::device, list_bytes);
    ASSERT_CUDA(list.error());
    ASSERT_CUDA(cudaMemcpy(list.data(), launch.segments, list_bytes, cudaMemcpyDefault));
    launch.segments = reinterpret_cast<const Segment*>(list.data());
    launch.kernel = route.kernel;
    launch.max_sms = route.max_sms;
    ASSERT_CUDA(copy_segments(launch, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
  }
  // Planes and ids as the device reads them.
  void run(BlockLaunch launch, std::uint32_t planes, const Route& route) {
    const std::uint32_t blocks = launch.blocks.blocks;
    const Memory tables(Where::device, 4 * kTableBytes);
    ASSERT_CUDA(tables.error());
    std::byte* at = tables.data();
    const auto lay = [&](auto*& entries, std::uint64_t count) {
      const std::uint64_t bytes = count * sizeof *entries;
      ASSERT_LE(bytes, kTableBytes);
      ASSERT_CUDA(cudaMemcpy(at, entries, bytes, cudaMemcpyDefault));
      entries = reinterpret_cast<std::remove_reference_t<decltype(entries)>>(at);
      at += kTableBytes;
    };
    for (BlockSide* side : {&launch.blocks.src, &launch.blocks.dst}) {
      if (side->planes == nullptr) continue;
      lay(side->planes, planes);
      lay(side->ids, blocks);
    }
    launch.kernel = route.kernel;
    launch.max_sms = route.max_sms;
    ASSERT_CUDA(copy_blocks(launch, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
  }
  void expect_copies(const SegmentPlan& plan, const Route& route) {
    SCOPED_TRACE(plan.name);
    const auto source = random_bytes(plan.src_bytes, 11);
    const auto before = random_bytes(plan.dst_bytes, 12);
    const Memory src(route.src, plan.src_bytes);
    const Memory dst(route.dst, plan.dst_bytes);
    ASSERT_CUDA(src.error());
    ASSERT_CUDA(dst.error());
    ASSERT_CUDA(src.put(source));
    ASSERT_CUDA(dst.put(before));
    auto list = lay(plan, dst.data(), src.data());
    run(describe(list), route);
    EXPECT_TRUE(dst.get(plan.dst_bytes) == expected(plan, before, source));
  }

  static constexpr std::uint64_t kTableBytes = 256;
  cudaStream_t stream_ = nullptr;
};

class GpuCopy : public GpuTest, public ::testing::WithParamInterface<Route> {};

TEST_P(GpuCopy, MovesExactlyTheListedBytes) {
  for (const SegmentPlan& plan : typical_lists()) expect_copies(plan, GetParam());
}

TEST_P(GpuCopy, FindsItsWayAmongAHundredThousandSegments) {
  expect_copies(mixed(100'000, 1, 600, true, 22), GetParam());
}

TEST_P(GpuCopy, MovesExactlyTheNamedBlocks) {
  const auto source = random_bytes(RandomBlocks::kArea, 11);
  const auto before = random_bytes(RandomBlocks::kArea, 12);
  const Memory src(GetParam().src, source.size());
  const Memory dst(GetParam().dst, before.size());
  ASSERT_CUDA(src.error());
  ASSERT_CUDA(dst.error());
  ASSERT_CUDA(src.put(source));
  std::mt19937 random(41);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    ASSERT_CUDA(dst.put(before));
    const RandomBlocks some(dst.data(), src.data(), round % 2 == 0 ? RandomBlocks::kLargest : 700,
                            random);
    auto expected = before;
    some.each_piece([&](std::size_t to, std::size_t from) {
      std::memcpy(&expected[to], &source[from], some.launch().blocks.piece_bytes);
    });
    run(some.launch(), some.planes(), GetParam());
    ASSERT_TRUE(dst.get(before.size()) == expected);
  }
}

TEST_F(GpuTest, UploadsBringUpWhatTheHostWroteLastAndNothingBesideIt) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const Memory list(Where::host, kBytes);
  const Memory there(Where::device, kBytes + 32);
  ASSERT_CUDA(list.error());
  ASSERT_CUDA(there.error());
  const auto before = random_bytes(kBytes + 32, 51);
  unsigned seed = 60;
  for (const std::size_t bytes :
       {std::size_t{16}, std::size_t{8'208}, std::size_t{65'552}, kBytes}) {
    SCOPED_TRACE(bytes);
    ASSERT_CUDA(there.put(before));
    const auto words = random_bytes(bytes, ++seed);
    std::memcpy(list.data(), words.data(), bytes);
    ASSERT_CUDA(upload(there.data() + 16, list.data(), bytes, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    auto expected = before;
    std::memcpy(&expected[16], words.data(), bytes);
    ASSERT_TRUE(there.get(before.size()) == expected);
  }
}

constexpr Where D = Where::device;
constexpr Where H = Where::host;
INSTANTIATE_TEST_SUITE_P(
    Routes, GpuCopy,
    ::testing::Values(Route{D, D, CopyKernel::vector, 0}, Route{D, D, CopyKernel::vector, 3},
                      Route{D, H, CopyKernel::vector, 0}, Route{H, D, CopyKernel::vector, 8},
                      Route{D, D, CopyKernel::bulk, 0}, Route{D, D, CopyKernel::bulk, 3},
                      Route{D, H, CopyKernel::bulk, 4}, Route{H, D, CopyKernel::bulk, 4}),
    [](const auto& route) { return name_of(route.param); });

// Addresses and counts beyond 32 bits; far too slow under a checking tool.
TEST_F(GpuTest, HugeSegmentsAreCopiedWhole) {
  constexpr std::uint64_t kBytes = (std::uint64_t{5} << 30) + 4096 + 7;
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  if (free < 3 * kBytes) GTEST_SKIP() << "needs 15 GiB of device memory";
  const Memory src(Where::device, kBytes);
  const Memory dst(Where::device, kBytes);
  ASSERT_CUDA(src.error());
  ASSERT_CUDA(dst.error());
  const auto window = random_bytes(std::uint64_t{64} << 20, 13);
  for (const auto kernel : {CopyKernel::vector, CopyKernel::bulk}) {
    ASSERT_CUDA(cudaMemset(src.data(), 0x5a, kBytes));
    ASSERT_CUDA(cudaMemset(dst.data(), 0, kBytes));
    // What differs lies across 4 GiB and at the end.
    const std::uint64_t across = (std::uint64_t{1} << 32) - window.size() / 2;
    const std::uint64_t last = kBytes - window.size();
    ASSERT_CUDA(cudaMemcpy(src.data() + last, window.data(), window.size(), cudaMemcpyDefault));
    ASSERT_CUDA(cudaMemcpy(src.data() + across, window.data(), window.size(), cudaMemcpyDefault));
    std::vector<Segment> list{{dst.data(), src.data(), kBytes}};
    run(describe(list), {Where::device, Where::device, kernel, 0});
    for (const std::uint64_t at : {std::uint64_t{0}, across - 4096, last - 7}) {
      std::vector<std::byte> a(window.size() + 7);
      std::vector<std::byte> b(a.size());
      ASSERT_CUDA(cudaMemcpy(a.data(), src.data() + at, a.size(), cudaMemcpyDefault));
      ASSERT_CUDA(cudaMemcpy(b.data(), dst.data() + at, b.size(), cudaMemcpyDefault));
      EXPECT_TRUE(a == b) << "at " << at;
    }
  }
}

TEST_F(GpuTest, ALaunchOfNoBytesQueuesNothing) {
  EXPECT_EQ(copy_segments({}, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
}

TEST_F(GpuTest, CopiesMayBeCapturedInAGraphAndReplayed) {
  ASSERT_CUDA(load_kernels());
  const auto source = random_bytes(1 << 20, 14);
  const Memory src(Where::device, source.size());
  const Memory dst(Where::device, source.size());
  const Memory device_list(Where::device, sizeof(Segment));
  ASSERT_CUDA(src.put(source));
  std::vector<Segment> list{{dst.data(), src.data(), source.size()}};
  CopyLaunch launch = describe(list);
  ASSERT_CUDA(cudaMemcpy(device_list.data(), list.data(), sizeof(Segment), cudaMemcpyDefault));
  launch.segments = reinterpret_cast<const Segment*>(device_list.data());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  for (const auto kernel : {CopyKernel::vector, CopyKernel::bulk}) {
    launch.kernel = kernel;
    EXPECT_EQ(copy_segments(launch, stream_), cudaSuccess);
  }
  ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int replay = 0; replay < 2; ++replay) {
    ASSERT_CUDA(cudaMemset(dst.data(), 0xff, source.size()));
    ASSERT_CUDA(cudaGraphLaunch(exec, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    EXPECT_TRUE(dst.get(source.size()) == source);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

// In a process that sees no GPU, whatever the machine has.
TEST(LaunchersDeathTest, FailWithCudasErrorWhereThereIsNoGpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto all_fail = [] {
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // NOLINT(concurrency-mt-unsafe): one thread
    std::byte bytes[2]{};
    std::vector<Segment> list{{&bytes[0], &bytes[1], 1}};
    return copy_segments(describe(list), nullptr) != cudaSuccess && load_kernels() != cudaSuccess;
  };
  EXPECT_EXIT(std::exit(all_fail() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace aqua::kernels
