// SPDX-License-Identifier: Apache-2.0
// Who a coordinator is to others, whatever it is called: its data directory, which one daemon has
// at a time. A daemon that was killed is followed by one that may go on in its name at once.
//
// Threads: free function; the caller has the directory's lock.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::coordinator {

// What the file `server` in the directory says, drawn at random and written where there is none.
// data_loss where it says something else; the errors of the system otherwise.
[[nodiscard]] Result<ServerOwner> server_owner(const std::string& directory);

}  // namespace aqua::coordinator
