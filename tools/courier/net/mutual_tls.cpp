// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/net/mutual_tls.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::courier {
namespace {

Result<tls::UniqueSslContext> read(const MutualTlsFiles& files) {
  tls::UniqueSslContext context(::SSL_CTX_new(::TLS_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) {
    return tls::tls_error("TLS 1.3");
  }
  // A connection lasts: nothing is resumed.
  ::SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  AQUA_TRY(tls::use_identity(*context, files.identity));
  AQUA_TRY(tls::trust(*context, files.authority));
  if (auto valid = tls::check_is_valid_now(*context); !valid.ok()) {
    return Error{valid.error().code,
                 concat(files.identity.certificate, ": ", valid.error().message)};
  }
  return context;
}

}  // namespace

Result<std::unique_ptr<MutualTls>> MutualTls::load(MutualTlsFiles files) {
  AQUA_ASSIGN(tls::UniqueSslContext context, read(files));
  return std::unique_ptr<MutualTls>(new MutualTls(std::move(files), std::move(context)));
}

Result<void> MutualTls::reload() {
  AQUA_ASSIGN(tls::UniqueSslContext context, read(files_));
  const MutexLock lock(mu_);
  context_.swap(context);
  return {};
}

tls::UniqueSsl MutualTls::begin() const {
  const MutexLock lock(mu_);
  return tls::UniqueSsl(::SSL_new(context_.get()));  // keeps the context as long as it needs it
}

std::chrono::sys_seconds MutualTls::certificate_ends() const {
  const MutexLock lock(mu_);
  return tls::end_of_validity(*context_);
}

}  // namespace aqua::courier
