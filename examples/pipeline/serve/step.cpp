// SPDX-License-Identifier: Apache-2.0
#include "serve/step.hpp"

namespace aqua::pipeline {

Step step_of(const Order& order) {
  Step step{.head = {.sequence = order.sequence,
                     .seed = order.seed,
                     .first = order.first,
                     .count = static_cast<std::uint32_t>(order.tokens.size()),
                     .attempt = order.attempt,
                     .before = static_cast<std::uint32_t>(order.before.size())},
            .hidden = {},
            .ids = order.before};
  step.ids.insert(step.ids.end(), order.tokens.begin(), order.tokens.end());
  for (const std::uint32_t token : order.tokens) step.hidden.push_back(embed(token));
  return step;
}

void send_step(Link& link, const Step& step) {
  link.send_values(std::span<const StepHead>(&step.head, 1));
  link.send_values(std::span<const Hidden>(step.hidden));
  link.send_values(std::span<const std::uint32_t>(step.ids));
}

void send_end(Link& link) {
  send_step(link, {.head = {.sequence = kNoMoreSteps}});
}

std::optional<Step> receive_step(Link& link) {
  Step step;
  link.receive_values(std::span<StepHead>(&step.head, 1));
  if (step.head.sequence == kNoMoreSteps) return {};
  step.hidden.resize(step.head.count);
  link.receive_values(std::span<Hidden>(step.hidden));
  step.ids.resize(step.head.before + step.head.count);
  link.receive_values(std::span<std::uint32_t>(step.ids));
  return step;
}

}  // namespace aqua::pipeline
