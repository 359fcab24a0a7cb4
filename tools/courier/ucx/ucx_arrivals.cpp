// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/ucx/ucx_arrivals.hpp"

#include <openssl/crypto.h>

#include <cstring>
#include <utility>

namespace aqua::courier {

ucs_status_t UcxArrivals::listen(ucp_worker_h worker) {
  const auto set = [&](unsigned id, ucp_am_recv_callback_t handler) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.flags = UCP_AM_FLAG_WHOLE_MSG;
    param.cb = handler;
    param.arg = this;
    return ucx_.worker_set_am_recv_handler(worker, &param);
  };
  const ucs_status_t status = set(kUcxBytes, &UcxArrivals::bytes_came);
  return status == UCS_OK ? set(kUcxHere, &UcxArrivals::is_here) : status;
}

UcxArrivals::Message UcxArrivals::take() {
  return *std::exchange(waiting_, std::nullopt);
}

Result<void> UcxArrivals::check() const {
  if (!out_of_turn_) return {};
  return Error{Code::invalid_argument, "courier: UCX: a message that was not announced"};
}

std::optional<UcxHead> UcxArrivals::head_of(const void* head, std::size_t length) {
  UcxHead read;
  if (length == sizeof read) {
    std::memcpy(&read, head, sizeof read);
    if (::CRYPTO_memcmp(read.key.data(), key_.data(), key_.size()) == 0) return read;
  }
  ++strange_;
  return std::nullopt;
}

// Where it does not return UCS_INPROGRESS, UCX drops what has come.
ucs_status_t UcxArrivals::bytes_came(void* self, const void* head, std::size_t head_length,
                                     void* data, std::size_t length,
                                     const ucp_am_recv_param_t* how) {
  auto& arrivals = *static_cast<UcxArrivals*>(self);
  const auto read = arrivals.head_of(head, head_length);
  if (!read) return UCS_OK;
  if (arrivals.waiting_ || length == 0 || (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    arrivals.out_of_turn_ = true;
    return UCS_OK;
  }
  arrivals.waiting_ = Message{read->number, data, length};
  return UCS_INPROGRESS;
}

ucs_status_t UcxArrivals::is_here(void* self, const void* head, std::size_t head_length,
                                  void* /*data*/, std::size_t /*length*/,
                                  const ucp_am_recv_param_t* /*how*/) {
  auto& arrivals = *static_cast<UcxArrivals*>(self);
  if (arrivals.head_of(head, head_length)) arrivals.met_ = true;
  return UCS_OK;
}

}  // namespace aqua::courier
