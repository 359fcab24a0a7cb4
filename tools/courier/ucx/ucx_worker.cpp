// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/ucx/ucx_worker.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTurns = 64;  // of progress, before the stop event is looked at
constexpr std::chrono::seconds kClosing{1};

Result<ucp_context_h> open_context(const UcxLibrary& ucx) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx.config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return ucx.error("its settings", status);
  // "ib" stands for all RDMA transports, RoCE's as well. Over TCP UCX 1.13.1 aborts the process
  // when the other side ends in the middle of what it sends without a copy.
  const bool over_rdma = has_rdma_device();
  status = ucx.config_modify(config, "TLS", over_rdma ? "ib" : "tcp");
  if (status == UCS_OK && !over_rdma) status = ucx.config_modify(config, "ZCOPY_THRESH", "inf");
  ucp_context_h context = nullptr;
  if (status == UCS_OK) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = 1;
    status = ucx.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
  }
  ucx.config_release(config);
  if (status == UCS_OK) return context;
  return ucx.error(over_rdma ? "no RDMA device" : "no network device", status);
}

}  // namespace

Result<std::unique_ptr<UcxWorker>> UcxWorker::open(const UcxLibrary& ucx, const UcxKey& key) {
  std::unique_ptr<UcxWorker> opened(new UcxWorker(ucx, key));
  AQUA_ASSIGN(opened->context_, open_context(ucx));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucx.worker_create(opened->context_, &params, &opened->worker_);
  if (status == UCS_OK) status = opened->arrivals_.listen(opened->worker_);
  if (status == UCS_OK) status = ucx.worker_get_efd(opened->worker_, &opened->wakeup_);
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  if (status == UCS_OK) status = ucx.worker_get_address(opened->worker_, &address, &length);
  if (status != UCS_OK) return ucx.error("a worker", status);
  opened->address_.assign(reinterpret_cast<const char*>(address), length);
  ucx.worker_release_address(opened->worker_, address);
  if (length > kLongestUcxAddress) {
    return Error{Code::unavailable, concat("courier: UCX: an address of ", length, " bytes")};
  }
  return opened;
}

Result<void> UcxWorker::connect(const std::string& address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = [](void* self, ucp_ep_h /*endpoint*/, ucs_status_t status) {
    static_cast<UcxWorker*>(self)->failed_ = status;
  };
  params.err_handler.arg = this;
  const ucs_status_t status = ucx_.ep_create(worker_, &params, &endpoint_);
  return status == UCS_OK ? Result<void>{} : ucx_.error("the other side's address", status);
}

Result<void> UcxWorker::begin(ucs_status_ptr_t request, const char* doing) {
  doing_ = doing;
  if (UCS_PTR_IS_ERR(request)) return ucx_.error(doing, UCS_PTR_STATUS(request));
  begun_ = request;  // nullptr: it is done
  return {};
}

Result<void> UcxWorker::post(unsigned id, const UcxHead& head, std::span<const std::byte> bytes) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  // Bytes stay here until the receiver has a buffer for them.
  param.flags = bytes.empty() ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
  return begin(
      ucx_.am_send_nbx(endpoint_, id, &head, sizeof head, bytes.data(), bytes.size(), &param),
      "sending");
}

Result<void> UcxWorker::receive(const UcxArrivals::Message& message, std::span<std::byte> into) {
  const ucp_request_param_t param{};
  return begin(ucx_.am_recv_data_nbx(worker_, message.data, into.data(), into.size(), &param),
               "receiving");
}

Result<bool> UcxWorker::is_finished() {
  if (begun_ == nullptr) return true;
  const ucs_status_t status = ucx_.request_check_status(begun_);
  if (status == UCS_INPROGRESS) return false;
  ucx_.request_free(std::exchange(begun_, nullptr));
  if (status != UCS_OK) return ucx_.error(doing_, status);
  return true;
}

Result<bool> UcxWorker::progress() {
  const std::uint64_t strange = arrivals_.strange();
  const bool moved = ucx_.worker_progress(worker_) != 0;
  AQUA_TRY(arrivals_.check());
  if (failed_ != UCS_OK) return ucx_.error("the other side", failed_);
  return moved && arrivals_.strange() == strange;
}

Result<void> UcxWorker::wait(const TlsStream& beside, const Waiting& waiting,
                             const std::function<Result<bool>()>& done) {
  auto until = Clock::now() + waiting.patience;
  for (;;) {
    for (int turn = 0; turn < kTurns; ++turn) {
      AQUA_ASSIGN(const bool moved, progress());
      AQUA_ASSIGN(const bool is_done, done());
      if (is_done) return {};
      if (!moved) break;
      if (waiting.is_renewed) until = Clock::now() + waiting.patience;
    }
    if (Clock::now() >= until) {
      return Error{Code::unavailable, "courier: nothing has moved over UCX for too long"};
    }
    const ucs_status_t armed = ucx_.worker_arm(worker_);
    if (armed != UCS_OK && armed != UCS_ERR_BUSY) return ucx_.error("waiting", armed);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const short readable = waiting.or_readable ? POLLIN : 0;
    std::array<pollfd, 3> watched{
        {{beside.stop(), POLLIN, 0},
         {beside.descriptor(), static_cast<short>(POLLRDHUP | readable), 0},
         {wakeup_, POLLIN, 0}}};
    // UCX_ERR_BUSY: there is something to do already.
    (void)::poll(
        watched.data(), watched.size(),
        armed == UCS_ERR_BUSY ? 0 : static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (watched[0].revents != 0) return Error{Code::cancelled, "courier: stopping"};
    if ((watched[1].revents & readable) != 0) return {};
    if (watched[1].revents != 0) {
      return Error{Code::unavailable, "courier: the other side has closed"};
    }
  }
}

Result<int> UcxWorker::ready_to_wait() {
  for (int turn = 0; turn < kTurns; ++turn) {
    AQUA_TRY(progress());
    const ucs_status_t armed = ucx_.worker_arm(worker_);
    if (armed == UCS_OK) break;
    if (armed != UCS_ERR_BUSY) return ucx_.error("waiting", armed);
  }
  // Where it could not be armed nothing may signal it. Each message is announced over TLS, which
  // does.
  return wakeup_;
}

void UcxWorker::release_waiting() {
  if (arrivals_.waiting()) ucx_.am_data_release(worker_, arrivals_.take().data);
}

void UcxWorker::close() {
  if (worker_ != nullptr) {
    release_waiting();
    const auto until = Clock::now() + kClosing;
    void* closing = nullptr;
    if (endpoint_ != nullptr) {
      ucp_request_param_t param{};
      param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      param.flags = UCP_EP_CLOSE_FLAG_FORCE;
      closing = ucx_.ep_close_nbx(std::exchange(endpoint_, nullptr), &param);
      if (UCS_PTR_IS_ERR(closing)) closing = nullptr;
    }
    const auto is_going_on = [&](void* request) {
      return request != nullptr && ucx_.request_check_status(request) == UCS_INPROGRESS;
    };
    pollfd wakeup{wakeup_, POLLIN, 0};
    while ((is_going_on(closing) || is_going_on(begun_)) && Clock::now() < until) {
      if (ucx_.worker_progress(worker_) == 0) (void)::poll(&wakeup, 1, /*timeout=*/1);
    }
    release_waiting();
    if (closing != nullptr) ucx_.request_free(closing);
    if (begun_ != nullptr) ucx_.request_free(std::exchange(begun_, nullptr));
    ucx_.worker_destroy(std::exchange(worker_, nullptr));
  }
  if (context_ != nullptr) ucx_.cleanup(std::exchange(context_, nullptr));
}

}  // namespace aqua::courier
