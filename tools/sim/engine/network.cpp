// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/network.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace aqua::sim {

LinkId Network::add_link(std::string name, double bytes_per_second) {
  assert(bytes_per_second > 0);
  links_.push_back({.name = std::move(name), .capacity = bytes_per_second});
  return links_.size() - 1;
}

FlowId Network::start(const Transfer& transfer, Picos now, Actor* owner) {
  assert(!transfer.links.empty() && now >= settled_);
  settle(now);
  flows_.push_back({.id = ++last_,
                    .left = transfer.bytes,
                    .begins = now + transfer.delay,
                    .links = transfer.links,
                    .owner = owner});
  share(now);
  return last_;
}

std::vector<Network::Ended> Network::advance(Picos now) {
  assert(now <= next_change_);
  std::vector<Ended> ended;
  if (now < next_change_) return ended;
  settle(now);
  std::erase_if(flows_, [&](const Flow& flow) {
    if (flow.ends > now) return false;
    ended.push_back({flow.id, flow.owner});
    return true;
  });
  share(now);
  return ended;
}

double Network::bytes_moved(LinkId link, Picos now) const {
  return links_[link].moved + links_[link].rate * seconds(now - settled_);
}

void Network::settle(Picos now) {
  const double passed = seconds(now - settled_);
  for (Link& link : links_) link.moved += link.rate * passed;
  for (Flow& flow : flows_) flow.left = std::max(0.0, flow.left - flow.rate * passed);
  settled_ = now;
}

// Progressive filling: the link that would give its flows least fixes their rates, and so on. Of
// flows in open_ over links in shared_.
void Network::fill() {
  while (!open_.empty()) {
    double least = std::numeric_limits<double>::infinity();
    LinkId narrow = 0;
    for (const LinkId link : shared_) {
      if (waiting_[link] == 0) continue;
      const double part = free_[link] / static_cast<double>(waiting_[link]);
      if (part < least) {
        least = part;
        narrow = link;
      }
    }
    std::erase_if(open_, [&](Flow* flow) {
      if (std::find(flow->links.begin(), flow->links.end(), narrow) == flow->links.end()) {
        return false;
      }
      flow->rate = least;
      for (const LinkId link : flow->links) {
        free_[link] = std::max(0.0, free_[link] - least);
        --waiting_[link];
        links_[link].rate += least;
      }
      return true;
    });
  }
}

// Most flows share no link with another. Each of them has all of its narrowest link, as filling
// would find, and takes nothing from the others.
void Network::share(Picos now) {
  waiting_.assign(links_.size(), 0);
  for (Link& link : links_) link.rate = 0;
  bool alone = true;
  for (Flow& flow : flows_) {
    flow.rate = 0;
    if (flow.begins > now) continue;
    for (const LinkId link : flow.links) alone &= ++waiting_[link] == 1;
  }
  open_.clear();
  for (Flow& flow : flows_) {
    if (flow.begins > now) continue;
    const auto shares = [&](LinkId link) { return waiting_[link] > 1; };
    if (!alone && std::ranges::any_of(flow.links, shares)) {
      open_.push_back(&flow);
      continue;
    }
    flow.rate = std::numeric_limits<double>::infinity();
    for (const LinkId link : flow.links) flow.rate = std::min(flow.rate, links_[link].capacity);
    for (const LinkId link : flow.links) {
      links_[link].rate = flow.rate;
      waiting_[link] = 0;
    }
  }
  if (!open_.empty()) {
    free_.resize(links_.size());
    shared_.clear();
    for (LinkId link = 0; link < links_.size(); ++link) {
      if (waiting_[link] == 0) continue;
      shared_.push_back(link);
      free_[link] = links_[link].capacity;
    }
    fill();
  }
  next_change_ = kNever;
  for (Flow& flow : flows_) {
    flow.ends = kNever;
    if (flow.begins > now) {
      next_change_ = std::min(next_change_, flow.begins);
    } else {
      const double left = std::ceil(flow.left / flow.rate * static_cast<double>(kPicosPerSecond));
      flow.ends = now + static_cast<Picos>(left);
      next_change_ = std::min(next_change_, flow.ends);
    }
  }
}

}  // namespace aqua::sim
