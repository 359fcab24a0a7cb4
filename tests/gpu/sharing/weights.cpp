// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/sharing/weights.hpp"

#include <string>
#include <utility>

#include "aqua/types.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/systems/sharing/small_model.hpp"

namespace aqua::sharing_contact {
namespace {

using namespace aqua::literals;
using first_contact::address_of;
using first_contact::Gpu;

}  // namespace

Result<Runtime> open_runtime() {
  return Runtime::open(
      {.device = "cuda:0", .coordinator = "none", .host_bytes = 2_MiB, .curve_directory = "off"});
}

Result<void> publish(unsigned version) {
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  const auto manifest = sharing::small_model(std::to_string(version));
  AQUA_ASSIGN(auto publisher, sharing::WeightsPublisher::begin(runtime, manifest));
  AQUA_TRY(sharing::fill(publisher, manifest, version));
  return publisher.commit();
}

Result<sharing::SharedWeights> attach(Runtime& runtime) {
  return sharing::SharedWeights::attach(runtime, {.model = "small"});
}

Result<void> compare(const Gpu& gpu, sharing::SharedWeights& weights, unsigned version) {
  for (std::size_t i = 0; i < weights.manifest().tensors.size(); ++i) {
    const auto tensor = weights.tensor(i);
    if (tensor.info->view_of) continue;
    AQUA_ASSIGN(const auto seen, gpu.read(address_of(tensor.address), tensor.bytes));
    if (seen != sharing::small_bytes(tensor.bytes, version, i)) {
      return Error{Code::data_loss,
                   concat(tensor.info->name, " has other bytes than version ", version)};
    }
  }
  return weights.verify();
}

Result<void> fill_other_memory(const Gpu& gpu) {
  AQUA_ASSIGN(const CUdeviceptr other, gpu.allocate(gpu.large()));
  return gpu.write(other, std::vector<std::byte>(gpu.large(), std::byte{0x5a}));
}

Result<WeightsByKernel> WeightsByKernel::prepare(const Gpu& gpu,
                                                 const sharing::SharedWeights& weights) {
  const auto tensor = weights.tensor(0);
  AQUA_ASSIGN(const CUdeviceptr out, gpu.allocate(tensor.bytes));
  AQUA_ASSIGN(const auto copy, KernelCopy::prepare(gpu, out, address_of(tensor.address),
                                                   tensor.bytes, kernels::CopyKernel::vector));
  return WeightsByKernel(copy, out, tensor.bytes);
}

Result<void> WeightsByKernel::clear(const Gpu& gpu) const {
  return gpu.write(out_, std::vector<std::byte>(bytes_));
}

Result<void> WeightsByKernel::compare(const Gpu& gpu, unsigned version) const {
  AQUA_ASSIGN(const auto seen, gpu.read(out_, bytes_));
  if (seen == sharing::small_bytes(bytes_, version, 0)) return {};
  return Error{Code::data_loss, concat("a kernel has not read the bytes of version ", version)};
}

Result<void> WeightsByKernel::run_and_compare(const Gpu& gpu, unsigned version) const {
  AQUA_TRY(clear(gpu));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  AQUA_TRY(queue(gpu, stream));
  AQUA_TRY(gpu.wait(stream));
  return compare(gpu, version);
}

}  // namespace aqua::sharing_contact
