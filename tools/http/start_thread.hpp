// SPDX-License-Identifier: Apache-2.0
// A thread, or what this machine lacks for one (ulimit -u, a container's pids limit, memory).
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua::http {

// resource_exhausted when there can be none.
template <typename F>
[[nodiscard]] Result<std::thread> start_thread(F&& body) {
  try {
    return std::thread(std::forward<F>(body));
  } catch (const std::system_error& error) {
    return Error{Code::resource_exhausted,
                 concat("this machine, not the engine, is at its limit: no thread more can be "
                        "started (",
                        error.what(), "); raise ulimit -u or the container's pids limit")};
  }
}

}  // namespace aqua::http
