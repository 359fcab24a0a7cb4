// SPDX-License-Identifier: Apache-2.0
#include "coordinator/check_start.hpp"

#include "base/try.hpp"
#include "coordinator/data_dir.hpp"
#include "coordinator/etcd/client.hpp"
#include "coordinator/http/listener.hpp"
#include "coordinator/tls/tls_identity.hpp"
#include "tools/tls/files.hpp"

namespace aqua::coordinator {

Result<void> check_start(const Options& options) {
  if (options.tls_listen) {
    AQUA_TRY(TlsIdentity::load(options.tls));
    AQUA_TRY(check_listen(*options.tls_listen));
  }
  const etcd::EtcdOptions& etcd = options.server.etcd;
  if (!etcd.authority.empty()) AQUA_TRY(tls::open_regular(etcd.authority));
  if (!etcd.password_file.empty()) AQUA_TRY(etcd::read_password(etcd.password_file));
  AQUA_ASSIGN(const bool exists, DataDir::check(options.data));
  const auto& listen = options.listen;
  // A start makes the data directory, and then the sockets in it.
  const auto made_then = [&](const std::string& path) {
    return !exists && path.starts_with(options.data + "/");
  };
  if (!listen.is_unix() || !made_then(listen.path)) AQUA_TRY(check_listen(listen));
  if (made_then(options.lifeline)) return {};
  return check_listen({.path = options.lifeline, .host = {}, .port = 0});
}

}  // namespace aqua::coordinator
