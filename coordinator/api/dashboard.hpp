// SPDX-License-Identifier: Apache-2.0
// The dashboard at /: three files compiled into this program, with headers that let the page
// load nothing from anywhere else and be framed by nobody. It holds no secret, so whoever can
// connect may have it; what it shows it asks for with the caller's token.
//
// Threads: call before the server starts.
#pragma once

#include "coordinator/http/router.hpp"

namespace aqua::coordinator {

void install_dashboard(Router& router);

}  // namespace aqua::coordinator
