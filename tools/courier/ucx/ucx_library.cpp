// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/ucx/ucx_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "base/concat.hpp"

namespace aqua::courier {
namespace {

constexpr const char* kName = "libucp.so.0";

// What UCX is not to do in a daemon: catch signals, hook the memory functions of the program, write
// to stdout, or serve a file system. Settings that an operator has made stay.
constexpr std::array<std::pair<const char*, const char*>, 9> kSettings{{
    {"UCX_HANDLE_ERRORS", "none"},
    {"UCX_ERROR_SIGNALS", ""},
    {"UCX_DEBUG_SIGNO", "0"},  // SIGHUP otherwise, by which a courier reads its certificates again
    {"UCX_MEM_EVENTS", "no"},
    {"UCX_KEEPALIVE_INTERVAL", "inf"},  // would count as progress; the connection of TLS is watched
    {"UCX_VFS_ENABLE", "no"},
    {"UCX_WARN_UNUSED_ENV_VARS", "no"},
    {"UCX_LOG_FILE", "stderr"},
    {"UCX_LOG_LEVEL", "fatal"},  // what goes wrong comes as a status, and is said by the courier
}};

Result<const UcxLibrary*> load() {
  // `overwrite` is 0.
  for (const auto& [name, value] : kSettings) (void)::setenv(name, value, 0);
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Error{Code::unavailable, concat("courier: UCX: it is not here: ", ::dlerror())};
  static UcxLibrary library;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) missing = name;
  };
  find(library.config_read, "ucp_config_read");
  find(library.config_modify, "ucp_config_modify");
  find(library.config_release, "ucp_config_release");
  find(library.init_version, "ucp_init_version");
  find(library.cleanup, "ucp_cleanup");
  find(library.worker_create, "ucp_worker_create");
  find(library.worker_destroy, "ucp_worker_destroy");
  find(library.worker_get_address, "ucp_worker_get_address");
  find(library.worker_release_address, "ucp_worker_release_address");
  find(library.worker_get_efd, "ucp_worker_get_efd");
  find(library.worker_arm, "ucp_worker_arm");
  find(library.worker_progress, "ucp_worker_progress");
  find(library.worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  find(library.ep_create, "ucp_ep_create");
  find(library.ep_close_nbx, "ucp_ep_close_nbx");
  find(library.am_send_nbx, "ucp_am_send_nbx");
  find(library.am_recv_data_nbx, "ucp_am_recv_data_nbx");
  find(library.am_data_release, "ucp_am_data_release");
  find(library.request_check_status, "ucp_request_check_status");
  find(library.request_free, "ucp_request_free");
  find(library.status_string, "ucs_status_string");
  if (missing.empty()) return &library;
  return Error{Code::unavailable, concat("courier: UCX: it has no ", missing, ": it is too old")};
}

}  // namespace

Error UcxLibrary::error(const char* doing, ucs_status_t status) const {
  return {Code::unavailable, concat("courier: UCX: ", doing, ": ", status_string(status))};
}

Result<const UcxLibrary*> load_ucx() {
  static const Result<const UcxLibrary*> loaded = load();
  return loaded;
}

}  // namespace aqua::courier
