// SPDX-License-Identifier: Apache-2.0
// What a daemon shows of itself to whoever speaks TLS with it: a certificate and the key to it, in
// files.
//
// Threads: free functions; a context is for one at a time.
#pragma once

#include <chrono>
#include <string>

#include "aqua/result.hpp"
#include "tools/tls/tls_types.hpp"

namespace aqua::tls {

struct IdentityFiles {
  std::string certificate;  // PEM: the daemon's own, then those that lead to the authority's
  std::string key;          // PEM, without a passphrase; a secret, as open_secret() has it
};

// Reads them. The error names the file: not_found or permission_denied as the system says;
// failed_precondition: others may read the key, it is not this certificate's, it is no PEM.
[[nodiscard]] Result<void> use_identity(SSL_CTX& context, const IdentityFiles& files);
// Certificates that are trusted to say who others are, in PEM. Errors: as use_identity().
[[nodiscard]] Result<void> trust(SSL_CTX& context, const std::string& authority);
// failed_precondition: by this machine's clock the certificate that was read has expired, or is not
// valid yet.
[[nodiscard]] Result<void> check_is_valid_now(const SSL_CTX& context);
// When the certificate that was read ends.
[[nodiscard]] std::chrono::sys_seconds end_of_validity(const SSL_CTX& context);

}  // namespace aqua::tls
