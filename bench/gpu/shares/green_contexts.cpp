// SPDX-License-Identifier: Apache-2.0
#include "gpu/shares/green_contexts.hpp"

#include <cuda_runtime_api.h>

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::bench {
namespace {

Result<void> done(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return {};
  const bool cannot = result == CUDA_ERROR_NOT_SUPPORTED;
  return Error{cannot ? Code::unimplemented : Code::internal,
               concat(call, ": CUDA error ", static_cast<int>(result))};
}

template <typename Function>
Result<void> find(Function& function, const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how{};
  const auto asked =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &how);
  if (asked != cudaSuccess || how != cudaDriverEntryPointSuccess || found == nullptr)
    return Error{Code::unimplemented, concat("the driver has no ", name)};
  function = reinterpret_cast<Function>(found);
  return {};
}

Result<CUdevResource> all_multiprocessors(const GreenFunctions& functions) {
  CUdevResource all{};
  AQUA_TRY(done(functions.DeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM),
                "cuDeviceGetDevResource"));
  return all;
}

}  // namespace

Result<GreenFunctions> load_green_functions() {
  GreenFunctions f;
  AQUA_TRY(find(f.DeviceGetDevResource, "cuDeviceGetDevResource", 12040));
  AQUA_TRY(find(f.DevSmResourceSplitByCount, "cuDevSmResourceSplitByCount", 12040));
  AQUA_TRY(find(f.DevResourceGenerateDesc, "cuDevResourceGenerateDesc", 12040));
  AQUA_TRY(find(f.GreenCtxCreate, "cuGreenCtxCreate", 12040));
  AQUA_TRY(find(f.GreenCtxDestroy, "cuGreenCtxDestroy", 12040));
  AQUA_TRY(find(f.GreenCtxStreamCreate, "cuGreenCtxStreamCreate", 12050));
  AQUA_TRY(find(f.StreamDestroy, "cuStreamDestroy", 4000));
  return f;
}

// Also of one that was only half made.
SmPart::~SmPart() {
  if (stream_ != nullptr) (void)functions_.StreamDestroy(stream_);
  if (context_ != nullptr) (void)functions_.GreenCtxDestroy(context_);
}

Result<std::unique_ptr<SmPart>> SmParts::make(const GreenFunctions& functions,
                                              CUdevResource resource) {
  std::unique_ptr<SmPart> part(new SmPart(functions, resource.sm.smCount));
  CUdevResourceDesc description = nullptr;
  AQUA_TRY(done(functions.DevResourceGenerateDesc(&description, &resource, 1),
                "cuDevResourceGenerateDesc"));
  AQUA_TRY(
      done(functions.GreenCtxCreate(&part->context_, description, 0, CU_GREEN_CTX_DEFAULT_STREAM),
           "cuGreenCtxCreate"));
  AQUA_TRY(done(
      functions.GreenCtxStreamCreate(&part->stream_, part->context_, CU_STREAM_NON_BLOCKING, 0),
      "cuGreenCtxStreamCreate"));
  return part;
}

Result<SmParts> SmParts::whole(const GreenFunctions& functions) {
  SmParts parts;
  AQUA_ASSIGN(const CUdevResource all, all_multiprocessors(functions));
  AQUA_ASSIGN(parts.part_, make(functions, all));
  return parts;
}

Result<SmParts> SmParts::divide(const GreenFunctions& functions, unsigned sms) {
  SmParts parts;
  AQUA_ASSIGN(const CUdevResource all, all_multiprocessors(functions));
  CUdevResource some{}, rest{};
  unsigned groups = 1;
  AQUA_TRY(done(functions.DevSmResourceSplitByCount(&some, &groups, &all, &rest, 0, sms),
                "cuDevSmResourceSplitByCount"));
  if (groups != 1) return Error{Code::unimplemented, concat("no group of ", sms, " SMs")};
  AQUA_ASSIGN(parts.part_, make(functions, some));
  if (rest.type == CU_DEV_RESOURCE_TYPE_SM && rest.sm.smCount > 0) {
    AQUA_ASSIGN(parts.rest_, make(functions, rest));
  }
  return parts;
}

}  // namespace aqua::bench
