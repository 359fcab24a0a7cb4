// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of model weights, GGUF or safetensors: refused with a message or read, and
// what is read lies within the file. A plan of it for one shard or for one of two, whole or cut
// along some axis, is refused, or its manifest is good and its runs fill the tensors' bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "systems/sharing/decide/load_plan.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace {

using namespace aqua::sharing;

void require(bool good) {
  if (!good) std::abort();
}

class FuzzedFile : public ByteSource {
 public:
  explicit FuzzedFile(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t bytes() const override { return bytes_.size(); }
  [[nodiscard]] aqua::Result<void> read(std::uint64_t offset, std::span<std::byte> to) override {
    require(offset <= bytes_.size() && to.size() <= bytes_.size() - offset);
    std::ranges::copy(std::as_bytes(bytes_).subspan(offset, to.size()), to.begin());
    return {};
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

void check_plan(const std::vector<FileTensor>& tensors, const LoadOptions& options,
                std::uint64_t file_bytes) {
  const auto plan = make_load_plan(tensors, options);
  if (!plan.ok()) {
    require(plan.error().code == aqua::Code::invalid_argument && options.slab_bytes > 0);
    return;
  }
  const Manifest& manifest = plan->manifest;
  require(check(manifest).ok());
  std::uint64_t planned = 0, wanted = 0;
  for (const Run& run : plan->runs) {
    const TensorInfo& tensor = manifest.tensors[run.tensor];
    require(run.bytes > 0 && run.bytes <= tensor_bytes(manifest, tensor));
    require(run.file_offset <= file_bytes && run.bytes <= file_bytes - run.file_offset);
    require(run.offset >= tensor.offset);
    require(run.offset - tensor.offset <= tensor_bytes(manifest, tensor) - run.bytes);
    require(run.offset + run.bytes <= slab_bytes(manifest));
    planned += run.bytes;
  }
  for (const TensorInfo& tensor : manifest.tensors) wanted += tensor_bytes(manifest, tensor);
  require(planned == wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedFile file({data, size});
  const auto tensors = read_tensor_list(file, 0);
  if (!tensors.ok()) {
    require(tensors.error().code == aqua::Code::invalid_argument ||
            tensors.error().code == aqua::Code::unimplemented);
    require(tensors.error().message.size() < 1000);
    return 0;
  }
  for (const FileTensor& tensor : *tensors) {
    if (tensor.bytes == 0) continue;
    require(tensor.offset <= size && tensor.bytes <= size - tensor.offset);
  }
  LoadOptions options{.model = "m", .version = "1", .slab_bytes = 1000};
  check_plan(*tensors, options, size);
  for (const std::uint32_t axis : {0U, 1U, 2U}) {
    options.rules = {{"*", axis}};
    for (const std::uint32_t shard : {0U, 1U}) {
      options.shard = shard;
      options.shards = 2;
      check_plan(*tensors, options, size);
    }
  }
  return 0;
}
