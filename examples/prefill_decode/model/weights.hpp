// SPDX-License-Identifier: Apache-2.0
// Weights are a model's tensors as ggml wants them, by name: over weights that a keeper has, where
// they lie, in memory of this process, read from the file, or over the mapped file.
//
// Threads: read by any number. Errors: Failure.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "aqua/sharing/shared_weights.hpp"
#include "model/ggml_handles.hpp"

namespace aqua::prefill_decode {

class Weights {
 public:
  // Nothing is copied: the tensors point into what is mapped.
  explicit Weights(sharing::SharedWeights shared);
  // Reads the file, or maps it where `mapped`.
  explicit Weights(const std::filesystem::path& file, bool mapped = false);

  // Throws Failure where there is none of this name.
  [[nodiscard]] ggml_tensor* get(const std::string& name) const;
  // nullptr where there is none.
  [[nodiscard]] ggml_tensor* find(const std::string& name) const;

 private:
  void map(const std::filesystem::path& file, const GgufFile& read);

  std::optional<sharing::SharedWeights> shared_{};
  std::shared_ptr<const void> mapping_{};  // of the file
  GgmlContext tensors_{};
};

}  // namespace aqua::prefill_decode
