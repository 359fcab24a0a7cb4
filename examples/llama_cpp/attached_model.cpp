// SPDX-License-Identifier: Apache-2.0
#include "attached_model.hpp"

#include <ggml.h>
#include <gguf.h>
#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "must.hpp"

namespace aqua::llama_example {
namespace {

using example::Failure;

constexpr const char* kEmbedding = "token_embd.weight";
constexpr const char* kOutput = "output.weight";  // many models take their embedding for it

struct FreeDescription {
  void operator()(gguf_context* metadata) const { gguf_free(metadata); }
  void operator()(ggml_context* tensors) const { ggml_free(tensors); }
};

// Without a file llama.cpp creates every optional tensor that an architecture may have, and
// computes with it. These values change no result: nothing is added, and factors are 1.
std::optional<float> neutral_value(std::string_view name) {
  if (name.ends_with(".bias")) return 0.0F;
  if (name.ends_with(".scale") || name.ends_with(".input_scale")) return 1.0F;
  if (name == "rope_freqs.weight") return 1.0F;
  return std::nullopt;
}

bool is_alike(const ggml_tensor& tensor, const sharing::WeightTensor& found) {
  const auto& shape = found.info->shape;  // ggml has the innermost axis first
  return ::strcasecmp(ggml_type_name(tensor.type), found.type->name.c_str()) == 0 &&
         ggml_nbytes(&tensor) == found.bytes && shape.size() <= GGML_MAX_DIMS &&
         std::equal(shape.rbegin(), shape.rend(), tensor.ne,
                    [](std::uint64_t there, std::int64_t here) {
                      return there == static_cast<std::uint64_t>(here);
                    });
}

// Gives llama.cpp's tensors their addresses. A failure is kept, since C calls it.
class Placing {
 public:
  explicit Placing(const sharing::SharedWeights& weights) : weights_(weights) {}

  static void call(ggml_tensor* tensor, void* placing) {
    static_cast<Placing*>(placing)->place(*tensor);
  }
  void check() const {
    if (!failure_.empty()) throw Failure(failure_);
  }

 private:
  void place(ggml_tensor& tensor) {
    const std::string name = tensor.name;
    auto found = weights_.find(name);
    if (!found.ok() && name == kOutput) found = weights_.find(kEmbedding);
    if (found.ok()) {
      if (!is_alike(tensor, *found)) failure_ = name + ": the keeper's is of another type or shape";
      // ggml takes no pointer to const; weights are read alone, and the mapping sees to it.
      tensor.data = const_cast<std::byte*>(found->address);
      return;
    }
    const std::optional<float> value = neutral_value(name);
    if (value && tensor.type == GGML_TYPE_F32) {
      std::fill_n(static_cast<float*>(tensor.data), ggml_nelements(&tensor), *value);
    } else {
      failure_ = name + ": llama.cpp wants it, and the keeper has none";
    }
  }

  const sharing::SharedWeights& weights_;
  std::string failure_{};
};

}  // namespace

Model attached_model(const std::filesystem::path& file,
                     std::shared_ptr<const sharing::SharedWeights> weights) {
  ggml_context* described = nullptr;
  const std::unique_ptr<gguf_context, FreeDescription> metadata(
      gguf_init_from_file(file.c_str(), {.no_alloc = true, .ctx = &described}));
  const std::unique_ptr<ggml_context, FreeDescription> tensors(described);
  if (!metadata || !tensors) throw Failure(file.string() + ": ggml cannot read it");
  // An output that the metadata do not name would be one of floats.
  ggml_tensor* const embedding = ggml_get_tensor(tensors.get(), kEmbedding);
  if (embedding != nullptr && gguf_find_tensor(metadata.get(), kOutput) < 0) {
    ggml_set_name(embedding, kOutput);
    gguf_add_tensor(metadata.get(), embedding);
  }
  Placing placing(*weights);
  Model model(*metadata, Placing::call, &placing, std::move(weights));
  placing.check();
  return model;
}

}  // namespace aqua::llama_example
