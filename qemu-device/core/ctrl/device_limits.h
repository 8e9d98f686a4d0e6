// SPDX-License-Identifier: GPL-2.0-or-later
// Limits of a function, advertised in registers and verna_cap_dev.
#pragma once

#include <cstdint>

namespace verna {

struct DeviceLimits {
  uint16_t num_functions = 1;
  uint16_t num_vectors = 64;
  uint16_t num_uars = 1024;
  uint32_t max_cqs = 65536;
  uint32_t max_eqs = 64;
  uint8_t log_max_cq_entries = 18;
  uint8_t log_max_eq_entries = 16;
  uint32_t max_pbl_entries = 16u << 20;
};

}  // namespace verna
