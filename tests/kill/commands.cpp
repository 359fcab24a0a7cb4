// SPDX-License-Identifier: Apache-2.0
// Rig's orders to its nodes.
#include <gtest/gtest.h>

#include "base/concat.hpp"
#include "tests/kill/rig.hpp"

namespace aqua::kill_test {

Json Rig::answer_of(const Actor& actor, const std::string& to) {
  const auto line = slots_.at(actor).child->read_line(kPatience);
  EXPECT_TRUE(line) << to_string(actor) << " does not answer " << to;
  Json answer = line ? Json::parse(*line, nullptr, false) : Json();
  if (!answer.is_object()) return nullptr;
  if (!answer.contains("error")) return answer;
  ADD_FAILURE() << to_string(actor) << ": " << to << ": " << answer;
  return nullptr;
}

Json Rig::ask(const Actor& actor, const Json& command) {
  Slot& slot = slots_.at(actor);
  if (!await_open(actor)) {
    ADD_FAILURE() << to_string(actor) << " does not open";
    return nullptr;
  }
  for (; !slot.unanswered.empty(); slot.unanswered.pop_front()) {
    if (answer_of(actor, slot.unanswered.front()).is_null()) return nullptr;
  }
  slot.child->write_line(command.dump());  // an ended one does not answer
  return answer_of(actor, command.dump());
}

void Rig::order(const Actor& actor, const Json& command) {
  Slot& slot = slots_.at(actor);
  slot.unanswered.push_back(command.dump());
  slot.child->write_line(slot.unanswered.back());
}

void Rig::lend(const Actor& producer) {
  const Json status = ask(producer, {{"do", "status"}});
  if (status.is_null()) return;
  const std::size_t lent = status.at("lent");
  if (lent >= target_) return;
  tell(concat(to_string(producer), " lends ", (target_ - lent) >> 20, " MiB"));
  order(producer, {{"do", "lend"}, {"bytes", target_ - lent}});
}

void Rig::reclaim(const Actor& producer, std::size_t bytes, std::chrono::milliseconds within) {
  tell(concat(to_string(producer), " reclaims ", bytes >> 20, " MiB within ", within.count(),
              " ms"));
  order(producer, {{"do", "reclaim"}, {"bytes", bytes}, {"within_ms", within.count()}});
}

}  // namespace aqua::kill_test
