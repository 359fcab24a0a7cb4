// SPDX-License-Identifier: Apache-2.0
#include "tools/tls/tls_types.hpp"

#include <openssl/err.h>

#include "base/concat.hpp"

namespace aqua::tls {

Error tls_error(std::string_view what) {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  ::ERR_clear_error();
  return Error{Code::failed_precondition,
               concat(what, ": ", reason == nullptr ? "OpenSSL does not say why" : reason)};
}

}  // namespace aqua::tls
