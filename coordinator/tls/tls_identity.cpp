// SPDX-License-Identifier: Apache-2.0
#include "coordinator/tls/tls_identity.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

namespace aqua::coordinator {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
// The ciphers of TLS 1.2 that are as good as all of 1.3's.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// A regular file, none of whose `forbidden` mode bits is set.
Result<UniqueFd> open_file(const std::string& path, mode_t forbidden) {
  // Without waiting for a pipe's other end.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return errno_error(path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(path);
  if (!S_ISREG(info.st_mode))
    return Error{Code::failed_precondition, concat(path, ": not a regular file")};
  if ((info.st_mode & forbidden) != 0) {
    return Error{Code::failed_precondition,
                 concat(path, ": others than its owner may read or write this key: chmod 600")};
  }
  return fd;
}

// OpenSSL would ask the terminal.
int no_passphrase(char* /*out*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return -1;
}

Result<UniqueKey> read_key(const std::string& path) {
  AQUA_ASSIGN(const UniqueFd fd, open_file(path, kOthers));
  const UniqueBio bio(::BIO_new_fd(fd.get(), BIO_NOCLOSE));
  if (bio == nullptr) return tls_error(path);
  UniqueKey key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) return tls_error(concat(path, ": not a private key in PEM, or locked"));
  return key;
}

Result<UniqueSslContext> make_context() {
  UniqueSslContext context(::SSL_CTX_new(::TLS_server_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      ::SSL_CTX_set_cipher_list(context.get(), kCiphers) != 1) {
    return tls_error("TLS");
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

Result<UniqueSslContext> read(const TlsFiles& files) {
  ::ERR_clear_error();
  AQUA_ASSIGN(UniqueSslContext context, make_context());
  {
    // For the system's words about a file that cannot be read; OpenSSL opens it again.
    AQUA_ASSIGN([[maybe_unused]] const UniqueFd readable, open_file(files.certificate, 0));
  }
  if (::SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
    return tls_error(concat(files.certificate, ": not a certificate in PEM, or too weak a one"));
  AQUA_ASSIGN(const UniqueKey key, read_key(files.key));
  if (::SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      ::SSL_CTX_check_private_key(context.get()) != 1) {
    return tls_error(concat(files.key, ": not the key of ", files.certificate));
  }
  const X509* const own = ::SSL_CTX_get0_certificate(context.get());
  if (::X509_cmp_current_time(::X509_get0_notAfter(own)) < 0)
    spdlog::warn("tls: {} has expired: clients will refuse it", files.certificate);
  return context;
}

}  // namespace

TlsIdentity::TlsIdentity(TlsFiles files, UniqueSslContext context)
    : files_(std::move(files)), context_(std::move(context)) {}

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::load(TlsFiles files) {
  AQUA_ASSIGN(UniqueSslContext context, read(files));
  return std::unique_ptr<TlsIdentity>(new TlsIdentity(std::move(files), std::move(context)));
}

Result<void> TlsIdentity::reload() {
  AQUA_ASSIGN(UniqueSslContext context, read(files_));
  const MutexLock lock(mu_);
  context_.swap(context);
  return {};
}

UniqueSsl TlsIdentity::accept(UniqueBio bio) const {
  if (bio == nullptr) return nullptr;
  UniqueSsl ssl;
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
