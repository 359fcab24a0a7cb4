// SPDX-License-Identifier: Apache-2.0
// A model of llama.cpp over weights that a keeper has: its tensors point to where these are mapped,
// and no byte of them is read or copied. By llama.cpp's public headers alone.
//
// Threads: a free function. Errors: Failure.
#pragma once

#include <filesystem>
#include <memory>

#include "aqua/sharing/shared_weights.hpp"
#include "engine.hpp"

namespace aqua::llama_example {

// Reads nothing of the file but the metadata. The weights are this file's, or others of its shapes;
// the model keeps them, and reads them on each call: suspended ones fault. Address space of the
// weights' size is reserved once more, since llama.cpp allocates before it asks for values, and
// never touched. Refuses models with optional tensors for which no value is known that changes
// nothing (the file has none of them, yet llama.cpp computes with them).
[[nodiscard]] Model attached_model(const std::filesystem::path& file,
                                   std::shared_ptr<const sharing::SharedWeights> weights);

}  // namespace aqua::llama_example
