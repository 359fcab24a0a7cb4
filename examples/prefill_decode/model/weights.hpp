// SPDX-License-Identifier: Apache-2.0
// Weights are a model's tensors as ggml wants them, by name: over weights that a keeper has, where
// they lie, or in memory of this process, read from the file.
//
// Threads: read by any number. Errors: Failure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "aqua/sharing/shared_weights.hpp"
#include "model/ggml_handles.hpp"

namespace aqua::prefill_decode {

class Weights {
 public:
  // Nothing is copied: the tensors point into what is mapped.
  explicit Weights(sharing::SharedWeights shared);
  explicit Weights(const std::filesystem::path& file);

  // Throws Failure where there is none of this name.
  [[nodiscard]] ggml_tensor* get(const std::string& name) const;
  // nullptr where there is none.
  [[nodiscard]] ggml_tensor* find(const std::string& name) const;

 private:
  std::optional<sharing::SharedWeights> shared_{};
  GgmlContext tensors_{};
};

}  // namespace aqua::prefill_decode
