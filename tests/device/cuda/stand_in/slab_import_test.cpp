// SPDX-License-Identifier: Apache-2.0
// The size of what is imported, with a driver that maps more than there is.
#include <cuda.h>
#include <gmock/gmock.h>

#include <string>

#include "base/try.hpp"
#include "device/cuda/slab.hpp"
#include "tests/device/cuda/stand_in/on_stand_in.hpp"

namespace aqua::device {
namespace {

using ::testing::HasSubstr;

// The stand-in's calls, but that cuMemMap takes any size where it is lax.
class SlabImport : public OnStandIn {
 protected:
  static inline bool lax;
  static inline std::size_t told;  // by cuMemGetAddressRange; 0: it refuses
  static inline const CudaDriver* stand_in;

  static CUresult map(CUdeviceptr base, std::size_t bytes, std::size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const CUresult mapped = stand_in->MemMap(base, bytes, offset, handle, flags);
    return lax && bytes == kRoom ? CUDA_SUCCESS : mapped;
  }
  static CUresult unmap(CUdeviceptr base, std::size_t bytes) {
    return lax && bytes == kRoom ? CUDA_SUCCESS : stand_in->MemUnmap(base, bytes);
  }
  static CUresult range(CUdeviceptr*, std::size_t* bytes, CUdeviceptr) {
    *bytes = told;
    return told == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  }
  void SetUp() override {
    OnStandIn::SetUp();
    if (IsSkipped()) return;
    stand_in = cuda_driver().value();
    calls_ = *stand_in;
    calls_.MemMap = map;
    calls_.MemUnmap = unmap;
    calls_.MemGetAddressRange = range;
    slab_ = device_->create_slab(kBytes).value();
    lax = false;
    told = 0;
  }
  [[nodiscard]] Result<void> import(std::size_t bytes) {
    const auto context = CudaContext::retain(calls_, 0).value();
    const auto scope = context->enter().value();
    const UniqueFd fd = device_->export_slab(*slab_).value();
    AQUA_TRY(CudaSlab::import(context, fd.get(), bytes, 2_MiB, SlabUse::lend));
    return {};
  }

  static constexpr std::size_t kBytes = 4_MiB;
  static constexpr std::size_t kRoom = 6_MiB;  // a granule more
  CudaDriver calls_{};
  std::unique_ptr<Slab> slab_;
};

TEST_F(SlabImport, IsProvenByTheMappingThatIsRefused) {
  EXPECT_OK(import(kBytes));
  EXPECT_CODE(Code::invalid_argument, import(2_MiB));
  EXPECT_THAT(import(8_MiB).error().message, HasSubstr("cuMemMap of 8388608 bytes"));
}

TEST_F(SlabImport, IsProvenByTheAddressRangeWhereTheLargerMappingIsTaken) {
  lax = true;
  told = kBytes;
  EXPECT_OK(import(kBytes));
  told = kRoom;
  const auto result = import(kBytes);
  EXPECT_CODE(Code::invalid_argument, result);
  EXPECT_THAT(result.error().message, HasSubstr("cuMemGetAddressRange says 6291456"));
  told = 0;
  EXPECT_CODE(Code::invalid_argument, import(kBytes)) << "neither way proves it";
}

}  // namespace
}  // namespace aqua::device
