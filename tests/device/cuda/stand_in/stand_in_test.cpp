// SPDX-License-Identifier: Apache-2.0
// How the CUDA device uses its driver: what no contract can see from outside.
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "tests/device/cuda/stand_in/on_stand_in.hpp"

namespace aqua::device {
namespace {

class StandIn : public OnStandIn {
 protected:
  std::size_t calls_of(const char* name, const CopyBatch& batch, Stream stream, CopyMethod method) {
    const std::size_t before = driver_->calls(name);
    EXPECT_OK(device_->copy(batch, stream, {.method = method}));
    return driver_->calls(name) - before;
  }
};

TEST_F(StandIn, ADeviceLeavesNothingBehind) {
  {
    const Place place = make_place(*device_, 4_MiB);
    const auto event = device_->create_event().value();
    const Stream stream = device_->create_stream().value();
    std::vector<std::byte> host(4'096);
    EXPECT_OK(device_->copy(scattered(place.base(), place.base() + 2_MiB, 100), stream,
                            {.method = CopyMethod::kernel}));
    EXPECT_OK(device_->register_host(host.data(), host.size()));
    EXPECT_OK(device_->unregister_host(host.data(), host.size()));
    device_.reset();  // the stream is left to it; the others outlive it
  }
  EXPECT_EQ(driver_->census(), stand_in::Census{});
}

TEST_F(StandIn, TheThreadsContextAndCaptureModeAreLeftAsTheyWere) {
  const Place place = make_place(*device_, 2_MiB);
  upload(*device_, place.base(), pattern(1'000, 1));
  EXPECT_CODE(Code::invalid_argument, device_->unmap(*place.range, 1, 2_MiB));
  EXPECT_EQ(driver_->census().current_contexts, 0U);
  EXPECT_FALSE(driver_->census().relaxed);
}

TEST_F(StandIn, AFailedImportOrMappingLeavesNothingBehind) {
  const auto slab = device_->create_slab(4_MiB);
  const auto range = device_->reserve(4_MiB);
  ASSERT_TRUE(slab.ok() && range.ok());
  const auto before = driver_->census();
  EXPECT_CODE(Code::invalid_argument,
              device_->import_slab(device_->export_slab(**slab).value(), 2_MiB));
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(UniqueFd(::dup(0)), 2_MiB));
  driver_->fail("cuMemSetAccess", 0, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CODE(Code::resource_exhausted, device_->map(**range, 0, **slab));
  EXPECT_EQ(driver_->census(), before);
  EXPECT_OK(device_->map(**range, 0, **slab));
}

TEST_F(StandIn, EachMethodMakesItsOwnCalls) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 100);
  EXPECT_EQ(calls_of("cuMemcpyAsync", batch, stream, CopyMethod::each), 100U);
  EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::batched), 1U);
  EXPECT_EQ(calls_of("cuMemcpyAsync", batch, stream, CopyMethod::batched), 0U);
  EXPECT_EQ(calls_of("cuMemcpyAsync", batch, stream, CopyMethod::kernel), 0U);
  EXPECT_EQ(calls_of("cuLaunchKernel", batch, stream, CopyMethod::kernel), 2U)
      << "one for the list";
  EXPECT_OK(finish(*device_, stream));
}

// Each of three batches is passed over by kernels for one reason, and counted for it.
TEST_F(StandIn, TheDeviceCountsWhatRanAndWhyNotAsAsked) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 100);
  std::vector<std::byte> pageable(300'000);
  for (const CopyMethod method : {CopyMethod::each, CopyMethod::batched, CopyMethod::kernel}) {
    EXPECT_OK(device_->copy(batch, stream, {.method = method}));
  }
  CopyCounts counts = device_->copy_counts();
  EXPECT_EQ(counts.each, 1U);
  EXPECT_EQ(counts.batched, 1U);
  EXPECT_EQ(counts.kernel, 1U);
  EXPECT_EQ(counts.unsupported + counts.unreachable + counts.full + counts.refused, 0U);
  driver_->fail("cuLaunchKernel", 0, 1, CUDA_ERROR_OUT_OF_MEMORY);
  driver_->fail("cuMemcpyBatchAsync", 0, 1, CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::kernel}));
  counts = device_->copy_counts();
  EXPECT_EQ(counts.refused, 2U) << "the launch, then the batch";
  EXPECT_EQ(counts.each, 2U);
  EXPECT_OK(device_->copy(scattered(pageable.data(), place.base(), 100), stream,
                          {.method = CopyMethod::batched}));
  EXPECT_EQ(device_->copy_counts().unreachable, 1U);
  EXPECT_OK(device_->copy(batch, {}, {.method = CopyMethod::batched}));  // the legacy stream
  EXPECT_EQ(device_->copy_counts().unsupported, 1U);
  EXPECT_EQ(device_->copy_counts().each, 4U);
  EXPECT_EQ(device_->copy_counts().full, 0U);
  EXPECT_OK(finish(*device_, stream));
  EXPECT_OK(finish(*device_, {}));
}

TEST_F(StandIn, WhatAKernelIsRefusedGoesInABatch) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 100);
  for (const unsigned before : {0U, 1U}) {  // the upload of its list, the copy itself
    driver_->fail("cuLaunchKernel", before, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::kernel), 1U);
  }
  EXPECT_TRUE(device_->supports(CopyMethod::kernel, stream)) << "that may pass";
  driver_->fail("cuLaunchKernel", 0, 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::kernel), 1U);
  EXPECT_FALSE(device_->supports(CopyMethod::kernel, stream));
  EXPECT_EQ(calls_of("cuLaunchKernel", batch, stream, CopyMethod::kernel), 0U);
  EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::kernel), 1U);
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(StandIn, NoBatchGoesToTheLegacyStream) {
  const Place place = make_place(*device_, 4_MiB);
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 100);
  EXPECT_FALSE(device_->supports(CopyMethod::batched, {}));
  EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, {}, CopyMethod::batched), 0U);
  EXPECT_OK(finish(*device_, {}));
}

TEST_F(StandIn, UnderCaptureEveryMethodGoesCommandByCommand) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 100);
  driver_->capture(reinterpret_cast<void*>(stream.native), true);
  EXPECT_TRUE(device_->capturing(stream));
  for (const CopyMethod method : {CopyMethod::batched, CopyMethod::kernel}) {
    EXPECT_EQ(calls_of("cuMemcpyAsync", batch, stream, method), 100U);
  }
  EXPECT_FALSE(device_->supports(CopyMethod::kernel, stream));
  driver_->capture(reinterpret_cast<void*>(stream.native), false);
  EXPECT_TRUE(device_->supports(CopyMethod::kernel, stream));
}

TEST_F(StandIn, PageableAddressesGoToTheCopyEnginesOneByOne) {
  const Place place = make_place(*device_, 2_MiB);
  const Stream stream = device_->create_stream().value();
  std::vector<std::byte> host(300'000);
  const auto batch = scattered(host.data(), place.base(), 100);
  for (const CopyMethod method : {CopyMethod::kernel, CopyMethod::batched}) {
    EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, method), 0U);
    EXPECT_EQ(calls_of("cuMemcpyAsync", batch, stream, method), 100U);
  }
  EXPECT_OK(finish(*device_, stream));
  EXPECT_OK(device_->register_host(host.data(), host.size()));
  EXPECT_EQ(calls_of("cuMemcpyAsync", batch, stream, CopyMethod::kernel), 0U);
  EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::batched), 1U);
  EXPECT_OK(finish(*device_, stream));
  EXPECT_OK(device_->unregister_host(host.data(), host.size()));
}

TEST_F(StandIn, MemoryThatCannotBePageLockedIsCopiedInOnePiece) {
  const Place place = make_place(*device_, 2_MiB);
  const Stream stream = device_->create_stream().value();
  std::vector<std::byte> host(300'000);
  driver_->fail("cuMemHostRegister", 0, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CODE(Code::resource_exhausted, device_->register_host(host.data() + 100'000, 100'000));
  const auto whole = one(place.base(), host.data(), host.size());
  EXPECT_EQ(calls_of("cuMemcpyAsync", whole, stream, CopyMethod::each), 1U);
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(StandIn, AFullRingOfListsMeansAnotherWay) {
  const Place place = make_place(*device_, 8_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 4_MiB, 2'000);
  const std::uint64_t gate = driver_->gate(reinterpret_cast<void*>(stream.native));
  std::size_t kernels = 0;
  while (calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::kernel) == 0) {
    ASSERT_LT(++kernels, 1'000U) << "the ring never fills";
  }
  EXPECT_GT(kernels, 50U);
  EXPECT_EQ(device_->copy_counts().full, 1U);
  EXPECT_EQ(device_->copy_counts().kernel, kernels);
  driver_->open(gate);
  EXPECT_OK(finish(*device_, stream));
  EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::kernel), 0U);
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(StandIn, ThreadsShareTheRingOfLists) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kBytes = 256_KiB;
  const Place from = make_place(*device_, 2_MiB);
  const Place to = make_place(*device_, 2_MiB);
  const auto bytes = pattern(2_MiB, 3);
  upload(*device_, from.base(), bytes);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Stream stream = device_->create_stream().value();
      const auto batch = scattered(to.base() + i * kBytes, from.base() + i * kBytes, 100 + 7 * i);
      for (int round = 0; round < 100; ++round) {
        EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::kernel}));
      }
      EXPECT_OK(finish(*device_, stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto moved = download(*device_, to.base(), 2_MiB);
  for (std::size_t i = 0; i < kThreads; ++i) {
    for (std::size_t block = 0; block < 100 + 7 * i; ++block) {
      const auto at = static_cast<std::ptrdiff_t>(i * kBytes + 2'048 * block);
      ASSERT_TRUE(std::equal(moved.begin() + at, moved.begin() + at + 1'024, bytes.begin() + at));
    }
  }
}

TEST_F(StandIn, ACopyRefusedAtItsFirstCommandHasQueuedNothing) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 10);
  driver_->fail("cuMemcpyAsync", 0, 2, CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(Code::invalid_argument, device_->copy(batch, stream, {.method = CopyMethod::each}));
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(StandIn, ACopyRefusedHalfwayIsReportedByTheEventsAfterIt) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const Stream other = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 10);
  driver_->fail("cuMemcpyAsync", 4, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::each}));
  EXPECT_OK(finish(*device_, other));
  EXPECT_CODE(Code::data_loss, finish(*device_, stream));
  EXPECT_OK(finish(*device_, stream)) << "reported once, and nothing failed since";
}

TEST_F(StandIn, WhatTheDriverRefusesAtFirstIsCutAnewAndTriedOnceMore) {
  const Place place = make_place(*device_, 4_MiB);
  const auto bytes = pattern(2'048, 2);
  upload(*device_, place.base(), bytes);
  auto batch = std::make_shared<std::vector<CopySegment>>();
  batch->push_back({place.base() + 2_MiB, place.base(), 1'024});
  batch->push_back({place.base() + 2_MiB + 1'024, place.base() + 1'024, 1'024});
  driver_->fail("cuMemcpyAsync", 0, 1, CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(device_->copy(batch, {}, {.method = CopyMethod::each}));
  EXPECT_OK(finish(*device_, {}));
  EXPECT_TRUE(download(*device_, place.base() + 2_MiB, bytes.size()) == bytes);
}

TEST_F(StandIn, InAForkedChildCallsAreRefusedAndNothingOfTheParentsIsTouched) {
  auto place = std::make_unique<Place>(make_place(*device_, 2_MiB));
  auto event = device_->create_event().value();
  const auto before = driver_->census();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_refused = device_->create_slab(2_MiB).error().code == Code::failed_precondition &&
                            device_->record(*event, {}).error().code == Code::failed_precondition;
    place.reset();
    event.reset();
    device_.reset();
    ::_exit(is_refused && driver_->census() == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(StandIn, AStickyErrorIsDataLoss) {
  const auto event = device_->create_event().value();
  EXPECT_OK(device_->record(*event, {}));
  driver_->fail("cuEventQuery", 0, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_CODE(Code::data_loss, device_->query(*event));
  driver_->fail("cuEventSynchronize", 0, 1, CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_CODE(Code::data_loss, device_->synchronize(*event));
}

TEST_F(StandIn, AContextThatIsGoneIsDataLossAndNoQuestionToRepeat) {
  const auto event = device_->create_event().value();
  EXPECT_OK(device_->record(*event, {}));
  for (const CUresult gone : {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_CONTEXT,
                              CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_NOT_INITIALIZED}) {
    driver_->fail("cuEventQuery", 0, 1, gone);
    EXPECT_CODE(Code::data_loss, device_->query(*event));
  }
  driver_->fail("cuCtxPushCurrent", 0, 1, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CODE(Code::data_loss, device_->create_slab(2_MiB));
  EXPECT_OK(device_->create_slab(2_MiB));
}

TEST_F(StandIn, WhatAnEngineHasReservedButNotMappedIsOutOfReach) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  std::vector<std::byte> engines(4_MiB);
  driver_->engine_maps(engines.data(), engines.size(), 1_MiB);
  const auto copies = [&](std::size_t offset) {
    const auto batch = scattered(place.base(), engines.data() + offset, 100);
    return calls_of("cuMemcpyAsync", batch, stream, CopyMethod::kernel);
  };
  EXPECT_EQ(copies(0), 0U);
  EXPECT_EQ(copies(1_MiB - 4'096), 100U) << "the copy engines, which know what is mapped";
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(StandIn, AListThatIsNotQueuedLeavesItsPlace) {
  const Place place = make_place(*device_, 8_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 4_MiB, 2'000);
  for (int i = 0; i < 200; ++i) {  // more than the ring holds
    driver_->fail("cuLaunchKernel", 0, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(calls_of("cuMemcpyBatchAsync", batch, stream, CopyMethod::kernel), 1U);
    EXPECT_OK(finish(*device_, stream));
  }
  EXPECT_EQ(calls_of("cuLaunchKernel", batch, stream, CopyMethod::kernel), 2U) << "it has room";
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(StandIn, AStreamOfAnotherGpuOrNoneIsRefused) {
  const auto other = open_cuda({.device = "cuda:1", .total_bytes = 16_MiB}).value();
  const Stream theirs = other->create_stream().value();
  EXPECT_OK(other->check_stream(theirs));
  EXPECT_CODE(Code::invalid_argument, device_->check_stream(theirs));
  EXPECT_CODE(Code::invalid_argument, device_->check_stream(Stream{0xdead0}));
  const Stream legacy{reinterpret_cast<std::uintptr_t>(CU_STREAM_LEGACY)};
  for (const Stream ours : {device_->create_stream().value(), Stream{}, legacy}) {
    EXPECT_OK(device_->check_stream(ours));
  }
}

TEST_F(StandIn, AStreamOfAnEarlierHandleInheritsNoFailure) {
  const Place place = make_place(*device_, 4_MiB);
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 10);
  const Stream stream = device_->create_stream().value();
  driver_->fail("cuMemcpyAsync", 4, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::each}));
  EXPECT_OK(device_->destroy_stream(stream));
  ASSERT_EQ(device_->create_stream().value(), stream);
  const auto event = device_->create_event().value();
  EXPECT_OK(device_->record(*event, stream));
  EXPECT_OK(device_->synchronize(*event));
}

}  // namespace
}  // namespace aqua::device
