// The lender's process: an engine with memory to spare. It reads commands from stdin and says
// what has happened on stdout, one JSON object a line:
//   {"do": "reclaim"} -> {"say": "reclaimed", "bytes": N, "slabs": N, "first_ms": X, "last_ms": X}
//   {"do": "lend"}    -> {"say": "lent"}
//   {"do": "finish"}  -> it ends
#pragma once

#include "options.hpp"

namespace aqua::llama_example {

[[nodiscard]] int run_lender(const Options& options);

}  // namespace aqua::llama_example
