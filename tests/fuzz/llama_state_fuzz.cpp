// SPDX-License-Identifier: Apache-2.0
// Any bytes as llama.cpp's saved sequence: StateView never reads outside, and what it finds lies
// inside.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "must.hpp"
#include "state_view.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using aqua::llama_example::StateView;
  try {
    const auto view = StateView::of(std::as_bytes(std::span(data, size)));
    if (view.tokens == 0 || view.keys.empty() || view.keys.size() != view.values.size()) {
      std::abort();
    }
    for (const auto* planes : {&view.keys, &view.values}) {
      for (const auto& plane : *planes) {
        if (plane.row_bytes == 0 || plane.offset > size) std::abort();
        if (plane.row_bytes > (size - plane.offset) / view.tokens) std::abort();
      }
    }
  } catch (const aqua::example::Failure&) {
  }
  return 0;
}
