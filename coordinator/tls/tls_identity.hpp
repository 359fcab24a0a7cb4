// SPDX-License-Identifier: Apache-2.0
// TlsIdentity is what the daemon shows of itself to whoever connects over TLS: a certificate
// and the key to it, read from files and, when these are renewed, read again.
//
// TLS 1.2 with forward secrecy and authenticated ciphers, or 1.3; no renegotiation, no resumption:
// a connection carries one request. No certificate is asked of the client: tokens say who it is.
//
// Threads: every method may be called concurrently.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "tools/tls/identity_files.hpp"
#include "tools/tls/tls_types.hpp"

namespace aqua::coordinator {

using TlsFiles = tls::IdentityFiles;

class TlsIdentity {
 public:
  // The error names the file: not_found or permission_denied as the system says;
  // failed_precondition: others may read the key, it is not this certificate's, it is no PEM.
  [[nodiscard]] static Result<std::unique_ptr<TlsIdentity>> load(TlsFiles files);

  // Reads the files again, for connections from now on; after an error nothing has changed.
  [[nodiscard]] Result<void> reload();
  // The server's side of a connection that begins. nullptr: no memory.
  [[nodiscard]] tls::UniqueSsl accept(tls::UniqueBio bio) const;

 private:
  TlsIdentity(TlsFiles files, tls::UniqueSslContext context);

  const TlsFiles files_;
  mutable Mutex mu_;
  tls::UniqueSslContext context_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator
