// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "layout/block_pieces.hpp"
#include "layout/range_copy.hpp"
#include "transfer/program.hpp"
#include "transfer/transfer_state.hpp"
#include "transfer/writable.hpp"

namespace aqua::transfer {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("prepare: ", what)};
}

// What a request moves.
struct Moved {
  layout::CheckedBlocks blocks;
  unsigned layers = 0;
  std::optional<device::BlockCopy> named{};  // ranges and pages, which have no list
  std::size_t bytes = 0;
  Pieces pieces{};

  // Bytes of a piece, where pieces cannot be split; else 0.
  [[nodiscard]] std::size_t whole() const { return named ? named->piece_bytes : 0; }
  [[nodiscard]] bool may_be_staged() const { return !named || layout::has_line(*named); }
};

layout::PackedSide packed_side(Direction direction) {
  return direction == Direction::offload ? layout::PackedSide::dst : layout::PackedSide::src;
}

// Where the packed form is to begin. Not looked at yet: a number.
std::byte* packed_at(const TransferRequest& request) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(request.tensor) +
                                      request.offset);
}

Result<device::BlockCopy> name_pages(const TransferRequest& request,
                                     const layout::CheckedBlocks& blocks) {
  const PagedTensor& paged = *request.paged;
  if (paged.layout == nullptr) return bad("the tensor's layout is null");
  AQUA_ASSIGN(const auto pages, layout::CheckedBlocks::make(*paged.layout, paged.blocks));
  const layout::PagedEnd cache{*request.layout, blocks, request.range.value_or(KvRange{})};
  const layout::PagedEnd tensor{*paged.layout, pages, paged.range};
  return request.direction == Direction::offload ? pair(tensor, cache) : pair(cache, tensor);
}

Result<Moved> moved_by(const TransferRequest& request) {
  if (request.layout == nullptr) return bad("layout is null");
  const Layout& layout = *request.layout;
  AQUA_ASSIGN(const auto blocks, layout::CheckedBlocks::make(layout, request.blocks));
  Moved moved{blocks, layout.layers()};
  if (!request.paged && !request.range) {
    moved.bytes = layout.packed_bytes(moved.blocks.size());
    moved.pieces = moved.blocks.plane().times(layout.spec().planes.size());
    return moved;
  }
  AQUA_ASSIGN(const KvRange range,
              layout::resolve(layout, blocks.size(), request.range.value_or(KvRange{})));
  moved.layers = range.layers.count;
  if (request.paged) {
    AQUA_ASSIGN(moved.named, name_pages(request, moved.blocks));
  } else {
    AQUA_ASSIGN(moved.named, pack_range({layout, moved.blocks, range},
                                        packed_side(request.direction), packed_at(request)));
  }
  moved.bytes = moved.named->pieces() * moved.named->piece_bytes;
  moved.pieces.add(moved.named->pieces(), moved.named->piece_bytes);
  return moved;
}

Result<void> check_tensor(const TransferRequest& request, std::size_t packed) {
  if (packed != 0 && request.tensor == nullptr) return bad("tensor is null");
  if (!request.paged) {
    if (request.offset <= request.tensor_bytes && packed <= request.tensor_bytes - request.offset)
      return {};
    return bad(concat(packed, " bytes at offset ", request.offset, " do not fit a tensor of ",
                      request.tensor_bytes));
  }
  const LayoutSpec& spec = request.paged->layout->spec();
  const std::size_t extent = layout::plane_extent(spec);
  const auto base = reinterpret_cast<std::uintptr_t>(request.tensor);
  for (std::size_t p = 0; p < spec.planes.size(); ++p) {
    const auto plane = reinterpret_cast<std::uintptr_t>(spec.planes[p]);
    if (plane >= base && extent <= request.tensor_bytes &&
        plane - base <= request.tensor_bytes - extent) {
      continue;
    }
    return bad(concat("plane ", p, " of the pages does not lie in the tensor"));
  }
  return {};
}

unsigned group_count(const MoverOptions& options, unsigned layers, const Choice& choice) {
  const unsigned most = std::clamp(options.max_layer_groups, 1U, layers);
  const double least = std::chrono::duration<double>(options.min_group).count();
  if (least <= 0 || choice.seconds() >= least * most) return most;
  return std::max(1U, static_cast<unsigned>(choice.seconds() / least));
}

// Naming the blocks is best unless merging leaves few pieces: a list has 32 bytes for each of them
// in each plane, the blocks 4 bytes each for all planes together.
bool suits_blocks(const Layout& layout, const layout::CheckedBlocks& blocks,
                  std::size_t max_piece_bytes) {
  const layout::BlockPieces pieces(layout.spec().axes);
  return pieces.bytes() <= max_piece_bytes &&
         8 * blocks.plane().count() > blocks.size() * pieces.count();
}

// A stream's queue holds about a thousand commands; posting more blocks the engine's thread until
// earlier work of the GPU is done.
constexpr std::size_t kMostCommands = 512;

}  // namespace

Mover::Mover(device::Device& device, const MoverOptions& options)
    : device_(device),
      options_(options),
      staging_(device, options.staging),
      events_(std::make_shared<EventPool>(device)) {
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

Job Mover::job_of(const TransferRequest& request, const Pieces& pieces, std::size_t whole,
                  bool may_be_staged) const {
  Job job{request.link, request.direction, pieces, {Way::each}};
  for (const Way way : {Way::batched, Way::kernel}) {
    if (device_.supports(method_of(way), request.stream)) job.possible.add(way);
  }
  const bool other = job.possible.has(Way::batched) || job.possible.has(Way::kernel);
  if (other && job.pieces.count() > kMostCommands) job.possible.remove(Way::each);
  const bool fits = whole <= options_.staging.buffer_bytes;
  if (options_.staging.pairs > 0 && may_be_staged && fits) job.possible.add(Way::staged);
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
  AQUA_ASSIGN(const Moved moved, moved_by(request));
  return choice_of(job_of(request, moved.pieces, moved.whole(), moved.may_be_staged()),
                   request.way ? request.way : options_.way);
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
  AQUA_ASSIGN(Moved moved, moved_by(request));
  AQUA_TRY(check_tensor(request, moved.bytes));
  AQUA_TRY(check_writable(device_, request, moved.bytes));
  const Layout& layout = *request.layout;
  TransferState::Parts parts;
  parts.keep = request.keep;
  parts.layers = moved.layers;
  parts.bytes = moved.bytes;

  Job job = job_of(request, moved.pieces, moved.whole(), moved.may_be_staged());
  parts.choice = choice_of(job, request.way ? request.way : options_.way);
  if (!moved.may_be_staged() && parts.choice.way == Way::staged)
    return bad("pages, and axes that all have gaps, are never staged");
  parts.max_sms = options_.max_sms;
  AQUA_ASSIGN(parts.staging, staging_for(parts.choice, job));
  const device::CopyMethod method = method_of(parts.choice.way);
  const std::size_t most = std::max<std::size_t>(options_.max_copy_bytes, 1);
  const std::size_t most_named =
      parts.staging.held() ? std::min(most, parts.staging->buffer_bytes) : most;
  if (moved.named && moved.named->piece_bytes > most_named) {
    return bad(
        concat("a piece of ", moved.named->piece_bytes, " bytes is larger than ", most_named));
  }
  if (!moved.named && device_.takes_blocks(method, request.stream) &&
      suits_blocks(layout, moved.blocks, most_named)) {
    AQUA_ASSIGN(auto named, pack_blocks(layout, moved.blocks, packed_side(request.direction),
                                        packed_at(request)));
    if (layout::has_line(named)) moved.named = std::move(named);
  }
  const ProgramInput input{
      layout,
      moved.blocks,
      moved.named ? std::make_shared<const device::BlockCopy>(*std::move(moved.named)) : nullptr,
      moved.layers,
      moved.bytes,
      request.tensor + request.offset,
      request.direction,
      group_count(options_, moved.layers, parts.choice),
      most,
      method,
      path_of(request.link, request.direction),
      *lists_,
      *events_};
  AQUA_ASSIGN(parts.program,
              parts.staging.held() ? build_staged(input, *parts.staging) : build_direct(input));
  if (parts.program.blocks != nullptr) {
    AQUA_ASSIGN(parts.program.table, device_.prepare_blocks(parts.program.blocks));
  }
  AQUA_ASSIGN(parts.end, events_->take());
  AQUA_ASSIGN(parts.quiet[0], events_->take());
  if (parts.staging.held()) {
    AQUA_ASSIGN(parts.quiet[1], events_->take());
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

bool Transfer::running() const {
  return state_->is_running();
}

void Transfer::settle() noexcept {
  for (;;) {
    try {
      (void)state_->wait();
      return;
    } catch (const std::bad_alloc&) {  // of the question, or of telling the error
      if (!state_->is_running()) return;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

Ticket Transfer::ticket() const {
  return detail::Internals::make<Ticket, TicketState>(state_);
}
const Choice& Transfer::choice() const noexcept {
  return state_->choice();
}

}  // namespace aqua::transfer
