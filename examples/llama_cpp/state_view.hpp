// SPDX-License-Identifier: Apache-2.0
// StateView finds the keys and values in what llama_state_seq_get_data() wrote. The form is
// llama.cpp's own and may change with its version: what does not read as expected is an error,
// never a guess.
//
// Form (little endian), for a plain cache of one sequence: magic u32, sequence i32, streams u32;
// for each stream its cells u32 and, if there are any: for each cell its position i32, the number
// of its sequences u32 and these, i32 each; transposed u32, layers u32; for each layer its keys:
// type i32, bytes of a row u64, a row for each cell; then likewise the values of each layer.
//
// Owns: nothing; the bytes stay the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aqua::llama_example {

struct StatePlane {
  std::size_t offset = 0;  // of its rows in the state
  std::size_t row_bytes = 0;
};

struct StateView {
  std::size_t tokens = 0;
  std::vector<std::int32_t> positions{};  // of each row's token; from 0 to tokens - 1 in some order
  std::size_t cells_at = 0;               // where the number of cells stands, and all that follows
  std::size_t end_at = 0;                 // the cells and their rows
  std::vector<StatePlane> keys{}, values{};  // by layer
  // Throws Failure saying what is not as expected.
  [[nodiscard]] static StateView of(std::span<const std::byte> state);
};

// A state as llama.cpp would write it of `tokens` tokens from position 0 on, which are at least 1,
// of the same model and context as `sample`. The rows are zero: StateView::of() says where.
[[nodiscard]] std::vector<std::byte> empty_state(std::span<const std::byte> sample,
                                                 std::size_t tokens);

}  // namespace aqua::llama_example
