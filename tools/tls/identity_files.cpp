// SPDX-License-Identifier: Apache-2.0
#include "tools/tls/identity_files.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

namespace aqua::tls {
namespace {

enum class Secrecy { none, key };

// Nobody but the owner may read or write it. Root's may also be read by a group, as files are that
// Kubernetes makes of a Secret for a user (fsGroup): that group is of root's choice.
bool is_secret(const struct stat& info) {
  const mode_t forbidden = info.st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  return (info.st_mode & forbidden) == 0;
}

// A regular file.
Result<UniqueFd> open_file(const std::string& path, Secrecy secrecy) {
  // Without waiting for a pipe's other end.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return errno_error(path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(path);
  if (!S_ISREG(info.st_mode))
    return Error{Code::failed_precondition, concat(path, ": not a regular file")};
  if (secrecy == Secrecy::key && !is_secret(info)) {
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
  AQUA_ASSIGN(const UniqueFd fd, open_file(path, Secrecy::key));
  const UniqueBio bio(::BIO_new_fd(fd.get(), BIO_NOCLOSE));
  if (bio == nullptr) return tls_error(path);
  UniqueKey key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) return tls_error(concat(path, ": not a private key in PEM, or locked"));
  return key;
}

}  // namespace

Result<void> use_identity(SSL_CTX& context, const IdentityFiles& files) {
  ::ERR_clear_error();
  {
    // For the system's words about a file that cannot be read; OpenSSL opens it again.
    AQUA_ASSIGN([[maybe_unused]] const UniqueFd readable,
                open_file(files.certificate, Secrecy::none));
  }
  if (::SSL_CTX_use_certificate_chain_file(&context, files.certificate.c_str()) != 1)
    return tls_error(concat(files.certificate, ": not a certificate in PEM, or too weak a one"));
  AQUA_ASSIGN(const UniqueKey key, read_key(files.key));
  if (::SSL_CTX_use_PrivateKey(&context, key.get()) != 1 ||
      ::SSL_CTX_check_private_key(&context) != 1) {
    return tls_error(concat(files.key, ": not the key of ", files.certificate));
  }
  return {};
}

Result<void> trust(SSL_CTX& context, const std::string& authority) {
  ::ERR_clear_error();
  { AQUA_ASSIGN([[maybe_unused]] const UniqueFd readable, open_file(authority, Secrecy::none)); }
  if (::SSL_CTX_load_verify_file(&context, authority.c_str()) == 1) return {};
  return tls_error(concat(authority, ": not certificates in PEM"));
}

bool has_expired(const SSL_CTX& context) {
  const X509* const own = ::SSL_CTX_get0_certificate(&context);
  return own != nullptr && ::X509_cmp_current_time(::X509_get0_notAfter(own)) < 0;
}

}  // namespace aqua::tls
