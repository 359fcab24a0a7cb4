// SPDX-License-Identifier: Apache-2.0
#include "stream/streams.hpp"

#include <string>
#include <thread>

#include "serve/link.hpp"

namespace aqua::pipeline {

Streams::Streams(Runtime& runtime, const Options& options, const KvCache& cache)
    : runtime_(runtime), options_(options), cache_(cache), room_(options.batch) {
  (void)attached();
}

void Streams::await(const char* what, const std::function<bool()>& happened) {
  constexpr std::chrono::seconds kPatience{120};  // on a busy machine
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!happened()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw example::Failure(std::string(what) + " does not come");
    if (told_ && told_()) throw NeighbourGone(std::string(what) + " is not waited for");
    if (attached_) {
      (void)attached_->streamer().wait(kOneWait);
    } else {
      std::this_thread::sleep_for(kOneWait);  // nothing tells when the next keeper listens
    }
  }
}

bool Streams::look() {
  if (attached_ && attached_->is_connected()) return true;
  attached_.reset();
  arrived_.clear();
  attached_ = Attachment::attach(runtime_, options_, cache_, room_);
  if (attached_) room_ = options_.batch + 1;
  return attached_ != nullptr;
}

std::shared_ptr<Attachment> Streams::attached() {
  await("a keeper", [this] { return look(); });
  return attached_;
}

void Streams::hear() {
  if (!look()) return;
  const auto is_wanted = [this](Word sequence) { return wanted(sequence); };
  for (const kv_stream::Arrived& each : attached_->streamer().arrived(is_wanted))
    arrived_[each.sequence] = each.attempt;
}

bool Streams::wanted(Word sequence) const {
  return !ended_.contains(sequence) && (sequence >= begun_ || kept_.contains(sequence));
}

// What has arrived is mapped: the keeper's death from here on takes nothing away.
TakenPrompt Streams::take(const StepHead& step, BlockList blocks, Stream stream) {
  for (;;) {
    await("a prompt", [&] {
      hear();
      const auto found = arrived_.find(step.sequence);
      return found != arrived_.end() && found->second >= step.attempt;
    });
    auto in = attached_->streamer().stream_in(step.sequence, blocks, stream);
    if (in.ok()) return {attached_, std::move(in).value()};
    // A later attempt has begun to come, of which it is told once that is complete.
    if (in.error().code == Code::not_found) {
      arrived_.erase(step.sequence);
    } else {
      (void)attached_->lost(in, "stream_in");
    }
  }
}

void Streams::finish(const StepHead& step, Stream stream) {
  hear();
  const auto found = arrived_.find(step.sequence);
  if (found == arrived_.end() || found->second < step.attempt) ended_.insert(step.sequence);
  let_go(step.sequence, stream);
}

void Streams::let_go(Word sequence, Stream stream) {
  arrived_.erase(sequence);
  if (!attached_) return;
  const auto finished = attached_->streamer().finish(sequence, stream);
  if (attached_->lost(finished, "finish") || !*finished) return;
  (void)attached_->lost(attached_->streamer().admit(kPrefill, 1), "admit");
}

void Streams::keep(const std::vector<Word>& sequences, Word begun, Stream stream) {
  kept_ = {sequences.begin(), sequences.end()};
  begun_ = begun;
  ended_.clear();  // they are among those that are not kept
  hear();
  std::vector<Word> others;
  for (const auto& [sequence, attempt] : arrived_) {
    if (!wanted(sequence)) others.push_back(sequence);
  }
  for (const Word each : others) let_go(each, stream);
}

}  // namespace aqua::pipeline
