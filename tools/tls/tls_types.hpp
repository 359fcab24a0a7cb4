// SPDX-License-Identifier: Apache-2.0
// OpenSSL's objects that have one owner, and its complaints as our errors.
//
// Threads: plain data and free functions.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <memory>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::tls {

struct FreeTls {
  void operator()(BIO* bio) const noexcept { ::BIO_free_all(bio); }
  void operator()(SSL* ssl) const noexcept { ::SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { ::SSL_CTX_free(context); }
  void operator()(EVP_PKEY* key) const noexcept { ::EVP_PKEY_free(key); }
};
using UniqueBio = std::unique_ptr<BIO, FreeTls>;
using UniqueSsl = std::unique_ptr<SSL, FreeTls>;
using UniqueSslContext = std::unique_ptr<SSL_CTX, FreeTls>;
using UniqueKey = std::unique_ptr<EVP_PKEY, FreeTls>;

// failed_precondition: `what`, and why OpenSSL did not do it; empties the thread's queue of
// such reasons.
[[nodiscard]] Error tls_error(std::string_view what);

}  // namespace aqua::tls
