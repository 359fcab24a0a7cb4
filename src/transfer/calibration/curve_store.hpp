// SPDX-License-Identifier: Apache-2.0
// Where measured curves are kept between processes: a file for each device.
//
// Threads: every function may be called concurrently, also by several processes: a file is
//          replaced whole or not at all.
#pragma once

#include <string>

#include "transfer/calibration/curve_file.hpp"

namespace aqua::transfer {

// $XDG_CACHE_HOME/aqua, else $HOME/.cache/aqua; empty when neither is set to a full path.
[[nodiscard]] std::string default_curve_directory();
[[nodiscard]] std::string curve_path(const std::string& directory, const CurveKey& key);

//   not_found            there is none
//   failed_precondition  it is of another device, driver or version: stale
//   permission_denied    not a file of this user's that only this user may write
//   invalid_argument     damaged
//   resource_exhausted   longer than kMaxCurveText
// None of these is a reason to fail: go on with other curves, and say why.
[[nodiscard]] Result<CurveSet> load_curves(const std::string& directory, const CurveKey& key);

// Makes the directory and its parent (mode 0700) and the file (0600). What was there before stays
// when it fails.
[[nodiscard]] Result<void> save_curves(const std::string& directory, const CurveKey& key,
                                       const CurveSet& curves);

}  // namespace aqua::transfer
