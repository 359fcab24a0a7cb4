// SPDX-License-Identifier: Apache-2.0
// The LogDirectory of a real disk: files of mode 0600 in a directory of mode 0700.
#pragma once

#include <memory>
#include <string>

#include "aqua/result.hpp"
#include "tools/keeper/disk/log_directory.hpp"

namespace aqua::keeper {

// Opens the directory, or creates it (its parent must exist).
//   permission_denied    it is another user's, others may write there, or it is a link
//   failed_precondition  another process has it open, or it has a file that is no log's
[[nodiscard]] Result<std::unique_ptr<LogDirectory>> open_log_directory(const std::string& path);

}  // namespace aqua::keeper
