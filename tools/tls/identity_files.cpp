// SPDX-License-Identifier: Apache-2.0
#include "tools/tls/identity_files.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "tools/tls/files.hpp"

namespace aqua::tls {
namespace {

// OpenSSL would ask the terminal.
int no_passphrase(char* /*out*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return -1;
}

Result<UniqueKey> read_key(const std::string& path) {
  AQUA_ASSIGN(const UniqueFd fd, open_secret(path));
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
    AQUA_ASSIGN([[maybe_unused]] const UniqueFd readable, open_regular(files.certificate));
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
  { AQUA_ASSIGN([[maybe_unused]] const UniqueFd readable, open_regular(authority)); }
  if (::SSL_CTX_load_verify_file(&context, authority.c_str()) == 1) return {};
  return tls_error(concat(authority, ": not certificates in PEM"));
}

Result<void> check_is_valid_now(const SSL_CTX& context) {
  const X509* const own = ::SSL_CTX_get0_certificate(&context);
  if (own == nullptr) return {};
  if (::X509_cmp_current_time(::X509_get0_notAfter(own)) < 0) {
    return Error{Code::failed_precondition, "the certificate has expired"};
  }
  if (::X509_cmp_current_time(::X509_get0_notBefore(own)) <= 0) return {};
  return Error{
      Code::failed_precondition,
      "the certificate is not valid yet: it is dated ahead, or this machine's clock is behind"};
}

std::chrono::sys_seconds end_of_validity(const SSL_CTX& context) {
  std::tm time{};
  const X509* const own = ::SSL_CTX_get0_certificate(&context);
  if (own == nullptr || ::ASN1_TIME_to_tm(::X509_get0_notAfter(own), &time) != 1) return {};
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&time)));
}

}  // namespace aqua::tls
