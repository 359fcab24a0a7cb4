// SPDX-License-Identifier: Apache-2.0
// MutualTls is how a courier knows another one: TLS 1.3, a certificate on both sides, signed by the
// authority that this group of servers has. A courier is called by a DNS name of its certificate.
//
// Threads: every method may be called concurrently.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "tools/tls/identity_files.hpp"

namespace aqua::courier {

struct MutualTlsFiles {
  tls::IdentityFiles identity{};
  std::string authority{};  // certificates, in PEM
};

class MutualTls {
 public:
  // Errors: as tls::use_identity(); failed_precondition: the certificate has expired, or is not
  // valid yet.
  [[nodiscard]] static Result<std::unique_ptr<MutualTls>> load(MutualTlsFiles files);
  // Reads the files again, for connections from now on; after an error nothing has changed.
  [[nodiscard]] Result<void> reload();
  // Either side of a connection that begins. nullptr: no memory.
  [[nodiscard]] tls::UniqueSsl begin() const;
  // When the certificate that is shown to others ends.
  [[nodiscard]] std::chrono::sys_seconds certificate_ends() const;

 private:
  MutualTls(MutualTlsFiles files, tls::UniqueSslContext context)
      : files_(std::move(files)), context_(std::move(context)) {}

  const MutualTlsFiles files_;
  mutable Mutex mu_;
  tls::UniqueSslContext context_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::courier
