// SPDX-License-Identifier: Apache-2.0
#include "coordinator/tls/tls_identity.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/try.hpp"

namespace aqua::coordinator {
namespace {

// The ciphers of TLS 1.2 that are as good as all of 1.3's.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

Result<tls::UniqueSslContext> make_context() {
  tls::UniqueSslContext context(::SSL_CTX_new(::TLS_server_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      ::SSL_CTX_set_cipher_list(context.get(), kCiphers) != 1) {
    return tls::tls_error("TLS");
  }
  ::SSL_CTX_set_options(context.get(),
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(context.get(), 0);
  // Writes take what goes, as send() does; connections that wait keep no buffers.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Result<tls::UniqueSslContext> read(const TlsFiles& files) {
  AQUA_ASSIGN(tls::UniqueSslContext context, make_context());
  AQUA_TRY(tls::use_identity(*context, files));
  if (const auto valid = tls::check_is_valid_now(*context); !valid.ok()) {
    spdlog::warn("tls: {}: {}. Clients will refuse it", files.certificate, valid.error().message);
  }
  return context;
}

}  // namespace

TlsIdentity::TlsIdentity(TlsFiles files, tls::UniqueSslContext context)
    : files_(std::move(files)), context_(std::move(context)) {}

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::load(TlsFiles files) {
  AQUA_ASSIGN(tls::UniqueSslContext context, read(files));
  return std::unique_ptr<TlsIdentity>(new TlsIdentity(std::move(files), std::move(context)));
}

Result<void> TlsIdentity::reload() {
  AQUA_ASSIGN(tls::UniqueSslContext context, read(files_));
  const MutexLock lock(mu_);
  context_.swap(context);
  return {};
}

tls::UniqueSsl TlsIdentity::accept(tls::UniqueBio bio) const {
  if (bio == nullptr) return nullptr;
  tls::UniqueSsl ssl;
  {
    const MutexLock lock(mu_);
    ssl.reset(::SSL_new(context_.get()));  // keeps the context as long as it needs it
  }
  if (ssl == nullptr) return nullptr;
  BIO* const both = bio.release();
  ::SSL_set_bio(ssl.get(), both, both);  // takes the one reference for the two
  ::SSL_set_accept_state(ssl.get());
  return ssl;
}

}  // namespace aqua::coordinator
