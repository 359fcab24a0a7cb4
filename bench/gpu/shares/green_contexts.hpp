// SPDX-License-Identifier: Apache-2.0
// Green contexts: parts of the first GPU's multiprocessors, each with a stream whose kernels run on
// that part alone. The driver's functions are found when the program runs.
//
// Threads: one, with the GPU's primary context current.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <memory>
#include <optional>

#include "aqua/result.hpp"

namespace aqua::bench {

struct GreenFunctions {
  PFN_cuDeviceGetDevResource_v12040 DeviceGetDevResource = nullptr;
  PFN_cuDevSmResourceSplitByCount_v12040 DevSmResourceSplitByCount = nullptr;
  PFN_cuDevResourceGenerateDesc_v12040 DevResourceGenerateDesc = nullptr;
  PFN_cuGreenCtxCreate_v12040 GreenCtxCreate = nullptr;
  PFN_cuGreenCtxDestroy_v12040 GreenCtxDestroy = nullptr;
  PFN_cuGreenCtxStreamCreate_v12050 GreenCtxStreamCreate = nullptr;
  PFN_cuStreamDestroy_v4000 StreamDestroy = nullptr;
};
// unimplemented names the function that the driver lacks.
[[nodiscard]] Result<GreenFunctions> load_green_functions();

class SmPart {
 public:
  SmPart(const SmPart&) = delete;
  SmPart& operator=(const SmPart&) = delete;
  ~SmPart();  // no work may be under way

  [[nodiscard]] CUstream stream() const { return stream_; }
  [[nodiscard]] unsigned sms() const { return sms_; }

 private:
  friend class SmParts;
  SmPart(const GreenFunctions& functions, unsigned sms) : functions_(functions), sms_(sms) {}
  const GreenFunctions& functions_;
  unsigned sms_;
  CUgreenCtx context_ = nullptr;
  CUstream stream_ = nullptr;
};

// A part of the multiprocessors, and the others. The driver rounds the part's number up.
class SmParts {
 public:
  // The whole GPU, not divided: there is no other part. `functions` outlives this.
  [[nodiscard]] static Result<SmParts> whole(const GreenFunctions& functions);
  // unimplemented: the GPU cannot be divided.
  [[nodiscard]] static Result<SmParts> divide(const GreenFunctions& functions, unsigned sms);

  [[nodiscard]] const SmPart& part() const { return *part_; }
  [[nodiscard]] const SmPart* rest() const { return rest_.get(); }  // null where nothing is left

 private:
  static Result<std::unique_ptr<SmPart>> make(const GreenFunctions& functions,
                                              CUdevResource resource);
  std::unique_ptr<SmPart> part_, rest_;
};

}  // namespace aqua::bench
