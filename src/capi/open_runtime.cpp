// SPDX-License-Identifier: Apache-2.0
#include "capi/open_runtime.hpp"

#include "base/concat.hpp"

namespace aqua::capi {

Result<std::optional<RuntimeTable::Use>> keep_open(const char* what, std::uint64_t runtime_id) {
  std::optional<RuntimeTable::Use> use;
  const auto outcome = runtimes().look(runtime_id, use);
  if (outcome == HandleWord::Take::ending) {
    return Error{Code::unavailable, concat(what, ": its runtime is being closed; ask again")};
  }
  if (outcome == HandleWord::Take::crowded)
    return bad_take(what, Kind::runtime, runtime_id, outcome);
  return use;
}

}  // namespace aqua::capi
