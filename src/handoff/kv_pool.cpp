// SPDX-License-Identifier: Apache-2.0
#include "aqua/handoff/kv_pool.hpp"

#include <memory>
#include <utility>

#include "aqua/runtime.hpp"
#include "aqua/shared_memory.hpp"
#include "aqua/stream_mark.hpp"
#include "base/concat.hpp"
#include "base/fork_guard.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "handoff/pool_member.hpp"
#include "handoff/pool_memory.hpp"
#include "parcel/pool_shape.hpp"

namespace aqua {
namespace {

Result<Layout> layout_of(const KvPoolShape& shape, std::byte* base) {
  LayoutSpec spec{.layers = shape.layers,
                  .planes_per_layer = shape.planes_per_layer,
                  .planes = {},
                  .block_count = shape.blocks,
                  .block_stride = shape.plane_block_bytes,
                  .axes = BlockAxes::whole(shape.plane_block_bytes)};
  for (std::size_t i = 0; i < std::size_t{shape.layers} * shape.planes_per_layer; ++i) {
    spec.planes.push_back(base + i * plane_bytes(shape));
  }
  return Layout::make(std::move(spec));
}

}  // namespace

struct KvPool::Parts {
  Parts(Runtime of, SharedMemory mapped, Layout cache)
      : runtime(std::move(of)),
        memory(std::make_unique<SharedMemory>(std::move(mapped))),
        layout(std::move(cache)) {}
  ~Parts() {
    if (member == nullptr) return;
    if (born != fork_generation()) {
      // A forked child has none of the threads, nor the mapping, and must not speak for its parent.
      (void)member.release();
      (void)memory.release();
      return;
    }
    member->stop();
    memory.reset();
    member->leave();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Runtime runtime;  // a view, which stays good when the runtime is moved
  std::unique_ptr<SharedMemory> memory;
  const Layout layout;
  std::unique_ptr<PoolMember> member;
  const std::uint64_t born = fork_generation();
};

KvPool::KvPool(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
KvPool::KvPool(KvPool&&) noexcept = default;
KvPool& KvPool::operator=(KvPool&&) noexcept = default;
KvPool::~KvPool() = default;

Result<KvPool> KvPool::attach(Runtime& runtime, const KvPoolOptions& options) {
  AQUA_TRY(check(options));
  AQUA_ASSIGN(JoinedPool joined, join_pool(runtime, options));
  AQUA_ASSIGN(Layout layout, layout_of(options.shape, joined.memory.address()));
  auto parts = std::make_unique<Parts>(detail::Internals::view(runtime), std::move(joined.memory),
                                       std::move(layout));
  AQUA_ASSIGN(parts->member,
              PoolMember::start(std::move(joined.keeper), std::move(joined.wake),
                                {.blocks = options.shape.blocks, .reserve = options.reserve}));
  return KvPool(std::move(parts));
}

const Layout& KvPool::layout() const noexcept {
  return parts_->layout;
}

Result<std::vector<std::uint32_t>> KvPool::allocate(std::size_t count) {
  return parts_->member->allocate(count);
}

Result<void> KvPool::release(BlockList blocks, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->release(blocks, std::move(mark));
}

Result<void> KvPool::share(BlockList blocks) {
  return parts_->member->share(blocks);
}

Result<void> KvPool::hand_over(Parcel parcel, const std::string& role, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->hand_over(std::move(parcel), role, std::move(mark));
}

std::vector<Undelivered> KvPool::undelivered() {
  return parts_->member->undelivered();
}

std::vector<Parcel> KvPool::accept(std::size_t most) {
  return parts_->member->accept(most);
}

Result<void> KvPool::finish(std::uint64_t number, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->finish(number, std::move(mark));
}

Result<void> KvPool::decline(std::uint64_t number, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->finish(number, std::move(mark), ParcelEvent::declined);
}

Result<void> KvPool::decline(std::uint64_t number) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime));
  return parts_->member->finish(number, std::move(mark), ParcelEvent::declined);
}

Result<std::uint64_t> KvPool::open(const ParcelHead& head, const std::string& role) {
  return parts_->member->open(head, role);
}

Result<ParcelState> KvPool::state(std::uint64_t number) const {
  return parts_->member->state(number);
}

Result<Ticket> KvPool::fill(std::uint64_t number, const KvRange& /*range*/, BlockList /*from*/,
                            Stream /*stream*/) {
  AQUA_TRY(parts_->member->check_open("fill", number));
  return Ticket::join({});
}

Result<void> KvPool::close(std::uint64_t number, BlockList blocks, std::uint32_t tokens,
                           std::string note, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->close(
      number, {.blocks = {blocks.begin(), blocks.end()}, .tokens = tokens, .note = std::move(note)},
      std::move(mark));
}

Result<void> KvPool::recall(std::uint64_t number) {
  return parts_->member->recall(number);
}

std::vector<Delivery> KvPool::deliveries() {
  return parts_->member->deliveries();
}

Result<void> KvPool::admit(const std::string& from, std::uint32_t parcels) {
  return check_room(from, parcels);
}

Result<Ticket> KvPool::land(std::uint64_t number, const KvRange& filled, BlockList into,
                            const KvRange& at, Stream /*stream*/) {
  AQUA_TRY(check_landable(number, filled, into, at));
  return Ticket::join({});
}

Result<void> KvPool::check_landable(std::uint64_t number, const KvRange& /*filled*/, BlockList into,
                                    const KvRange& /*at*/) {
  AQUA_TRY(parts_->member->check_taken("land", number));
  if (into.empty()) return {};
  return Error{Code::invalid_argument,
               concat("land: ", into.size(), " blocks, and within a pool it lies in its own")};
}

Result<void> KvPool::confirm(std::uint64_t number) {
  return parts_->member->confirm(number);
}

std::vector<std::uint64_t> KvPool::superseded() {
  return parts_->member->superseded();
}
std::vector<ParcelHead> KvPool::cut_off() {
  return parts_->member->cut_off();
}

bool KvPool::is_connected() const {
  return parts_->member->status().connected;
}

bool KvPool::wait(std::chrono::milliseconds patience) {
  return parts_->member->wait(patience);
}

KvPoolStatus KvPool::status() const {
  return parts_->member->status();
}

}  // namespace aqua
