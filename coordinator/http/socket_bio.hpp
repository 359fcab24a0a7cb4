// A socket as OpenSSL reads and writes it: like the library's own, but no write raises SIGPIPE,
// and bytes that were read before TLS began come first.
//
// Threads: one at a time.
#pragma once

#include <string>

#include "coordinator/http/tls_types.hpp"

namespace aqua::coordinator {

// Borrows `fd`, a connected non-blocking socket. nullptr: no memory.
[[nodiscard]] UniqueBio socket_bio(int fd, std::string first);

}  // namespace aqua::coordinator
