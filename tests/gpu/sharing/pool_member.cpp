// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/sharing/pool_member.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/gpu/sharing/copy.hpp"
#include "tests/gpu/sharing/weights.hpp"

namespace aqua::sharing_contact {
namespace {

using first_contact::Gpu;
using first_contact::pointer_to;
using Blocks = std::vector<std::uint32_t>;

constexpr std::chrono::seconds kMemberPatience{20};
constexpr std::size_t kPlaneBlockBytes = std::size_t{64} << 10;
constexpr std::uint32_t kBlockTokens = 16;
constexpr std::uint32_t kLayers = 4, kPlanes = 8;  // of 8 MiB each, in slabs of 2
constexpr std::size_t kBlockBytes = kPlanes * kPlaneBlockBytes;
constexpr std::size_t kSlow = 32;  // times large() bytes: some 10 ms of an H100
constexpr int kWritings = 100;     // of work(), each behind a slow one

KvPoolOptions contact_pool(std::string_view role) {
  KvPoolOptions options{.name = "contact", .role = std::string(role)};
  options.shape = {.layers = kLayers,
                   .planes_per_layer = kPlanes / kLayers,
                   .plane_block_bytes = kPlaneBlockBytes,
                   .tokens_per_block = kBlockTokens,
                   .blocks = kPoolBlocks,
                   .format = "patterns"};
  options.slab_bytes = std::size_t{2} << 20;
  options.reserve = 8;
  return options;
}

class Member {
 public:
  static Result<Member> join(const Gpu& gpu, std::string_view role) {
    AQUA_ASSIGN(Runtime runtime, open_runtime());
    AQUA_ASSIGN(KvPool pool, KvPool::attach(runtime, contact_pool(role)));
    AQUA_ASSIGN(const CUstream stream, gpu.stream());
    AQUA_ASSIGN(const CUdeviceptr from, gpu.allocate(gpu.large()));
    AQUA_ASSIGN(const CUdeviceptr to, gpu.allocate(gpu.large()));
    std::vector<kernels::Segment> again(kSlow, {pointer_to(to), pointer_to(from), gpu.large()});
    AQUA_ASSIGN(const auto slow, KernelCopy::prepare(gpu, std::move(again)));
    return Member(gpu, std::move(runtime), std::move(pool), stream, slow);
  }

  Result<std::string> obey(const std::string& packet) {
    std::istringstream words(packet);
    std::string verb, first;
    words >> verb >> first;
    unsigned number = 0, seed = 0;
    if (verb == "hand") words >> number >> seed;
    if (verb == "fill") words >> seed;
    if (verb == "hand") return hand(first, number, seed);
    if (verb == "take") return take();
    if (verb == "finish") return finish();
    if (verb == "fill") return fill(first == "all" ? kPoolBlocks : std::stoul(first), seed);
    if (verb == "check") return check();
    if (verb == "drop") return drop();
    if (verb == "work") return work(std::stoul(first));
    return Error{Code::invalid_argument, concat("what is ", packet, "?")};
  }

 private:
  struct Filled {
    std::uint32_t block = 0;
    unsigned seed = 0;
  };
  enum class Way : unsigned char { into_blocks, out_of_blocks };

  Member(const Gpu& gpu, Runtime runtime, KvPool pool, CUstream stream, KernelCopy slow)
      : gpu_(gpu),
        runtime_(std::move(runtime)),
        pool_(std::move(pool)),
        stream_(stream),
        slow_(slow) {}

  Stream stream() const { return Stream{reinterpret_cast<std::uintptr_t>(stream_)}; }

  // Between blocks and memory of this process's in which they lie one after another.
  std::vector<kernels::Segment> pieces(const Blocks& blocks, CUdeviceptr line, Way way) const {
    const LayoutSpec& spec = pool_.layout().spec();
    std::vector<kernels::Segment> pieces;
    for (const std::uint32_t block : blocks) {
      for (std::byte* const plane : spec.planes) {
        std::byte* const there = plane + block * spec.block_stride;
        std::byte* const here = pointer_to(line + pieces.size() * kPlaneBlockBytes);
        const bool into = way == Way::into_blocks;
        pieces.push_back({into ? there : here, into ? here : there, kPlaneBlockBytes});
      }
    }
    return pieces;
  }

  Result<Blocks> allocate(std::size_t count) {
    for (;;) {
      auto blocks = pool_.allocate(count);
      if (blocks.ok() || !pool_.wait(kMemberPatience)) return blocks;
    }
  }

  // The kernel that fills them, to be queued. Returns when its bytes are on the GPU.
  Result<KernelCopy> prepare_filling(const Blocks& blocks, unsigned seed) {
    AQUA_ASSIGN(const CUdeviceptr line, gpu_.allocate(blocks.size() * kBlockBytes));
    AQUA_TRY(gpu_.write(line, first_contact::pattern(blocks.size() * kBlockBytes, seed)));
    return KernelCopy::prepare(gpu_, pieces(blocks, line, Way::into_blocks));
  }

  Result<bool> has_bytes(const Blocks& blocks, unsigned seed) {
    const std::size_t bytes = blocks.size() * kBlockBytes;
    AQUA_ASSIGN(const CUdeviceptr line, gpu_.allocate(bytes));
    AQUA_ASSIGN(const auto copy,
                KernelCopy::prepare(gpu_, pieces(blocks, line, Way::out_of_blocks)));
    AQUA_TRY(copy.queue(gpu_, stream_));
    AQUA_TRY(gpu_.wait(stream_));
    AQUA_ASSIGN(const auto seen, gpu_.read(line, bytes));
    return seen == first_contact::pattern(bytes, seed);
  }

  Result<std::string> hand(const std::string& id, unsigned count, unsigned seed) {
    AQUA_ASSIGN(Blocks blocks, allocate(count));
    AQUA_ASSIGN(const KernelCopy filling, prepare_filling(blocks, seed));
    CUevent filled = nullptr;
    AQUA_TRY(gpu_.done(gpu_.cuda().EventCreate(&filled, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
    AQUA_TRY(slow_.queue(gpu_, stream_));
    AQUA_TRY(filling.queue(gpu_, stream_));
    AQUA_TRY(gpu_.done(gpu_.cuda().EventRecord(filled, stream_), "cuEventRecord"));
    AQUA_TRY(pool_.hand_over({.id = id,
                              .turn = 1,
                              .blocks = std::move(blocks),
                              .tokens = count * kBlockTokens - 1,
                              .note = std::to_string(seed)},
                             "decode", stream()));
    if (gpu_.cuda().EventQuery(filled) == CUDA_ERROR_NOT_READY) return std::string("ok");
    return Error{Code::internal, "the blocks were filled before they were handed over"};
  }

  Result<std::string> take() {
    std::vector<Parcel> parcels;
    while ((parcels = pool_.accept(1)).empty())
      if (!pool_.wait(kMemberPatience)) return Error{Code::deadline_exceeded, "no parcel came"};
    const Parcel& parcel = parcels.front();
    taken_.push_back(parcel.number);
    AQUA_ASSIGN(const bool right,
                has_bytes(parcel.blocks, static_cast<unsigned>(std::stoul(parcel.note))));
    if (!right) return Error{Code::data_loss, concat("wrong bytes in ", parcel.id)};
    return concat(parcel.id, parcel.tail_in_doubt ? "?" : "");
  }

  Result<std::string> finish() {
    for (const std::uint64_t number : std::exchange(taken_, {}))
      AQUA_TRY(pool_.finish(number, stream()));
    return std::string("ok");
  }

  // Each block by itself, so that all that there are can be had.
  Result<std::string> fill(std::size_t most, unsigned seed) {
    while (filled_.size() < most) {
      auto block = pool_.allocate(1);
      if (!block.ok()) {
        if (pool_.wait(std::chrono::seconds(1))) continue;
        break;
      }
      filled_.push_back({block->front(), seed + static_cast<unsigned>(filled_.size())});
      AQUA_ASSIGN(const auto filling, prepare_filling(*block, filled_.back().seed));
      AQUA_TRY(filling.queue(gpu_, stream_));
    }
    AQUA_TRY(gpu_.wait(stream_));
    return std::to_string(filled_.size());
  }

  Result<std::string> check() {
    for (const Filled& each : filled_) {
      AQUA_ASSIGN(const bool right, has_bytes({each.block}, each.seed));
      if (!right) return Error{Code::data_loss, concat("wrong bytes in block ", each.block)};
    }
    return std::string("ok");
  }

  Result<std::string> drop() {
    Blocks blocks;
    for (const Filled& each : std::exchange(filled_, {})) blocks.push_back(each.block);
    AQUA_TRY(pool_.release(blocks, stream()));
    return std::string("ok");
  }

  Result<std::string> work(std::size_t count) {
    AQUA_ASSIGN(const Blocks blocks, allocate(count));
    AQUA_ASSIGN(const CUdeviceptr line, gpu_.allocate(count * kBlockBytes));
    AQUA_TRY(gpu_.write(line, std::vector<std::byte>(count * kBlockBytes, std::byte{0x5a})));
    AQUA_ASSIGN(const auto copy, KernelCopy::prepare(gpu_, pieces(blocks, line, Way::into_blocks)));
    if (::fork() == 0) {  // touches nothing, and ends with who has the other end of the socket
      while (!peer_has_closed(test::kPeerSocket)) {
        pollfd closed{.fd = test::kPeerSocket, .events = POLLIN, .revents = 0};
        (void)::poll(&closed, 1, -1);
      }
      std::_Exit(0);
    }
    for (int i = 0; i < kWritings; ++i) {
      AQUA_TRY(slow_.queue(gpu_, stream_));
      AQUA_TRY(copy.queue(gpu_, stream_));
    }
    return std::string("ok");
  }

  const Gpu& gpu_;
  Runtime runtime_;
  KvPool pool_;
  CUstream stream_;
  KernelCopy slow_;  // the same bytes to the same place, again and again
  std::vector<std::uint64_t> taken_{};
  std::vector<Filled> filled_{};
};

}  // namespace

Result<void> be_member(const Gpu& gpu, std::string_view role,
                       const std::function<bool(std::string_view)>& tell,
                       const std::function<std::string()>& hear) {
  AQUA_ASSIGN(Member member, Member::join(gpu, role));
  for (bool heard = tell("ok"); heard;) {
    const std::string packet = hear();
    if (packet.empty()) break;
    const auto said = member.obey(packet);
    heard = tell(said.ok() ? *said : said.error().message);
  }
  return {};
}

}  // namespace aqua::sharing_contact
