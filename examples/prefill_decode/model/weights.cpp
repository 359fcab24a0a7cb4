// SPDX-License-Identifier: Apache-2.0
#include "model/weights.hpp"

#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fd.hpp"
#include "must.hpp"

namespace aqua::prefill_decode {
namespace {

using example::Failure;

ggml_type type_named(const std::string& name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    const char* const known = ggml_type_name(type);
    if (known != nullptr && ::strcasecmp(known, name.c_str()) == 0) return type;
  }
  throw Failure("ggml has no type " + name);
}

}  // namespace

Weights::Weights(sharing::SharedWeights shared) : shared_(std::move(shared)) {
  const auto& tensors = shared_->manifest().tensors;
  tensors_.reset(ggml_init({.mem_size = (tensors.size() + 1) * ggml_tensor_overhead(),
                            .mem_buffer = nullptr,
                            .no_alloc = true}));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const sharing::WeightTensor found = shared_->tensor(i);
    // ggml has the innermost axis first.
    std::array<std::int64_t, GGML_MAX_DIMS> elements{1, 1, 1, 1};
    const auto& shape = found.info->shape;
    if (shape.size() > elements.size()) throw Failure(found.info->name + ": too many axes");
    std::copy(shape.rbegin(), shape.rend(), elements.begin());
    ggml_tensor* const tensor =
        ggml_new_tensor(tensors_.get(), type_named(found.type->name),
                        static_cast<int>(std::max<std::size_t>(shape.size(), 1)), elements.data());
    if (ggml_nbytes(tensor) != found.bytes) throw Failure(found.info->name + ": not dense");
    ggml_set_name(tensor, found.info->name.c_str());
    // ggml takes no pointer to const; weights are read alone, and the mapping sees to it.
    tensor->data = const_cast<std::byte*>(found.address);  // NOLINT(*-const-cast)
  }
}

Weights::Weights(const std::filesystem::path& file, bool mapped) {
  ggml_context* tensors = nullptr;
  const GgufFile read(gguf_init_from_file(file.c_str(), {.no_alloc = mapped, .ctx = &tensors}));
  tensors_.reset(tensors);
  if (!read || !tensors_) throw Failure(file.string() + ": ggml cannot read it");
  if (mapped) map(file, read);
}

void Weights::map(const std::filesystem::path& file, const GgufFile& read) {
  const std::size_t bytes = std::filesystem::file_size(file);
  const example::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  // Populated, as llama.cpp does it.
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (address == MAP_FAILED) throw Failure(file.string() + ": cannot be mapped");
  mapping_ = {address, [bytes](void* whole) { ::munmap(whole, bytes); }};
  for (std::int64_t i = 0; i < gguf_get_n_tensors(read.get()); ++i) {
    ggml_tensor* const tensor = get(gguf_get_tensor_name(read.get(), i));
    const std::size_t from =
        gguf_get_data_offset(read.get()) + gguf_get_tensor_offset(read.get(), i);
    if (from > bytes || ggml_nbytes(tensor) > bytes - from) {
      throw Failure(file.string() + ": ends before its tensors do");
    }
    tensor->data = static_cast<std::byte*>(address) + from;
  }
}

ggml_tensor* Weights::find(const std::string& name) const {
  return ggml_get_tensor(tensors_.get(), name.c_str());
}

ggml_tensor* Weights::get(const std::string& name) const {
  ggml_tensor* const tensor = find(name);
  if (tensor == nullptr) throw Failure("the model has no tensor " + name);
  return tensor;
}

}  // namespace aqua::prefill_decode
