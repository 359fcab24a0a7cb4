// SPDX-License-Identifier: Apache-2.0
// A socket as OpenSSL reads and writes it: like the library's own, but no write raises SIGPIPE,
// and bytes that were read before TLS began come first.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>

#include "tools/tls/tls_types.hpp"

namespace aqua::coordinator {

// Borrows `fd`, a connected non-blocking socket. nullptr: no memory.
[[nodiscard]] tls::UniqueBio socket_bio(int fd, std::string first);

// How many bytes may be read until the next call; then it is as if no more had come. OpenSSL goes
// on within one call for as long as records come that hold nothing for us (key updates, refused
// renegotiations), and a peer can send these for ever. At first: none.
void allow_reading(BIO* bio, std::size_t bytes);

}  // namespace aqua::coordinator
