// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "transfer/plan.hpp"
#include "transfer/program.hpp"
#include "transfer/transfer_state.hpp"
#include "transfer/writable.hpp"

namespace aqua::transfer {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("prepare: ", what)};
}

// The blocks of a request that can be served.
Result<BlockRuns> check(const TransferRequest& request) {
  if (request.layout == nullptr) return bad("layout is null");
  AQUA_ASSIGN(BlockRuns runs, BlockRuns::make(*request.layout, request.blocks));
  const std::size_t packed = request.layout->packed_bytes(runs.blocks());
  if (packed != 0 && request.tensor == nullptr) return bad("tensor is null");
  if (request.offset > request.tensor_bytes || packed > request.tensor_bytes - request.offset) {
    return bad(concat(packed, " bytes at offset ", request.offset, " do not fit a tensor of ",
                      request.tensor_bytes));
  }
  return runs;
}

unsigned group_count(const MoverOptions& options, const Layout& layout, std::size_t bytes) {
  const std::size_t by_size = bytes / std::max<std::size_t>(options.min_group_bytes, 1);
  const unsigned most = std::clamp(options.max_layer_groups, 1U, layout.layers());
  return static_cast<unsigned>(std::clamp<std::size_t>(by_size, 1, most));
}

// A stream's queue holds about a thousand commands; posting more blocks the engine's thread until
// earlier work of the GPU is done.
constexpr std::size_t kMostCommands = 512;

}  // namespace

Mover::Mover(device::Device& device, const MoverOptions& options)
    : device_(device), options_(options), staging_(device, options.staging) {
  const MutexLock lock(mu_);
  curves_ = options.curves != nullptr
                ? options.curves
                : std::make_shared<const CurveSet>(builtin_curves(device.info().kind));
}

Mover::~Mover() {
  std::vector<std::shared_ptr<TransferState>> left;
  {
    const MutexLock lock(mu_);
    left.swap(in_flight_);
  }
  for (const auto& state : left) {
    while (!state->advance()) {
      (void)state->wait();  // an error may be the question's own
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

void Mover::use(std::shared_ptr<const CurveSet> curves) {
  const MutexLock lock(mu_);
  curves_ = std::move(curves);
}

Job Mover::job_of(const TransferRequest& request, const BlockRuns& runs) const {
  Job job{request.link,
          request.direction,
          runs.pieces(request.layout->spec().planes.size()),
          {Way::each}};
  for (const Way way : {Way::batched, Way::kernel}) {
    if (device_.supports(method_of(way), request.stream)) job.possible.add(way);
  }
  const bool other = job.possible.has(Way::batched) || job.possible.has(Way::kernel);
  if (other && job.pieces.count() > kMostCommands) job.possible.remove(Way::each);
  if (options_.staging.pairs > 0) job.possible.add(Way::staged);
  return job;
}

Choice Mover::choice_of(const Job& job, std::optional<Way> wanted) const {
  std::shared_ptr<const CurveSet> curves;
  {
    const MutexLock lock(mu_);
    curves = curves_;
  }
  Choice choice = choose(*curves, job);
  if (wanted) {
    choice.way = *wanted;
    choice.reason = Reason::asked_for;
  }
  return choice;
}

Result<Choice> Mover::choose_for(const TransferRequest& request) const {
  AQUA_ASSIGN(const BlockRuns runs, BlockRuns::make(*request.layout, request.blocks));
  return choice_of(job_of(request, runs), request.way ? request.way : options_.way);
}

// Held if the choice is staging. When none is free, what was only chosen is chosen anew.
Result<StagingLease> Mover::staging_for(Choice& choice, Job& job) {
  if (choice.way != Way::staged) return StagingLease();
  auto lease = staging_.acquire();
  if (lease.ok() || choice.reason == Reason::asked_for ||
      lease.error().code != Code::resource_exhausted) {
    return lease;
  }
  job.possible.remove(Way::staged);
  choice = choice_of(job, std::nullopt);
  return StagingLease();
}

Result<Transfer> Mover::prepare(const TransferRequest& request) {
  const TraceRange range("aqua prepare");
  sweep();
  AQUA_ASSIGN(const BlockRuns runs, check(request));
  AQUA_TRY(check_writable(device_, request));
  const Layout& layout = *request.layout;
  TransferState::Parts parts;
  parts.keep = request.keep;
  parts.layers = layout.layers();
  parts.bytes = layout.packed_bytes(runs.blocks());

  Job job = job_of(request, runs);
  parts.choice = choice_of(job, request.way ? request.way : options_.way);
  parts.max_sms = options_.max_sms;
  AQUA_ASSIGN(parts.staging, staging_for(parts.choice, job));
  const ProgramInput input{layout,
                           runs,
                           request.tensor + request.offset,
                           request.direction,
                           group_count(options_, layout, parts.bytes),
                           std::max<std::size_t>(options_.max_copy_bytes, 1),
                           method_of(parts.choice.way),
                           request.link == Link::local,
                           *lists_};
  AQUA_ASSIGN(parts.program, parts.staging.held() ? build_staged(device_, input, *parts.staging)
                                                  : build_direct(device_, input));
  AQUA_ASSIGN(parts.end, device_.create_event());
  AQUA_ASSIGN(parts.quiet[0], device_.create_event());
  if (parts.staging.held()) {
    AQUA_ASSIGN(parts.quiet[1], device_.create_event());
  }
  return Transfer(*this, std::make_shared<TransferState>(device_, std::move(parts)));
}

void Mover::adopt(std::shared_ptr<TransferState> state) {
  const MutexLock lock(mu_);
  in_flight_.push_back(std::move(state));
}

void Mover::sweep() {
  std::vector<std::shared_ptr<TransferState>> some;
  {
    const MutexLock lock(mu_);
    some = in_flight_;
  }
  bool any = false;
  for (const auto& state : some) any |= state->advance();  // may drop a `keep`: no lock held
  if (!any) return;
  const MutexLock lock(mu_);
  std::erase_if(in_flight_, [](const auto& state) { return state->is_over(); });
}

std::size_t Mover::in_flight() const {
  const MutexLock lock(mu_);
  return static_cast<std::size_t>(
      std::ranges::count_if(in_flight_, [](const auto& state) { return !state->is_over(); }));
}

Transfer::Transfer(Mover& mover, std::shared_ptr<TransferState> state) noexcept
    : mover_(&mover), state_(std::move(state)) {}
Transfer::Transfer(Transfer&&) noexcept = default;
Transfer& Transfer::operator=(Transfer&& other) noexcept {
  std::swap(mover_, other.mover_);
  std::swap(state_, other.state_);
  std::swap(posted_, other.posted_);
  return *this;
}
Transfer::~Transfer() {
  if (state_) state_->abandon();
}

Result<void> Transfer::post(Stream stream) {
  AQUA_TRY(state_->check_stream(stream));
  if (!posted_) mover_->adopt(state_);  // first, so that nothing can be queued and unwatched
  posted_ = true;
  return state_->post(stream);
}

Ticket Transfer::ticket() const {
  return detail::Internals::make<Ticket, TicketState>(state_);
}
const Choice& Transfer::choice() const noexcept {
  return state_->choice();
}

}  // namespace aqua::transfer
