// SPDX-License-Identifier: Apache-2.0
// What the stand-in refuses as drivers do, always or in a variant of it.
#include <cuda.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/device/cuda/stand_in/on_stand_in.hpp"
#include "tests/device/cuda/stand_in/raw_driver.hpp"

namespace aqua::device {
namespace {

class Variants : public OnStandIn {
 protected:
  void behave(const std::function<void(stand_in::Variant&)>& change) {
    stand_in::Variant variant;
    change(variant);
    driver_->behave(variant);
  }
};

TEST_F(Variants, OfPointersOnlyListedAttributesMayBeAnswered) {
  const RawDriver raw;
  const auto ask_one = raw.find<PFN_cuPointerGetAttribute_v4000>("cuPointerGetAttribute");
  CUdeviceptr memory = 0;
  ASSERT_EQ(raw.call.MemAlloc(&memory, 4'096), CUDA_SUCCESS);
  unsigned access = 0;
  unsigned mapped = 0;
  std::size_t size = 0;
  std::array<CUpointer_attribute, 2> names{CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                           CU_POINTER_ATTRIBUTE_ACCESS_FLAGS};
  std::array<void*, 2> values{&size, &access};
  EXPECT_EQ(raw.call.PointerGetAttributes(2, names.data(), values.data(), memory + 5),
            CUDA_SUCCESS);
  EXPECT_EQ(size, 4'096U);
  EXPECT_EQ(access, static_cast<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE));
  behave([](auto& variant) { variant.listed_attributes_only = true; });
  EXPECT_EQ(raw.call.PointerGetAttributes(2, names.data(), values.data(), memory),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask_one(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory), CUDA_ERROR_INVALID_VALUE);
  names[1] = CU_POINTER_ATTRIBUTE_MAPPED;
  values[1] = &mapped;
  EXPECT_EQ(raw.call.PointerGetAttributes(2, names.data(), values.data(), memory), CUDA_SUCCESS);
  EXPECT_EQ(mapped, 1U);
  const auto nowhere = reinterpret_cast<CUdeviceptr>(&size);
  EXPECT_EQ(raw.call.PointerGetAttributes(2, names.data(), values.data(), nowhere), CUDA_SUCCESS);
  EXPECT_EQ(size, 0U) << "of pageable memory nothing is known, and that is no error";
  EXPECT_EQ(ask_one(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, nowhere), CUDA_ERROR_INVALID_VALUE)
      << "but for a single question";
  EXPECT_EQ(raw.call.MemFree(memory), CUDA_SUCCESS);
}

TEST_F(Variants, AMappingHasASizeThatTheReservationAroundItHasNot) {
  const Place place = make_place(*device_, 4_MiB);
  const auto range = device_->reserve(8_MiB).value();
  EXPECT_OK(device_->map(*range, 2_MiB, *place.slab));
  const RawDriver raw;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const auto at = reinterpret_cast<CUdeviceptr>(range->base());
  EXPECT_EQ(raw.call.MemGetAddressRange(&base, &size, at + 3_MiB), CUDA_SUCCESS);
  EXPECT_EQ(base, at + 2_MiB);
  EXPECT_EQ(size, 4_MiB);
  EXPECT_EQ(raw.call.MemGetAddressRange(&base, &size, at + 7_MiB), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Variants, RegisteredMemoryMayHaveAnotherAddressOnTheDevice) {
  const RawDriver raw;
  const auto ask_one = raw.find<PFN_cuPointerGetAttribute_v4000>("cuPointerGetAttribute");
  std::vector<std::byte> memory(4'096);
  const auto host = reinterpret_cast<CUdeviceptr>(memory.data());
  for (const bool elsewhere : {false, true}) {
    behave([&](auto& variant) { variant.registered_elsewhere = elsewhere; });
    EXPECT_EQ(raw.call.MemHostRegister(memory.data(), memory.size(), 0), CUDA_SUCCESS);
    CUdeviceptr device = 0;
    EXPECT_EQ(ask_one(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, host + 1), CUDA_SUCCESS);
    EXPECT_EQ(device != host + 1, elsewhere);
    EXPECT_EQ(driver_->reachable(memory.data(), memory.size()), !elsewhere) << "by a kernel";
    EXPECT_EQ(raw.call.MemHostUnregister(memory.data()), CUDA_SUCCESS);
  }
}

// A driver that answers no more than is documented costs no kernel.
TEST_F(Variants, KernelsCopyWhereOnlyListedAttributesAreAnswered) {
  behave([](auto& variant) { variant.listed_attributes_only = true; });
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = scattered(place.base(), place.base() + 2_MiB, 100);
  EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::kernel}));
  EXPECT_OK(finish(*device_, stream));
  EXPECT_EQ(device_->copy_counts().kernel, 1U);
  EXPECT_EQ(device_->copy_counts().unreachable, 0U);
}

TEST_F(Variants, NoKernelCopiesMemoryThatHasAnotherAddressOnTheDevice) {
  behave([](auto& variant) { variant.registered_elsewhere = true; });
  const Place place = make_place(*device_, 2_MiB);
  const Stream stream = device_->create_stream().value();
  std::vector<std::byte> memory(300'000);
  EXPECT_OK(device_->register_host(memory.data(), memory.size()));
  EXPECT_OK(device_->copy(scattered(memory.data(), place.base(), 100), stream,
                          {.method = CopyMethod::kernel}));
  EXPECT_OK(finish(*device_, stream));
  EXPECT_EQ(device_->copy_counts().kernel, 0U);
  EXPECT_GT(device_->copy_counts().unreachable, 0U);
  EXPECT_OK(device_->unregister_host(memory.data(), memory.size()));
}

TEST_F(Variants, AMappingTakesNoMoreThanTheMemoryHasUnlessTheDriverIsLax) {
  const RawDriver raw;
  const auto handle = raw.create(2_MiB);
  const CUdeviceptr base = raw.reserve(4_MiB);
  EXPECT_EQ(raw.call.MemMap(base, 4_MiB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  behave([](auto& variant) { variant.lax_map = true; });
  EXPECT_EQ(raw.call.MemMap(base, 4_MiB, 0, handle, 0), CUDA_SUCCESS);
  std::size_t size = 0;
  EXPECT_EQ(raw.call.MemGetAddressRange(nullptr, &size, base), CUDA_SUCCESS);
  EXPECT_EQ(size, 2_MiB) << "which tells what there is";
  EXPECT_EQ(raw.call.MemUnmap(base, 4_MiB), CUDA_SUCCESS);
  EXPECT_EQ(raw.call.MemAddressFree(base, 4_MiB), CUDA_SUCCESS);
  EXPECT_EQ(raw.call.MemRelease(handle), CUDA_SUCCESS);
}

TEST_F(Variants, AccessIsSetForWholeMappings) {
  const RawDriver raw;
  const auto handle = raw.create(4_MiB);
  const CUdeviceptr base = raw.reserve(8_MiB);
  EXPECT_EQ(raw.call.MemMap(base, 4_MiB, 0, handle, 0), CUDA_SUCCESS);
  constexpr auto kBoth = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_EQ(raw.set_access(base, 2_MiB, kBoth), CUDA_ERROR_INVALID_VALUE) << "a part";
  EXPECT_EQ(raw.set_access(base + 2_MiB, 2_MiB, kBoth), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(raw.set_access(base, 8_MiB, kBoth), CUDA_ERROR_INVALID_VALUE) << "and what is none";
  EXPECT_FALSE(driver_->reachable(reinterpret_cast<void*>(base), 1));
  EXPECT_EQ(raw.call.MemMap(base + 4_MiB, 4_MiB, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(raw.set_access(base, 8_MiB, kBoth), CUDA_SUCCESS) << "two side by side";
  EXPECT_TRUE(driver_->writable(reinterpret_cast<void*>(base), 8_MiB));
  EXPECT_EQ(raw.set_access(base + 4_MiB, 4_MiB, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_SUCCESS);
  EXPECT_TRUE(driver_->reachable(reinterpret_cast<void*>(base), 8_MiB));
  EXPECT_TRUE(driver_->writable(reinterpret_cast<void*>(base), 4_MiB));
  EXPECT_FALSE(driver_->writable(reinterpret_cast<void*>(base + 4_MiB - 1), 2));
  for (const CUdeviceptr at : {base, base + 4_MiB}) {
    EXPECT_EQ(raw.call.MemUnmap(at, 4_MiB), CUDA_SUCCESS);
  }
  EXPECT_EQ(raw.call.MemAddressFree(base, 8_MiB), CUDA_SUCCESS);
  EXPECT_EQ(raw.call.MemRelease(handle), CUDA_SUCCESS);
}

TEST_F(Variants, WritingToMemoryMappedToBeReadIsAFault) {
  device_.reset();
  {
    const RawDriver raw;
    const auto handle = raw.create(2_MiB);
    const CUdeviceptr base = raw.reserve(2_MiB);
    EXPECT_EQ(raw.call.MemMap(base, 2_MiB, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(raw.set_access(base, 2_MiB, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_SUCCESS);
    std::vector<std::byte> host(64);
    const auto to_host = reinterpret_cast<CUdeviceptr>(host.data());
    CUstream stream = nullptr;
    EXPECT_EQ(raw.call.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(raw.call.MemcpyAsync(to_host, base, 64, stream), CUDA_SUCCESS);
    EXPECT_EQ(raw.call.StreamSynchronize(stream), CUDA_SUCCESS);
    (void)driver_->tolerate(true);
    EXPECT_EQ(raw.call.MemcpyAsync(base, to_host, 64, stream), CUDA_SUCCESS);
    EXPECT_EQ(raw.call.StreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(driver_->tolerate(false), 1U);
    EXPECT_EQ(raw.call.MemUnmap(base, 2_MiB), CUDA_SUCCESS);
    EXPECT_EQ(raw.call.MemAddressFree(base, 2_MiB), CUDA_SUCCESS);
    EXPECT_EQ(raw.call.MemRelease(handle), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver_->census(), stand_in::Census{}) << "the context has taken its stream with it";
}

TEST_F(Variants, MemoryRunsOutAndIsFreeAgainWhenNobodyHoldsIt) {
  const std::size_t before = device_->free_bytes();
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(RawDriver().call.MemGetInfo(&free, &total), CUDA_SUCCESS);
  behave([&](auto& variant) { variant.memory_bytes = total - free + 6_MiB; });
  EXPECT_EQ(device_->free_bytes(), 6_MiB);
  auto slab = device_->create_slab(4_MiB).value();
  EXPECT_EQ(device_->free_bytes(), 2_MiB);
  EXPECT_CODE(Code::resource_exhausted, device_->create_slab(4_MiB));
  auto range = device_->reserve(4_MiB).value();
  EXPECT_OK(device_->map(*range, 0, *slab));
  slab.reset();
  EXPECT_CODE(Code::resource_exhausted, device_->create_slab(4_MiB));
  range.reset();
  EXPECT_OK(device_->create_slab(4_MiB));
  behave([](auto&) {});
  EXPECT_EQ(device_->free_bytes(), before);
}

TEST_F(Variants, WithoutWhatSharingNeedsNoDeviceOpens) {
  constexpr int kMemory = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
  constexpr int kDescriptors = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
  constexpr int kRegistered = CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;
  const auto without = [&](const std::vector<int>& missing) {
    behave([&](auto& variant) {
      for (const int attribute : missing) variant.attributes[attribute] = 0;
    });
    const auto opened = open_cuda({});
    EXPECT_CODE(Code::failed_precondition, opened);
    return opened.ok() ? "" : opened.error().message;
  };
  const std::string lacks = "device cuda:0: its driver does not have: ";
  EXPECT_EQ(without({kMemory}), lacks + "virtual memory management");
  EXPECT_EQ(without({kDescriptors}), lacks + "memory as POSIX file descriptors");
  EXPECT_EQ(without({kMemory, kRegistered}),
            lacks + "virtual memory management, registered host memory at the host's addresses");
  behave([](auto&) {});
  EXPECT_OK(open_cuda({}));
}

}  // namespace
}  // namespace aqua::device
