// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/streamer.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/act/outbox.hpp"
#include "systems/kv_stream/act/stream_in.hpp"
#include "systems/kv_stream/act/stream_out.hpp"
#include "systems/kv_stream/decide/stream/intake.hpp"
#include "systems/kv_stream/decide/stream/note.hpp"
#include "systems/kv_stream/decide/stream/peer.hpp"

namespace aqua::kv_stream {
namespace {

constexpr std::size_t kAtATime = 64;  // parcels that are accepted
// How many sequences of one group may be admitted and not finished: a carrier has room for so many
// of each of its ranks.
constexpr std::int64_t kMostSequences = 65536;

Error refusal(std::string what) {
  return {Code::invalid_argument, std::move(what)};
}

// Whether the layout is that of the rank.
Result<void> check_layout(const Layout& layout, const KvShape& shape, const RankShard& shard) {
  const LayoutSpec& spec = layout.spec();
  const auto same = [](const char* what, std::size_t here, std::size_t wanted) -> Result<void> {
    if (here == wanted) return {};
    return refusal(concat("the layout has ", here, " ", what, ", the rank's shard ", wanted));
  };
  AQUA_TRY(same("layers", spec.layers, shard.layers.count));
  AQUA_TRY(same("planes a layer", spec.planes_per_layer, shape.planes_per_layer));
  AQUA_TRY(same("heads", spec.axes.heads.count, shard.heads.size()));
  AQUA_TRY(same("bytes a head", spec.axes.head_bytes(), shape.head_bytes));
  return same("tokens a block", spec.axes.tokens.count, shape.tokens_per_block);
}

// A part of a layer: what was filled of a parcel, and where it belongs in the layout.
struct Landing {
  std::uint64_t parcel = 0;
  KvRange filled{};
  KvRange at{};
};

}  // namespace

struct Streamer::Parts {
  Parts(Carrier& over, const Layout& of, StreamEnd end, std::vector<StreamPeer> others)
      : carrier(over),
        outbox(std::make_shared<Outbox>(over)),
        layout(of),
        own(std::move(end)),
        groups(std::move(others)),
        intake(sources_of(groups)),
        admitted(groups.size()) {}

  [[nodiscard]] Result<const StreamPeer*> find(const std::string& name) const {
    const auto found = std::ranges::find(groups, name, &StreamPeer::name);
    if (found != groups.end()) return &*found;
    return Error{Code::not_found, concat("no group '", name, "' is known here")};
  }
  // What a layer of a sequence that has arrived comes from.
  [[nodiscard]] std::vector<Landing> landings(const Intake::Sequence& of, unsigned layer) const;
  // Reads what a parcel says of itself.
  [[nodiscard]] Result<StreamPart> part_of(const Parcel& parcel) const;
  void take(const Parcel& parcel, const std::function<bool(std::uint64_t)>& wanted);
  // Nothing of these is read any more, and there is room for others in their place: the sequence
  // that they were of may come again.
  void give_up(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t parcel : numbers) {
      (void)carrier.decline(parcel);
      (void)carrier.admit(parcels.extract(parcel).mapped().giver, 1);
    }
  }

  struct Here {
    // Whether its bytes are on their way into blocks or there, and no copy has failed yet.
    [[nodiscard]] bool lands() const {
      return landing &&
             std::ranges::all_of(*landing, [](const Ticket& layer) { return layer.done().ok(); });
    }
    std::string giver{};  // its role
    // What brings its bytes into blocks. None: nothing does.
    std::shared_ptr<const std::vector<Ticket>> landing{};
  };

  Carrier& carrier;
  std::shared_ptr<Outbox> outbox;
  const Layout& layout;
  const StreamEnd own;
  const std::vector<StreamPeer> groups;
  Intake intake;
  std::map<std::uint64_t, Here> parcels{};  // that are here
  // Sequences of each group, less those that are finished. Of these some were admitted by the
  // streamer before this one: it may be below 0.
  std::vector<std::int64_t> admitted;
  StreamerStatus status{};
};

std::vector<Landing> Streamer::Parts::landings(const Intake::Sequence& of, unsigned layer) const {
  std::vector<Landing> parts;
  for (const Route& route : groups[of.group].in) {
    for (const ShardPiece& piece : route.pieces) {
      const IndexRange &here = piece.to.layers, &there = piece.from.layers;
      if (layer < here.first || layer - here.first >= here.count) continue;
      const IndexRange tokens{0, of.tokens};
      parts.push_back({.parcel = of.parcels.at(route.peer),
                       .filled = {{there.first + layer - here.first, 1}, tokens, piece.from.heads},
                       .at = {{layer, 1}, tokens, piece.to.heads}});
    }
  }
  return parts;
}

Result<StreamPart> Streamer::Parts::part_of(const Parcel& parcel) const {
  AQUA_ASSIGN(StreamNote note, parse_note(parcel.note));
  AQUA_ASSIGN(const StreamPeer* const group, find(note.from.group));
  if (note.agreement != group->agreement_in)
    return refusal(concat(role_of(note.from), " has another model or shape in mind"));
  if (parcel.id != id_of(note.from, own, note.sequence) || parcel.turn < turn_of(note.attempt) ||
      parcel.turn >= turn_of(note.attempt) + turn_of(1))
    return refusal(concat("the parcel '", parcel.id, "' is not what its note says"));
  return StreamPart{.sequence = note.sequence,
                    .attempt = note.attempt,
                    .group = static_cast<std::uint32_t>(group - groups.data()),
                    .source = note.from.rank,
                    .tokens = parcel.tokens,
                    .parcel = parcel.number,
                    .words = std::move(note.words)};
}

void Streamer::Parts::take(const Parcel& parcel, const std::function<bool(std::uint64_t)>& wanted) {
  parcels[parcel.number] = {.giver = parcel.from};
  const auto part = part_of(parcel);
  if (part.ok() && wanted && !wanted(part->sequence)) return give_up({parcel.number});
  const auto useless =
      part.ok() ? intake.add(*part) : Result<std::vector<std::uint64_t>>(part.error());
  if (useless.ok()) return give_up(*useless);
  ++status.refused;
  status.error = useless.error().message;
  give_up({parcel.number});
}

Streamer::Streamer(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
Streamer::Streamer(Streamer&&) noexcept = default;
Streamer& Streamer::operator=(Streamer&&) noexcept = default;
Streamer::~Streamer() = default;

std::string Streamer::role(const std::string& group, std::uint32_t rank) {
  return role_of({group, rank});
}

Result<Streamer> Streamer::create(Carrier& carrier, const Layout& layout,
                                  const StreamerOptions& options) {
  AQUA_TRY(check_group(options.group));
  AQUA_ASSIGN(const auto shards, shards_of(options.shards));
  if (options.rank >= shards.size())
    return refusal(concat("group '", options.group, "' has no rank ", options.rank));
  AQUA_TRY(check_layout(layout, options.shards.shape, shards[options.rank]));
  std::vector<StreamPeer> groups;
  for (const StreamGroup& other : options.others) {
    if (std::ranges::find(groups, other.name, &StreamPeer::name) != groups.end())
      return refusal(concat("group '", other.name, "' is named twice"));
    AQUA_ASSIGN(StreamPeer group, peer_of(options.shards, options.rank, other.name, other.shards));
    groups.push_back(std::move(group));
  }
  return Streamer(std::make_unique<Parts>(carrier, layout, StreamEnd{options.group, options.rank},
                                          std::move(groups)));
}

Result<StreamOut> Streamer::stream_out(const StreamOutOptions& options) {
  AQUA_ASSIGN(const StreamPeer* const group, parts_->find(options.to));
  if (options.tokens == 0) return refusal("stream_out: no tokens");
  if (options.attempt == 0 || options.attempt > kMostAttempt)
    return refusal(concat("stream_out: attempt ", options.attempt, ", of 1 to ", kMostAttempt));
  auto out = std::make_unique<StreamOut::Parts>(parts_->outbox, parts_->layout,
                                                StreamNote{.agreement = group->agreement_out,
                                                           .from = parts_->own,
                                                           .sequence = options.sequence,
                                                           .attempt = options.attempt},
                                                options);
  if (!options.blocks.empty())
    AQUA_TRY(check_room("stream_out", out->layout, options.blocks, out->tokens));
  AQUA_TRY(out->open(group->out, group->name));
  return StreamOut(std::move(out));
}

Result<void> Streamer::admit(const std::string& name, std::uint32_t sequences) {
  AQUA_ASSIGN(const StreamPeer* const group, parts_->find(name));
  // Before any of its ranks is told.
  std::int64_t& admitted =
      parts_->admitted.at(static_cast<std::size_t>(group - parts_->groups.data()));
  if (admitted + sequences > kMostSequences)
    return refusal(concat("admit: ", sequences, " sequences of '", name, "' beside ", admitted,
                          ", of at most ", kMostSequences, " in all"));
  for (const Route& route : group->in)
    AQUA_TRY(parts_->carrier.admit(role_of({group->name, route.peer}), sequences));
  admitted += sequences;
  return {};
}

std::vector<Arrived> Streamer::arrived(const std::function<bool(std::uint64_t)>& wanted) {
  for (const std::uint64_t sequence : parts_->intake.untold()) {
    if (wanted && !wanted(sequence)) parts_->give_up(parts_->intake.drop(sequence));
  }
  for (std::vector<Parcel> come; !(come = parts_->carrier.accept(kAtATime)).empty();) {
    for (const Parcel& parcel : come) parts_->take(parcel, wanted);
  }
  std::vector<Arrived> all;
  for (const std::uint64_t number : parts_->intake.take_complete()) {
    const Intake::Sequence& sequence = *parts_->intake.find(number);
    all.push_back({number, sequence.attempt, sequence.tokens, sequence.words});
  }
  parts_->status.arrived += all.size();
  return all;
}

Result<StreamIn> Streamer::stream_in(std::uint64_t sequence, BlockList blocks, Stream stream) {
  const Intake::Sequence* const found = parts_->intake.find(sequence);
  if (found == nullptr || !parts_->intake.complete(*found))
    return Error{Code::not_found, concat("sequence ", sequence, " has not arrived")};
  AQUA_TRY(check_room("stream_in", parts_->layout, blocks, found->tokens));
  std::vector<std::vector<Landing>> layers;  // so that the first ones come first
  for (unsigned layer = 0; layer < parts_->layout.layers(); ++layer) {
    layers.push_back(parts_->landings(*found, layer));
    for (const Landing& part : layers.back())
      AQUA_TRY(parts_->carrier.check_landable(part.parcel, part.filled, blocks, part.at));
  }
  auto in = std::make_unique<StreamIn::Parts>(StreamIn::Parts{.carrier = parts_->carrier});
  for (const std::vector<Landing>& layer : layers) {
    std::vector<Ticket> tickets;
    std::optional<Error> failed;
    for (const Landing& part : layer) {
      auto ticket = parts_->carrier.land(part.parcel, part.filled, blocks, part.at, stream);
      if (!ticket.ok()) {
        failed = std::move(ticket).error();
        break;
      }
      tickets.push_back(std::move(ticket).value());
    }
    in->layers->push_back(Ticket::join(std::move(tickets)));
    if (!failed) continue;
    // Afterwards nobody could tell when the blocks are written no more.
    for (Ticket& queued : *in->layers) (void)queued.wait();
    return *std::move(failed);
  }
  for (const auto& [source, parcel] : found->parcels) {
    in->parcels.push_back(parcel);
    parts_->parcels.at(parcel).landing = in->layers;
  }
  return StreamIn(std::move(in));
}

Result<bool> Streamer::finish(std::uint64_t sequence, Stream stream) {
  const Intake::Sequence* const found = parts_->intake.find(sequence);
  if (found == nullptr || !found->told) {
    parts_->give_up(parts_->intake.drop(sequence));
    return false;
  }
  Result<bool> all = true;
  bool first = true;
  for (const auto& [source, parcel] : found->parcels) {
    // The senders are not to believe that what nobody wanted, or could not land, has landed.
    auto finished = parts_->parcels.at(parcel).lands() ? parts_->carrier.finish(parcel, stream)
                                                       : parts_->carrier.decline(parcel, stream);
    if (!finished.ok()) all = finished.error();
    // What is wrong with the stream is so from the first parcel on, when nothing has changed.
    if (first && !finished.ok() && finished.error().code != Code::not_found) return all;
    first = false;
  }
  if (all.ok()) --parts_->admitted.at(found->group);
  for (const std::uint64_t parcel : parts_->intake.drop(sequence)) parts_->parcels.erase(parcel);
  return all;
}

std::vector<std::uint64_t> Streamer::superseded() {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t parcel : parts_->carrier.superseded()) {
    const auto sequence = parts_->intake.sequence_of(parcel);
    if (!sequence) continue;
    if (parts_->intake.find(*sequence)->told) {
      if (std::ranges::find(all, *sequence) == all.end()) all.push_back(*sequence);
    } else {
      parts_->give_up(parts_->intake.drop(*sequence));
    }
  }
  return all;
}

std::vector<CutOff> Streamer::cut_off() {
  std::vector<CutOff> all;
  for (const ParcelHead& head : parts_->carrier.cut_off()) {
    const auto id = parse_id(head.id, parts_->own);
    if (!id) continue;
    const auto group = parts_->find(id->from.group);
    if (!group.ok() || !std::ranges::count((*group)->in, id->from.rank, &Route::peer)) continue;
    const CutOff each{id->sequence, attempt_in(head.turn)};
    const auto number = static_cast<std::uint32_t>(*group - parts_->groups.data());
    const auto useless = parts_->intake.cut_off(number, each.sequence, each.attempt);
    if (!useless) continue;
    parts_->give_up(*useless);
    all.push_back(each);
  }
  parts_->status.cut_off += all.size();
  return all;
}

bool Streamer::wait(std::chrono::milliseconds patience) {
  return parts_->carrier.wait(patience);
}
StreamerStatus Streamer::status() const {
  return parts_->status;
}

}  // namespace aqua::kv_stream
