// SPDX-License-Identifier: Apache-2.0
// What is asked of etcd and what it answers, in the JSON of its gateway (version 3 of its API;
// etcd.io/docs/v3.4, "gRPC gateway"): bytes are base64, 64-bit numbers are texts, and a field that
// is zero or false is left out.
//
// Threads: plain functions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::coordinator::etcd {

using Revision = std::int64_t;  // grows with every change of anything in a cluster; from 1
using LeaseId = std::int64_t;   // 0: none

struct Row {
  std::string key;
  std::string value;
  Revision modified = 0;  // by which change it has this value
};

struct Rows {
  std::vector<Row> rows;  // sorted by key
  std::string cluster{};  // whose they are: its id
};

// All of it, or nothing: puts and deletes are done where each key is as `when` says.
struct Transaction {
  struct Condition {
    std::string key;
    Revision modified = 0;  // 0: there is no such key
    std::string value{};    // where it is given: it has this value, whenever that was written
  };
  struct Put {
    std::string key;
    std::string value;
    LeaseId lease = 0;
  };
  std::vector<Condition> when{};
  std::vector<Put> puts{};
  std::vector<std::string> deletes{};
};

struct Outcome {
  bool done = false;  // false: a condition did not hold, and nothing was changed
  Revision revision = 0;
};

// Requests' bodies. Of all keys that begin with `prefix`, which is not empty.
[[nodiscard]] std::string range_request(std::string_view prefix);
[[nodiscard]] std::string watch_request(std::string_view prefix);
[[nodiscard]] std::string transaction_request(const Transaction& transaction);
[[nodiscard]] std::string grant_request(std::int64_t ttl_s);
[[nodiscard]] std::string lease_request(LeaseId lease);  // to keep it, or to end it
[[nodiscard]] std::string password_request(std::string_view user, std::string_view password);

// Replies' bodies. data_loss for what is not as it has to be.
[[nodiscard]] Result<Rows> parse_rows(std::string_view body);
[[nodiscard]] Result<Outcome> parse_outcome(std::string_view body);
[[nodiscard]] Result<LeaseId> parse_grant(std::string_view body);
// Seconds that it has left; 0: it has run out.
[[nodiscard]] Result<std::int64_t> parse_kept(std::string_view body);
[[nodiscard]] Result<std::string> parse_token(std::string_view body);
// Whether this line of a watch says that etcd has cancelled it: nothing follows, and etcd does not
// end the stream.
[[nodiscard]] bool is_cancelled_watch(std::string_view line);

// The error in a reply with another status than 200, by its gRPC code where it has one.
// unavailable: no leader, no quorum, or an answer in time; permission_denied: user, password, token
// or role; resource_exhausted: out of space, or too many requests; not_found: such a lease;
// internal: others.
[[nodiscard]] Error parse_refusal(int status, std::string_view body);

}  // namespace aqua::coordinator::etcd
