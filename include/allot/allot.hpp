// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole planning library: describe, lower, solve, lay out. Standard library only; a tuple of
// families through Boost.Hana is the opt-in <allot/hana.hpp>, the laws as predicates
// <allot/laws.hpp>.

// IWYU pragma: begin_exports
#include <allot/attention/kv_page.hpp>
#include <allot/attention/split_kv.hpp>
#include <allot/core/units.hpp>
#include <allot/family/compressed_tiers.hpp>
#include <allot/family/expert_bank.hpp>
#include <allot/family/gqa.hpp>
#include <allot/family/make_table.hpp>
#include <allot/family/mla.hpp>
#include <allot/family/raw_pages.hpp>
#include <allot/family/recurrent_state.hpp>
#include <allot/family/sliding_window.hpp>
#include <allot/plan/admission.hpp>
#include <allot/plan/layout.hpp>
#include <allot/plan/plan.hpp>
#include <allot/policy/element.hpp>
#include <allot/policy/expert_format.hpp>
#include <allot/policy/sentinel.hpp>
#include <allot/policy/sharding.hpp>
#include <allot/solve/request.hpp>
#include <allot/solve/solve.hpp>
// IWYU pragma: end_exports
