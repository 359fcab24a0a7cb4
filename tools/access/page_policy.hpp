// SPDX-License-Identifier: Apache-2.0
// What a daemon's own page may do, as its browser is told (Content-Security-Policy): it loads
// nothing from anywhere else, is framed by nobody, and runs no script but its files'. Its icon is
// an empty data: URI, or browsers would ask for one.
//
// Threads: plain data.
#pragma once

namespace aqua::access {

inline constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace aqua::access
