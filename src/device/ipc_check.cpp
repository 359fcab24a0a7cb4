// SPDX-License-Identifier: Apache-2.0
// Which memory legacy cudaIpc can share: the part that needs no driver.
#include "base/concat.hpp"
#include "device/cuda/ipc.hpp"

namespace aqua::device {

Result<void> check_ipc(const IpcFacts& facts, std::size_t bytes) {
  const auto refuse = [](const char* what, const char* instead) {
    return Error{Code::failed_precondition,
                 concat("export_ipc: ", what, " cannot be shared by cudaIpc; ", instead)};
  };
  constexpr const char* kUseSlabs =
      "put what is to be shared into slabs (Runtime::lend, ElasticPool) or allocate it with "
      "cudaMalloc";
  if (!facts.known) return refuse("memory that CUDA does not know", kUseSlabs);
  if (facts.managed) return refuse("managed memory (cudaMallocManaged)", kUseSlabs);
  if (facts.host) return refuse("host memory", kUseSlabs);
  if (facts.pooled) return refuse("memory of a pool (cudaMallocAsync)", kUseSlabs);
  if (!facts.capable) {
    return refuse("memory of virtual memory management",
                  "in PyTorch switch it off for what is to be shared "
                  "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False), or use slabs "
                  "(Runtime::lend, ElasticPool)");
  }
  if (bytes == 0 || bytes > facts.left) {
    return Error{Code::invalid_argument, concat("export_ipc: ", bytes, " bytes, ", facts.left,
                                                " from there to the end of the allocation")};
  }
  return {};
}

}  // namespace aqua::device
