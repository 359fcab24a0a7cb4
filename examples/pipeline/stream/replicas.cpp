// SPDX-License-Identifier: Apache-2.0
#include "stream/replicas.hpp"

#include "daemon_program.hpp"

namespace aqua::pipeline {
namespace {

using namespace aqua::literals;

kv_stream::ReplicatorOptions replicator_options(const Options& options) {
  const ModelShape model = options.model_shape();
  return {.owner = {.group = options.place.pipeline,
                    .stage = options.place.stage,
                    .rank = options.place.rank,
                    .life = options.life},
          .shape = "toy, " + std::to_string(model.layers) + " layers of " +
                   std::to_string(model.kv_heads) + " heads of " +
                   std::to_string(model.head_bytes) + " bytes, as " +
                   to_string(options.place.shape),
          .term = options.term,
          .pack_bytes = 2_MiB,
          .max_bytes = 512_MiB,
          .keeper = example::keeper_socket(options.directory)};
}

}  // namespace

Replicas::Replicas(Runtime& runtime, const Options& options, const KvCache& cache)
    : cache_(cache), options_(replicator_options(options)), runtime_(runtime) {
  (void)attach();
}

// A keeper that has no room lets each attempt wait for it, and so may one that does not answer.
bool Replicas::attach() {
  constexpr int kPause = 10;  // times as long as the last attempt took in vain
  const auto since = Clock::now();
  if (since < next_attempt_) return replicator_.has_value();
  Result<void> attached;
  if (replicator_) {
    attached = replicator_->reconnect();
  } else if (auto made = kv_stream::Replicator::create(runtime_, cache_.layout(), options_);
             made.ok()) {
    replicator_.emplace(std::move(*made));
    if (sealed_) replicator_->seal();
  } else {
    attached = made.error();
  }
  // A keeper that has begun anew may have no room yet: generation goes on, unprotected.
  const bool later = attached.ok() || attached.error().code == Code::unavailable ||
                     (replicator_ && attached.error().code == Code::resource_exhausted);
  if (!later) throw example::Failure("replicator: " + attached.error().message);
  if (!attached.ok()) next_attempt_ = Clock::now() + kPause * (Clock::now() - since);
  return replicator_.has_value();
}

void Replicas::step(const Step& step, BlockList blocks, Stream stream) {
  const StepHead& head = step.head;
  std::vector<std::uint32_t>& ids = ids_[head.sequence];
  ids.resize(head.first - head.before);  // what was streamed here comes with all of its ids
  ids.insert(ids.end(), step.ids.begin(), step.ids.end());
  if (!attach()) return;
  const bool from_the_first = !known_.contains(head.sequence);
  const std::uint32_t first = from_the_first ? 0 : head.first;
  const kv_stream::WrittenTokens written{.sequence = head.sequence,
                                         .blocks = blocks,
                                         .first = first,
                                         .ids = std::span(ids).subspan(first)};
  const auto since = Clock::now();
  Ticket copy = example::must(replicator_->step({&written, 1}, stream), "replicas");
  constexpr unsigned kMeasuredOf = 8;
  if (from_the_first && prompts_++ % kMeasuredOf == 0) {
    example::must(copy.wait(), "replicas");
    measured(copy, since);
  }
  known_.insert(head.sequence);
}

void Replicas::measured(const Ticket& copy, Clock::time_point since) {
  if (copy.bytes() == 0) return;  // the keeper is away, say, or has no room
  measured_.bytes += copy.bytes();
  measured_.seconds += std::chrono::duration<double>(Clock::now() - since).count();
}

void Replicas::finish(Word sequence) {
  if (replicator_) replicator_->finish(sequence);
  known_.erase(sequence);
  ids_.erase(sequence);
}

void Replicas::seal() {
  sealed_ = true;
  if (replicator_) replicator_->seal();
}

void Replicas::resume(Word term) {
  sealed_ = false;
  options_.term = term;
  if (replicator_) replicator_->resume(term);
}

std::vector<std::uint32_t> Replicas::survey(const Survey& survey, std::uint32_t room) {
  std::vector<std::uint32_t> marks(survey.sequences.size());
  reader_.reset();
  (void)attach();  // to the keeper that the reader will be of
  auto reader = kv_stream::ReplicaReader::open(runtime_, {.owner = options_.owner,
                                                          .shape = options_.shape,
                                                          .term = survey.term,
                                                          .keeper = options_.keeper});
  if (!reader.ok()) {
    if (reader.error().code == Code::unavailable) return marks;
    throw example::Failure("replicas: " + reader.error().message);
  }
  reader_.emplace(std::move(*reader));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const KnownSequence& known = survey.sequences[i];
    marks[i] = reader_->watermark(known.sequence, known.ids, room);
  }
  return marks;
}

void Replicas::end_restoring(Stream stream) {
  if (!reader_) return;
  const auto ended = reader_->finish(stream);
  if (!ended.ok() && ended.error().code != Code::unavailable)
    throw example::Failure("replicas: " + ended.error().message);
  reader_.reset();
}

}  // namespace aqua::pipeline
