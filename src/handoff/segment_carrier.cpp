// SPDX-License-Identifier: Apache-2.0
// Parcels are those of a pool without blocks, so that their record, and what is done when somebody
// dies, is the same for all carriers.
#include "aqua/handoff/segment_carrier.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/fork_guard.hpp"
#include "base/internals.hpp"
#include "base/step.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "handoff/segment_giver.hpp"
#include "handoff/segment_taker.hpp"

namespace aqua {
namespace {

// So many ranges of a parcel have room beside SegmentCarrierOptions::parcel_bytes. More of them
// take room from its bytes: fill() says so.
constexpr std::size_t kRanges = 1024;

template <typename... What>
Error cannot_be(const What&... what) {
  return Error{Code::invalid_argument, concat("segment carrier: ", what...)};
}

Result<void> check(const SegmentCarrierOptions& options) {
  if (options.name.empty() || options.name.size() > keeper_wire::kLongestName ||
      !is_plain(options.name)) {
    return cannot_be("a name of ", options.name.size(), " bytes, which has to be 1 to ",
                     keeper_wire::kLongestName, " of printable ASCII");
  }
  if (options.parcel_bytes == 0 || options.parcel_bytes > keeper_wire::kMostBytes) {
    return cannot_be("parcels of ", options.parcel_bytes, " bytes");
  }
  return check_role("segment carrier", options.role);
}

Result<std::unique_ptr<PoolMember>> join_parcels(const SegmentCarrierOptions& options,
                                                 std::shared_ptr<News> news) {
  AQUA_ASSIGN(PoolClient keeper, PoolClient::connect(options.keeper));
  step("join");
  AQUA_ASSIGN(UniqueFd wake, keeper.join_segments(options.name, options.role));
  return PoolMember::start(std::move(keeper), std::move(wake), {.news = std::move(news)});
}

}  // namespace

struct SegmentCarrier::Parts {
  Parts(Runtime& of, const Layout& layout_of)
      : runtime(detail::Internals::view(of)), layout(layout_of) {}
  ~Parts() {
    if (born != fork_generation()) {
      // A forked child has none of the threads, the mappings and the device's streams, and must not
      // speak for its parent.
      (void)giver.release();
      (void)segments.release();
      (void)parcels.release();
      return;
    }
    if (giver != nullptr) giver->await_copies();
    if (segments != nullptr) segments->stop();  // commits, by which parcels are closed
    if (parcels != nullptr) parcels->stop();
    if (segments != nullptr) segments->leave();
    if (parcels != nullptr) parcels->leave();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Runtime runtime;  // a view, which stays good when the runtime is moved
  const Layout& layout;
  const std::shared_ptr<News> news = std::make_shared<News>();
  std::unique_ptr<PoolMember> parcels;
  std::unique_ptr<SegmentMember> segments;
  std::unique_ptr<SegmentGiver> giver;
  std::optional<SegmentTaker> taker;
  const std::uint64_t born = fork_generation();
};

SegmentCarrier::SegmentCarrier(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
SegmentCarrier::SegmentCarrier(SegmentCarrier&&) noexcept = default;
SegmentCarrier& SegmentCarrier::operator=(SegmentCarrier&&) noexcept = default;
SegmentCarrier::~SegmentCarrier() = default;

Result<SegmentCarrier> SegmentCarrier::attach(Runtime& runtime, const Layout& layout,
                                              const SegmentCarrierOptions& options) {
  AQUA_TRY(check(options));
  auto parts = std::make_unique<Parts>(runtime, layout);
  const std::size_t segment_bytes = options.parcel_bytes + FillTable::bytes(kRanges);
  AQUA_ASSIGN(parts->parcels, join_parcels(options, parts->news));
  AQUA_ASSIGN(
      parts->segments, with_threads("segment carrier", [&] {
        return SegmentMember::open(
            parts->runtime,
            {.segment_bytes = segment_bytes, .ready = options.ready, .keeper = options.keeper},
            {.news = parts->news, .committed = [of = parts.get()] { of->giver->committed(); }});
      }));
  parts->giver = std::make_unique<SegmentGiver>(parts->runtime, layout, *parts->parcels,
                                                *parts->segments, segment_bytes);
  parts->taker.emplace(parts->runtime, layout, *parts->parcels, *parts->segments);
  return SegmentCarrier(std::move(parts));
}

Result<std::uint64_t> SegmentCarrier::open(const ParcelHead& head, const std::string& role) {
  return parts_->giver->open(head, role);
}

Result<ParcelState> SegmentCarrier::state(std::uint64_t number) const {
  return parts_->giver->state(number);
}

Result<Ticket> SegmentCarrier::fill(std::uint64_t number, const KvRange& range, BlockList from,
                                    Stream stream) {
  return parts_->giver->fill(number, range, from, stream);
}

Result<void> SegmentCarrier::close(std::uint64_t number, BlockList /*blocks*/, std::uint32_t tokens,
                                   std::string note, Stream stream) {
  return parts_->giver->close(number, tokens, std::move(note), stream);
}

Result<void> SegmentCarrier::recall(std::uint64_t number) {
  return parts_->giver->recall(number);
}

std::vector<Delivery> SegmentCarrier::deliveries() {
  return parts_->giver->deliveries();
}

Result<void> SegmentCarrier::admit(const std::string& from, std::uint32_t parcels) {
  return parts_->parcels->admit(from, parcels);
}

std::vector<Parcel> SegmentCarrier::accept(std::size_t most) {
  return parts_->taker->accept(most);
}

Result<Ticket> SegmentCarrier::land(std::uint64_t number, const KvRange& filled, BlockList into,
                                    const KvRange& at, Stream stream) {
  return parts_->taker->land(number, filled, into, at, stream);
}

Result<void> SegmentCarrier::check_landable(std::uint64_t number, const KvRange& filled,
                                            BlockList into, const KvRange& at) {
  return parts_->taker->check_landable(number, filled, into, at);
}

Result<void> SegmentCarrier::confirm(std::uint64_t number) {
  return parts_->taker->confirm(number);
}

Result<void> SegmentCarrier::finish(std::uint64_t number, Stream stream) {
  return parts_->taker->finish(number, stream);
}

Result<void> SegmentCarrier::decline(std::uint64_t number, Stream stream) {
  return parts_->taker->finish(number, stream, ParcelEvent::declined);
}

Result<void> SegmentCarrier::decline(std::uint64_t number) {
  return parts_->taker->finish(number, std::nullopt, ParcelEvent::declined);
}

std::vector<std::uint64_t> SegmentCarrier::superseded() {
  return parts_->taker->superseded();
}

std::vector<ParcelHead> SegmentCarrier::cut_off() {
  return parts_->parcels->cut_off();
}

bool SegmentCarrier::wait(std::chrono::milliseconds patience) {
  return parts_->news->wait(patience);
}

bool SegmentCarrier::is_connected() const {
  return status().connected;
}

SegmentCarrierStatus SegmentCarrier::status() const {
  const KvPoolStatus parcels = parts_->parcels->status();
  const SegmentsStatus segments = parts_->segments->status();
  return {.connected = parcels.connected && segments.connected,
          .error = parcels.connected && (!segments.connected || parcels.error.empty())
                       ? segments.error
                       : parcels.error,
          .giving = parts_->giver->giving(),
          .taken = parts_->taker->taken(),
          .ready = segments.ready};
}

}  // namespace aqua
