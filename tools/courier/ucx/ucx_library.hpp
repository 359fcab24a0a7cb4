// SPDX-License-Identifier: Apache-2.0
// UcxLibrary is UCX as it is loaded when it is wanted: couriers that do without run nothing of it,
// and it finds its settings in the environment, which it reads when it is loaded.
//
// Threads: load_ucx() may be called concurrently; the first call before a program has other
// threads.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "aqua/result.hpp"

namespace aqua::courier {

struct UcxLibrary {
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_init_version) init_version = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_set_am_recv_handler) worker_set_am_recv_handler = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&::ucp_am_send_nbx) am_send_nbx = nullptr;
  decltype(&::ucp_am_recv_data_nbx) am_recv_data_nbx = nullptr;
  decltype(&::ucp_am_data_release) am_data_release = nullptr;
  decltype(&::ucp_request_check_status) request_check_status = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;

  // unavailable, with UCX's words.
  [[nodiscard]] Error error(const char* doing, ucs_status_t status) const;
};

// The library stays loaded. unavailable: why it cannot be.
[[nodiscard]] Result<const UcxLibrary*> load_ucx();

}  // namespace aqua::courier
