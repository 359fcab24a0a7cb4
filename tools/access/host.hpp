// SPDX-License-Identifier: Apache-2.0
// The name by which whoever asks believes to reach this machine (a request's Host). A page of any
// site can have its own name lead here (DNS rebinding) and is then of one origin with what answers;
// its browser still tells that name.
//
// Threads: free functions. Pure.
#pragma once

#include <string_view>

namespace aqua::access {

// "host:port" or "host" without its port; an IPv6 address keeps its brackets.
[[nodiscard]] std::string_view host_of(std::string_view authority);
// "localhost", in letters of any case, or a loopback address in numbers: what no name server can
// lead elsewhere.
[[nodiscard]] bool is_loopback(std::string_view host);

}  // namespace aqua::access
