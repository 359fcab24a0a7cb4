// SPDX-License-Identifier: Apache-2.0
// What is asked and told about groups (docs/internals/groups.md). Requests name no caller: the
// session does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "groups/types.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

// POST /v1/groups
struct CreateGroupRequest {
  std::string name;
  groups::Topology topology;
  groups::Shape shape;
  // Where a group of this name exists, and agrees in all of the above, it is the answer: so every
  // engine of a pipeline may ask, and the first creates.
  bool may_exist = false;
};

// POST /v1/groups/{group}/join
struct JoinGroupRequest {
  std::string name;  // of the member, for people
  groups::Shape shape;
  std::optional<groups::Rank> rank;  // nullopt: to stand by
};

// POST /v1/groups/{group}/acknowledge
struct AcknowledgeRequest {
  groups::Term term = 0;
  std::vector<groups::Watermark> marks;
};

// POST /v1/groups/{group}/resumed
struct ResumedRequest {
  groups::Term term = 0;
};

// A group whole, as coordinators of several servers keep it in etcd: with what is not told.
struct StoredGroup {
  groups::Group group;
};

// A group as of now. Marks of members are left out: the plan says what follows from them.
struct GroupReply {
  Epoch epoch;
  groups::Group group;
};

// GET /v1/groups: without plans.
struct Groups {
  Epoch epoch;
  std::vector<groups::Group> groups;
};

}  // namespace aqua::wire
