// SPDX-License-Identifier: Apache-2.0
// The load that llama_serve makes up, the same for the same options and model.
#pragma once

#include <vector>

#include "open_loop.hpp"
#include "serve_options.hpp"

namespace aqua::llama_example {

// Lengths evenly from half to three halves of the mean; Poisson arrivals, the first at once. With
// the prefix cache each prompt begins with the shared tokens of its group.
[[nodiscard]] std::vector<Asked> make_load(const Model& model, const ServeOptions& options);

}  // namespace aqua::llama_example
