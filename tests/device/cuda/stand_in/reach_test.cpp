// SPDX-License-Identifier: Apache-2.0
// Which memory kernels may touch, by what a driver answers of it. The driver is a table of calls of
// this file's: none of memory is needed.
#include "device/cuda/reach.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace aqua::device {
namespace {

// One piece of memory, as a driver knows it.
struct Memory {
  CUdeviceptr begin = 0;
  std::size_t reserved = 0, mapped = 0;  // bytes, from `begin`
  CUmemorytype type = CU_MEMORYTYPE_DEVICE;
  CUdeviceptr moved = 0;  // to the device's address of it
  int ordinal = 0;
  bool managed = false;
  bool writable = true;
};

constexpr CUdeviceptr kBase = CUdeviceptr{1} << 40;
constexpr std::size_t kMiB = std::size_t{1} << 20;

Memory memory;
std::set<CUpointer_attribute> refused;  // singly
std::size_t asked = 0;

bool known(CUpointer_attribute name, void* value, CUdeviceptr at) {
  if (at < memory.begin || at >= memory.begin + memory.mapped) return false;
  switch (name) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = memory.type;
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = at + memory.moved;
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(value) = memory.begin;
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(value) = memory.reserved;
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      *static_cast<std::size_t*>(value) = memory.mapped;
      return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = memory.managed ? 1 : 0;
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<unsigned*>(value) = 1;
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = memory.ordinal;
      return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *static_cast<unsigned*>(value) = memory.writable ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                                       : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ;
      return true;
    default:
      return false;
  }
}
CUresult ask_all(unsigned count, CUpointer_attribute* names, void** values, CUdeviceptr at) {
  ++asked;
  for (unsigned i = 0; i < count; ++i) {
    // What cuda.h does not list for this call.
    if (names[i] == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS ||
        names[i] == CU_POINTER_ATTRIBUTE_MAPPING_SIZE ||
        names[i] == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    (void)known(names[i], values[i], at);
  }
  return CUDA_SUCCESS;
}
CUresult ask_one(void* value, CUpointer_attribute name, CUdeviceptr at) {
  return !refused.contains(name) && known(name, value, at) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
}
CUresult current_device(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

class Reach : public ::testing::Test {
 protected:
  Reach() {
    driver_.PointerGetAttributes = ask_all;
    driver_.PointerGetAttribute = ask_one;
    driver_.CtxGetDevice = current_device;
    memory = {.begin = kBase, .reserved = 8 * kMiB, .mapped = 5 * kMiB};
    refused.clear();
    asked = 0;
  }
  static void refuse_unlisted() {
    refused = {CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
               CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR};
  }
  [[nodiscard]] bool covers(std::size_t offset, std::size_t bytes) const {
    auto* const at = reinterpret_cast<std::byte*>(kBase + offset);
    const std::array runs{CopySegment{at, at, bytes}};
    return CudaReach(driver_, ours_).covers(runs);
  }

  CudaDriver driver_{};
  RegionSet ours_;
};

TEST_F(Reach, IsWhatIsMappedOfAReservation) {
  EXPECT_TRUE(covers(0, 5 * kMiB));
  EXPECT_FALSE(covers(4 * kMiB, 2 * kMiB));
  EXPECT_FALSE(covers(6 * kMiB, 1));
}

TEST_F(Reach, IsTheSameWhereTheDriverAnswersOnlyWhatIsListed) {
  refuse_unlisted();
  EXPECT_TRUE(covers(0, 4 * kMiB)) << "two granules, each asked for";
  EXPECT_TRUE(covers(kMiB, 2 * kMiB)) << "across two";
  EXPECT_FALSE(covers(6 * kMiB, 1)) << "reserved, not mapped";
  EXPECT_GT(asked, 3U);
}

TEST_F(Reach, EndsWhereTheDevicesAddressIsAnother) {
  memory.type = CU_MEMORYTYPE_HOST;
  EXPECT_TRUE(covers(0, kMiB));
  EXPECT_TRUE(same_on_device(driver_, reinterpret_cast<std::byte*>(kBase)));
  memory.moved = kBase;
  EXPECT_FALSE(covers(0, kMiB));
  EXPECT_FALSE(same_on_device(driver_, reinterpret_cast<std::byte*>(kBase)));
}

TEST_F(Reach, IsOfMemoryThatIsReadAndWritten) {
  memory.writable = false;
  EXPECT_FALSE(covers(0, 1));
}

// Without a word on access: neither a neighbour's memory nor what may move.
TEST_F(Reach, IsThisGpusWhereTheDriverTellsNoAccess) {
  memory.ordinal = 1;
  EXPECT_TRUE(covers(0, 1)) << "told";
  refuse_unlisted();
  EXPECT_FALSE(covers(0, 1));
  memory.ordinal = 0;
  EXPECT_TRUE(covers(0, 1));
  memory.managed = true;
  EXPECT_FALSE(covers(0, 1));
}

TEST_F(Reach, IsNothingOfWhichTheDriverKnowsNothing) {
  memory.mapped = 0;
  EXPECT_FALSE(covers(0, 1));
  ours_.add(reinterpret_cast<std::byte*>(kBase), kMiB);
  EXPECT_TRUE(covers(0, kMiB)) << "what the device has mapped itself nobody is asked about";
}

}  // namespace
}  // namespace aqua::device
