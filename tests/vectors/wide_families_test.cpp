// SPDX-License-Identifier: Apache-2.0
// All 300 requests of solve_wide.jsonl, windows and tiers included, through the families
// themselves: the oracle of what the JSON form does not read yet.
#include "vectors.hpp"

#include <allot/allot.hpp>
#include <allot/laws.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

using namespace allot;
using namespace allot_test;

namespace {

element dtype_of(document const& pool) {
  std::map<std::string, element> const known{{"fp32", element::fp32}, {"fp16", element::fp16},
                                             {"bf16", element::bf16}, {"fp8", element::fp8},
                                             {"int8", element::int8}, {"fp4", element::fp4}};
  return known.at(pool.at("dtype"));
}

maybe<std::int64_t> count_of(document const& pool, char const* name) {
  if (!pool.contains(name)) { return {}; }
  return pool.at(name).get<std::int64_t>();
}
maybe<double> share_given(document const& pool, char const* name) {
  if (!pool.contains(name)) { return {}; }
  return pool.at(name).get<double>();
}

/// A lowered request, with everything its table borrows.
struct lowered_row {
  std::vector<extent> extents = std::vector<extent>(64);
  std::vector<pool> pools = std::vector<pool>(8);
  std::deque<std::vector<std::int64_t>> ratios;
  std::vector<charge> charges;
  table_builder builder;

  explicit lowered_row(document const& r)
      : builder{extents.data(), pools.data(), r.value("granularity", std::int64_t{1})} {
    for (document const& c : r.value("charges", document::array())) {
      charges.push_back({"charge", {c.at("bytes")}});
    }
    builder.set_charges({charges.data(), static_cast<std::int64_t>(charges.size())});
    for (document const& p : r.at("kv")) {
      add(p, p.at("family"));
    }
    if (r.contains("state")) { add_state(r.at("state")); }
    document const& e = r.at("experts");
    builder.add(expert_bank{.slot_bytes = {e.at("slot_bytes")},
                            .per_layer = e.at("per_layer"),
                            .layers = e.at("layers")});
  }

  void add(document const& p, std::string const& family) {
    std::int64_t const page_tokens = p.value("page_tokens", std::int64_t{1});
    std::int64_t const sentinels = p.value("sentinel_pages", std::int64_t{1});
    maybe<index_slab> index{};
    if (p.contains("index")) {
      index = index_slab{p.at("index").at("head_dim"), p.at("index").at("layers")};
    }
    if (family == "gqa") {
      builder.add(gqa{.layers = p.at("layers"),
                      .kv_heads = p.at("kv_heads"),
                      .head_dim = p.at("head_dim"),
                      .v_head_dim = count_of(p, "v_head_dim"),
                      .dtype = dtype_of(p),
                      .index = index,
                      .page_tokens = page_tokens,
                      .sentinel_pages = sentinels});
    } else if (family == "mla") {
      builder.add(mla{.layers = p.at("layers"),
                      .latent_dim = p.at("latent_dim"),
                      .dtype = dtype_of(p),
                      .index = index,
                      .page_tokens = page_tokens,
                      .sentinel_pages = sentinels});
    } else if (family == "sliding_window") {
      auto const pinned = count_of(p, "pinned_tokens");
      builder.add(
          sliding_window{.layers = p.at("layers"),
                         .kv_heads = p.at("kv_heads"),
                         .head_dim = p.at("head_dim"),
                         .v_head_dim = count_of(p, "v_head_dim"),
                         .dtype = dtype_of(p),
                         .window_tokens = p.at("window_tokens"),
                         .prefill_chunk_tokens = count_of(p, "prefill_chunk_tokens"),
                         .max_running = p.at("max_running"),
                         .ratio = share_given(p, "ratio"),
                         .pinned_tokens = pinned ? maybe<tokens>{tokens{*pinned}} : maybe<tokens>{},
                         .prefix_cached = p.value("prefix_cached", true)});
    } else {
      REQUIRE(family == "compressed_tiers");
      ratios.push_back(p.at("compress_ratios").get<std::vector<std::int64_t>>());
      builder.add(
          compressed_tiers{.head_dim = p.at("head_dim"),
                           .index_head_dim = p.at("index_head_dim"),
                           .compress_ratios = {ratios.back().data(),
                                               static_cast<std::int64_t>(ratios.back().size())},
                           .window_tokens = p.at("window_tokens"),
                           .window_ratio = share_given(p, "window_ratio"),
                           .pinned_pages = count_of(p, "pinned_pages"),
                           .max_running = p.at("max_running"),
                           .max_seq_tokens = p.at("max_seq_tokens"),
                           .prefix_cached = p.at("prefix_cached")});
    }
  }

  void add_state(document const& s) {
    builder.add(recurrent_state{.layers = s.at("layers"),
                                .key_heads = s.at("key_heads"),
                                .value_heads = s.at("value_heads"),
                                .key_head_dim = s.at("key_head_dim"),
                                .value_head_dim = s.at("value_head_dim"),
                                .conv_kernel = s.at("conv_kernel"),
                                .dtype = dtype_of(s),
                                .max_running = s.at("max_running"),
                                .snapshot_ratio = s.at("snapshot_ratio"),
                                .prefix_cached = s.at("prefix_cached")});
  }
};

document pool_of(table_view const& t, plan const& p, std::int64_t index) {
  pool const& entry = t.pools[index];
  pool_share const share = share_of(t, p, index);
  std::map<pool_unit, char const*> const units{
      {pool_unit::pages, "pages"}, {pool_unit::tokens, "tokens"}, {pool_unit::slots, "slots"}};
  std::string const family{entry.family.data, static_cast<std::size_t>(entry.family.size)};
  document out{{"family", family},
               {"unit", units.at(entry.unit)},
               {"usable", share.usable},
               {"physical", share.physical}};
  if (family == "compressed_tiers") {
    out["window_pages"] = rows(t.extents.data + entry.first_extent, 1, p.at()).value;
  }
  out["bytes"] = share.bytes.count;
  return out;
}

}  // namespace

TEST_CASE("the wide vectors through the families") {
  int exact = 0;
  std::map<std::string, int> covered;
  for (document const& row : load_lines("solve_wide.jsonl")) {
    document const& r = row.at("req");
    document const& want = row.at("want");
    INFO(row.dump());
    lowered_row const lowered{r};
    table_view const t = lowered.builder.table();
    document const& asked = r.at("demand");
    demand d{.min_tokens = {asked.at("min_tokens")}};
    if (asked.contains("target_tokens")) { d.target_tokens = tokens{asked.at("target_tokens")}; }
    auto const o = r.value("objective", "") == "context_first" ? objective::context_first
                                                               : objective::experts_first;
    bytes const b{r.at("budget").at("bytes")};
    outcome const out = solve(t, b, d, o);
    CHECK(laws::hold({t, b, d, o}, out));
    REQUIRE(out.ok == !want.contains("error"));
    for (document const& p : r.at("kv")) {
      ++covered[p.at("family")];
    }
    if (!out) {
      CHECK(want.at("shortfall") == out.error.shortfall.count);
      ++exact;
      continue;
    }
    document pools = document::array();
    for (std::int64_t i = 0; i + 1 < t.pools.size; ++i) {
      pools.push_back(pool_of(t, *out, i));
    }
    CHECK(pools == want.at("pools"));
    bool const same =
        want.at("slots") == out->slots.count && want.at("usable_pages") == out->pages.count &&
        want.at("physical_pages") == out->physical.count &&
        want.at("prefill_buffer") == out->prefill_buffer && want.at("fixed") == out->fixed.count &&
        want.at("kv") == out->kv.count && want.at("left") == out->left.count;
    CHECK(same);
    exact += same && pools == want.at("pools") ? 1 : 0;
  }
  CHECK(exact == 300);
  CHECK(covered["sliding_window"] == 121);
  CHECK(covered["compressed_tiers"] == 82);
}
