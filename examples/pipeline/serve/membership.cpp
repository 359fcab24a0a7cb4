// SPDX-License-Identifier: Apache-2.0
#include "serve/membership.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

// Throws what was refused, unless the term is over: then news of the next are on their way, and it
// is no error.
void check_said(const Result<void>& said, const char* what) {
  if (!said.ok() && said.error().code != Code::aborted) example::must(said, what);
}

GroupRole role_of(const std::string& pipeline) {
  return pipeline == kPrefill ? GroupRole::prefill : GroupRole::decode;
}

}  // namespace

GroupOptions group_of(const std::string& pipeline, const PipelineShape& shape,
                      const ModelShape& model) {
  GroupOptions options{.name = pipeline};
  const GroupPipeline ranks{.stages = shape.stages, .tensor = shape.ranks};
  (role_of(pipeline) == GroupRole::prefill ? options.prefill : options.decode) = ranks;
  options.shape = {.model = "toy",
                   .dtype = "integers",
                   .layout = std::to_string(model.layers) + " layers of " +
                             std::to_string(model.kv_heads) + " heads of " +
                             std::to_string(model.head_bytes) + " bytes"};
  return options;
}

GroupRank rank_of(const std::string& pipeline, unsigned stage, unsigned rank) {
  return {.role = role_of(pipeline), .stage = stage, .tensor = rank};
}

Membership::Membership(Runtime& runtime, const Options& options)
    : pipeline_(options.place.pipeline) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw example::Failure("pipe2");
  read_ = example::Fd(ends[0]);
  write_ = example::Fd(ends[1]);
  GroupOptions group = group_of(pipeline_, options.place.shape, options.model_shape());
  group.member = options.member;
  if (!options.standby) group.rank = rank_of(pipeline_, options.place.stage, options.place.rank);
  group.on_news = [this](const GroupNews& news) { hear(news); };
  group.on_end = [](const Error& why) {
    std::fprintf(stderr, "pipeline: no part in the group any more: %s\n", why.message.c_str());
    std::_Exit(EXIT_FAILURE);
  };
  member_ = example::must(GroupMember::join(runtime, std::move(group)), "group");
}

void Membership::hear(const GroupNews& news) {
  const std::lock_guard lock(mutex_);
  news_ = news;
  changed_.notify_all();
  if (!news.rank || news.state == GroupState::forming || news.term <= told_) return;
  told_ = news.term;
  (void)example::write_line(write_.get(), Rewire{news.term});
}

GroupNews Membership::news() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

// What a successor can read of the dead one's replicas is its own as far as the group is concerned:
// the keeper has it, whoever else dies.
void Membership::acknowledge(Word term, const Survey& survey, const Surveyed& surveyed) {
  const auto rank = news().rank;
  std::vector<GroupWatermark> marks;
  for (std::size_t i = 0; rank && i < surveyed.marks.size(); ++i) {
    const Mark& mark = surveyed.marks[i];
    marks.push_back({*rank, survey.sequences[i].sequence, std::max(mark.cached, mark.replica)});
  }
  check_said(member_->acknowledge(term, marks), "acknowledge");
}

bool Membership::await_plan(const Connect& connect) {
  const Word term = connect.term;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return news_.term > term || (news_.term == term && (news_.state == GroupState::resuming ||
                                                        news_.state == GroupState::running));
  });
  if (news_.term != term) return false;
  // Where prefill is apart a prompt may still come to all of decode, or to some of its ranks, which
  // have acknowledged nothing of it. A group that runs has no plan any more.
  if (pipeline_ == kDecode || news_.state != GroupState::resuming) return true;
  const auto agreed = [&](Word sequence) {
    const auto found = std::ranges::find(news_.resumes, sequence, &GroupResume::sequence);
    return found == news_.resumes.end() ? 0 : found->mark;
  };
  for (const Resume& told : connect.sequences) {
    if (told.from > agreed(told.sequence))
      throw example::Failure("sequence " + std::to_string(told.sequence) + " goes on from " +
                             std::to_string(told.from) + ", and the group has " +
                             std::to_string(agreed(told.sequence)));
  }
  return true;
}

void Membership::resumed(Word term) {
  check_said(member_->resumed(term), "resumed");
}

}  // namespace aqua::pipeline
