// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"

namespace allot::tools {
namespace {

std::string view_text(text t) {
  return {t.data, static_cast<std::size_t>(t.size)};
}

std::vector<ledger_line> charges_of(request const& asked) {
  std::vector<ledger_line> out;
  for (auto const& one : asked.charges) {
    out.push_back({view_text(one.name), one.bytes.count, "declared"});
  }
  return out;
}

}  // namespace

std::vector<ledger_line> ledger_of(solved_plan const& planned) {
  auto out = charges_of(planned.request().get());
  auto const& table = planned.table();
  auto const& plan = *planned.answer();
  for (std::int64_t i = 0; i < table.pools.size; ++i) {
    out.push_back({view_text(table.pools[i].name), share_of(table, plan, i).bytes.count, "modelled",
                   i < table.kv_pools});
  }
  out.push_back({"left", plan.left.count, "modelled"});
  return out;
}

std::int64_t whole_need(solved_plan const& refused) {
  auto const& error = refused.answer().error;
  for (std::int32_t i = 0; i < error.repair_count; ++i) {
    if (error.repairs[i].set == setting::budget) { return error.repairs[i].to; }
  }
  return error.needed.count;
}

std::vector<ledger_line> needs_of(solved_plan const& refused, std::int64_t needed) {
  auto const& asked = refused.request().get();
  auto const& table = refused.table();
  auto out = charges_of(asked);
  if (table.state) {
    out.push_back(
        {view_text(table.pools[table.kv_pools].name), state_bytes(table).value, "modelled"});
  }
  auto left = needed;
  for (auto const& one : out) {
    left -= one.bytes;
  }
  if (left == 0) { return out; }  // the refusal stops at what is fixed
  if (table.experts) {
    auto const& experts = *table.experts;
    auto const slots = experts.pinned_slots ? experts.pinned_slots->count : experts.fewest().value;
    out.push_back({"experts", expert_bytes(table, slots).value, "modelled"});
    left -= out.back().bytes;
  }
  // The anchor's floor or pin is what the other terms leave of the needed bytes.
  out.push_back({view_text(table.pools[0].name), left, "modelled", true});
  return out;
}

std::vector<ledger_line> shortfall_ledger_of(solved_plan const& refused) {
  auto const& error = refused.answer().error;
  if (!error.priced) { return {}; }
  auto out = needs_of(refused, error.needed.count);
  out.push_back({"left", -error.shortfall.count, "modelled"});
  return out;
}

}  // namespace allot::tools
