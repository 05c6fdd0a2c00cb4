// SPDX-License-Identifier: Apache-2.0
// What the objects of a request mean once they are closed.
#include "request_builder.hpp"

namespace allot::json {

text request_builder::name_given(frame const& f, unsigned index, text otherwise) const {
  if (!has(f, index)) { return otherwise; }
  given_value const& v = value_of(f.where, index);
  return {v.name, v.name_size};
}

/// Charges may be none; a list of pools, of banks or of ratios may not be empty.
void request_builder::end_list(frame const& f) {
  if (f.where == place::charge || f.index >= 0) { return; }
  if (report(read_error::wrong_value, path_to({}), tokens_)) {
    fault_.value = "[]";
    fault_.expected = f.where == place::pool     ? "a list of at least one pool"
                      : f.where == place::ratios ? "0, 4 or 128 for each layer"
                                                 : "a list of at least one {\"rows_bytes\"}";
  }
}

void request_builder::end_budget(frame const& f) {
  budget& b = into_.request_.budget;
  if (has(f, at_budget::bytes)) {
    for (unsigned const other :
         {at_budget::baseline_bytes, at_budget::ratio, at_budget::resident_bytes}) {
      if (has(f, other)) {
        report_both(f, at_budget::bytes, other);
        break;
      }
    }
    b = bytes{value_of(f.where, at_budget::bytes).whole};
    return;
  }
  if (!has(f, at_budget::baseline_bytes) && !has(f, at_budget::ratio)) {
    if (report(read_error::wrong_value, path_to({}), tokens_)) {
      fault_.value = "incomplete";
      fault_.expected = "{\"bytes\"}, or {\"baseline_bytes\", \"ratio\", \"resident_bytes\"}";
      fault_.removable = false;
    }
    return;
  }
  need(f, set_of(at_budget::baseline_bytes, at_budget::ratio), "a budget without bytes");
  b = budget::share_of({whole(f, at_budget::baseline_bytes, 0)},
                       has(f, at_budget::ratio) ? value_of(f.where, at_budget::ratio).number : 1.0,
                       {whole(f, at_budget::resident_bytes, 0)});
}

void request_builder::end_charge(frame const& f) {
  need(f, set_of(at_charge::bytes));
  into_.charges_.push_back(
      {name_given(f, at_charge::name, "charge"), {whole(f, at_charge::bytes, 0)}});
}

void request_builder::end_index(frame const& f) {
  need(f, set_of(at_index::head_dim, at_index::layers));
  index_ = index_slab{
      whole(f, at_index::head_dim, 1), whole(f, at_index::layers, 1),
      static_cast<element>(whole(f, at_index::dtype, static_cast<std::int64_t>(element::bf16)))};
}

/// Fields that other families, or other kinds of state, have.
void request_builder::refuse_foreign(frame const& f, family_fields const& family) {
  field_set const foreign = f.seen & ~f.absent & ~family.allowed;
  auto const fields = fields_of(f.where);
  for (unsigned i = 0; foreign != 0 && i < fields.size(); ++i) {
    if ((foreign & set_of(i)) != 0) {
      report_unknown(fields[i].name, value_of(f.where, i).at, family.allowed, family.name);
    }
  }
}

void request_builder::end_pool(frame const& f) {
  if (!has(f, at_pool::family)) {
    need(f, set_of(at_pool::family));
    into_.kv_.emplace_back();
    into_.families_.emplace_back("raw");
    return;
  }
  auto const chosen = static_cast<read_family>(value_of(f.where, at_pool::family).whole);
  family_fields const& family = fields_of(chosen);
  refuse_foreign(f, family);
  need(f, family.needed, family.name);

  bool const has_index = has(f, at_pool::index);
  std::int64_t const page_tokens = whole(f, at_pool::page_tokens, 1);
  std::int64_t const sentinels = whole(f, at_pool::sentinel_pages, 1);
  auto const dtype = static_cast<element>(whole(f, at_pool::dtype, 0));
  maybe<index_slab> const index = has_index ? index_ : maybe<index_slab>{};
  into_.families_.push_back(family.name);
  if (has(f, at_pool::compress_ratios) && chosen != read_family::compressed_tiers) {
    into_.ratios_.resize(first_ratio_);
  }
  switch (chosen) {
    case read_family::raw: {
      raw_pages p{.page_bytes = {whole(f, at_pool::page_bytes, 1)},
                  .page_tokens = page_tokens,
                  .sentinel_pages = sentinels};
      p.name = name_given(f, at_pool::name, p.name);
      into_.kv_.emplace_back(p);
      break;
    }
    case read_family::gqa:
    case read_family::block_sparse: {
      gqa p{.layers = whole(f, at_pool::layers, 1),
            .kv_heads = whole(f, at_pool::kv_heads, 1),
            .head_dim = whole(f, at_pool::head_dim, 1),
            .dtype = dtype,
            .tp = whole(f, at_pool::tp, 1),
            .scale_bytes = whole(f, at_pool::scale_bytes, 0),
            .index = index,
            .page_tokens = page_tokens,
            .sentinel_pages = sentinels};
      if (has(f, at_pool::v_head_dim)) { p.v_head_dim = whole(f, at_pool::v_head_dim, 0); }
      p.name = name_given(f, at_pool::name, p.name);
      into_.kv_.emplace_back(p);
      break;
    }
    case read_family::mla: {
      mla p{.layers = whole(f, at_pool::layers, 1),
            .latent_dim = whole(f, at_pool::latent_dim, 1),
            .dtype = dtype,
            .index = index,
            .page_tokens = page_tokens,
            .sentinel_pages = sentinels};
      p.name = name_given(f, at_pool::name, p.name);
      into_.kv_.emplace_back(p);
      break;
    }
    case read_family::sliding_window: into_.kv_.emplace_back(window_given(f)); break;
    case read_family::compressed_tiers: into_.kv_.emplace_back(tiers_given(f)); break;
  }
}

/// Of two alternatives one must be given, and not both.
void request_builder::need_one(frame const& f, unsigned one, unsigned other, std::string_view right,
                               std::string_view owner) {
  if (has(f, one) && has(f, other)) { report_both(f, one, other); }
  if (!has(f, one) && !has(f, other)) {
    report_missing(path_to(fields_of(f.where)[one].name), right, owner);
  }
}

kv_family request_builder::window_given(frame const& f) {
  sliding_window p{.layers = whole(f, at_pool::layers, 1),
                   .kv_heads = whole(f, at_pool::kv_heads, 1),
                   .head_dim = whole(f, at_pool::head_dim, 1),
                   .dtype = static_cast<element>(whole(f, at_pool::dtype, 0)),
                   .tp = whole(f, at_pool::tp, 1),
                   .window_tokens = whole(f, at_pool::window_tokens, 1),
                   .max_running = whole(f, at_pool::max_running, 1),
                   .prefix_cached = whole(f, at_pool::prefix_cached, 1) != 0};
  p.retain_gap = whole(f, at_pool::retain_gap, p.retain_gap);
  p.eviction_interval = whole(f, at_pool::eviction_interval, p.eviction_interval);
  p.sentinel_rows = whole(f, at_pool::sentinel_rows, p.sentinel_rows);
  p.map_bytes = whole(f, at_pool::map_bytes, p.map_bytes);
  if (has(f, at_pool::v_head_dim)) { p.v_head_dim = whole(f, at_pool::v_head_dim, 0); }
  if (has(f, at_pool::prefill_chunk_tokens)) {
    p.prefill_chunk_tokens = whole(f, at_pool::prefill_chunk_tokens, 1);
  }
  if (has(f, at_pool::ratio)) { p.ratio = value_of(f.where, at_pool::ratio).number; }
  if (has(f, at_pool::pinned_tokens)) {
    p.pinned_tokens = tokens{whole(f, at_pool::pinned_tokens, 1)};
  }
  if (p.prefix_cached) {
    need_one(f, at_pool::ratio, at_pool::pinned_tokens,
             "a number above 0 and at most 1, or pinned_tokens", "sliding_window");
  } else {
    need(f, set_of(at_pool::prefill_chunk_tokens), "sliding_window without a prefix cache");
  }
  p.name = name_given(f, at_pool::name, p.name);
  return p;
}

kv_family request_builder::tiers_given(frame const& f) {
  compressed_tiers p{.head_dim = whole(f, at_pool::head_dim, 1),
                     .index_head_dim = whole(f, at_pool::index_head_dim, 1),
                     .window_tokens = whole(f, at_pool::window_tokens, 1),
                     .max_running = whole(f, at_pool::max_running, 1),
                     .max_seq_tokens = whole(f, at_pool::max_seq_tokens, 1),
                     .prefix_cached = whole(f, at_pool::prefix_cached, 0) != 0,
                     .sentinel_pages = whole(f, at_pool::sentinel_pages, 1)};
  if (has(f, at_pool::compress_ratios)) {
    // The numbers of all tiers may still move; `end_request` says where they are.
    p.compress_ratios = {nullptr, static_cast<std::int64_t>(into_.ratios_.size() - first_ratio_)};
  }
  if (has(f, at_pool::page_tokens)) { p.page_tokens = whole(f, at_pool::page_tokens, 1); }
  if (has(f, at_pool::window_ratio)) {
    p.window_ratio = value_of(f.where, at_pool::window_ratio).number;
  }
  if (has(f, at_pool::pinned_pages)) { p.pinned_pages = whole(f, at_pool::pinned_pages, 1); }
  need_one(f, at_pool::window_ratio, at_pool::pinned_pages,
           "a number above 0 and at most 1, or pinned_pages", "compressed_tiers");
  p.name = name_given(f, at_pool::name, p.name);
  return p;
}

void request_builder::end_state(frame const& f) {
  auto const kind = static_cast<state_kind>(whole(f, at_state::kind, 0));
  family_fields const& of_kind = fields_of(kind);
  refuse_foreign(f, of_kind);
  field_set needed = of_kind.needed;
  if (!has(f, at_state::slots)) { needed |= set_of(at_state::max_running); }
  need(f, needed, has(f, at_state::kind) ? of_kind.name : std::string_view{});
  recurrent_state s{.kind = kind,
                    .layers = whole(f, at_state::layers, 1),
                    .key_heads = whole(f, at_state::key_heads, 0),
                    .value_heads = whole(f, at_state::value_heads, 0),
                    .key_head_dim = whole(f, at_state::key_head_dim, 0),
                    .value_head_dim = whole(f, at_state::value_head_dim, 0),
                    .heads = whole(f, at_state::heads, 0),
                    .head_dim = whole(f, at_state::head_dim, 0),
                    .groups = whole(f, at_state::groups, 0),
                    .inner_dim = whole(f, at_state::inner_dim, 0),
                    .state_dim = whole(f, at_state::state_dim, 0),
                    .conv_kernel = whole(f, at_state::conv_kernel, 1),
                    .dtype = static_cast<element>(whole(f, at_state::dtype, 0)),
                    .state_dtype = static_cast<element>(
                        whole(f, at_state::state_dtype, static_cast<std::int64_t>(element::fp32))),
                    .tp = whole(f, at_state::tp, 1),
                    .max_running = whole(f, at_state::max_running, 1),
                    .prefix_cached = whole(f, at_state::prefix_cached, 0) != 0,
                    .sentinel_slots = whole(f, at_state::sentinel_slots, 1)};
  if (has(f, at_state::snapshot_ratio)) {
    s.snapshot_ratio = value_of(f.where, at_state::snapshot_ratio).number;
  }
  if (has(f, at_state::slots)) {
    s.pinned_slots = usable_state_slots{whole(f, at_state::slots, 1)};
  }
  s.name = name_given(f, at_state::name, s.name);
  into_.request_.state = s;
}

void request_builder::end_bank(frame const& f) {
  need(f, set_of(at_bank::rows_bytes));
  banks_ = banks_ + whole(f, at_bank::rows_bytes, 1);
  if (banks_.overflowed && report(read_error::too_big, path_to("rows_bytes"), tokens_)) {
    fault_.value = std::to_string(whole(f, at_bank::rows_bytes, 1));
    fault_.expected = "banks of less than 2^63 bytes together";
    fault_.removable = false;
  }
}

void request_builder::end_experts(frame const& f) {
  bool const stated = has(f, at_experts::slot_bytes);
  bool const banked = has(f, at_experts::banks);
  if (stated && banked) { report_both(f, at_experts::slot_bytes, at_experts::banks); }
  if (!stated && !banked) {
    report_missing(path_to("slot_bytes"), "an integer of at least 1, or banks", "experts");
  }
  need(f, set_of(at_experts::per_layer, at_experts::layers));
  expert_bank e{
      .slot_bytes = {stated        ? whole(f, at_experts::slot_bytes, 1)
                     : banks_.ok() ? banks_.value
                                   : 1},
      .per_layer = whole(f, at_experts::per_layer, 1),
      .layers = whole(f, at_experts::layers, 1),
      .buffer = static_cast<prefill_buffer>(whole(
          f, at_experts::prefill_buffer, static_cast<std::int64_t>(prefill_buffer::preferred)))};
  if (has(f, at_experts::max_slots)) {
    e.max_slots = expert_slots{whole(f, at_experts::max_slots, 1)};
  }
  if (has(f, at_experts::slots)) { e.pinned_slots = expert_slots{whole(f, at_experts::slots, 1)}; }
  into_.request_.experts = e;
}

void request_builder::end_demand(frame const& f) {
  demand d;
  auto const tokens_given = [&](unsigned index) {
    return has(f, index) ? maybe<tokens>{tokens{whole(f, index, 0)}} : maybe<tokens>{};
  };
  d.min_tokens = {whole(f, at_demand::min_tokens, d.min_tokens.count)};
  d.min_usable_pages = {whole(f, at_demand::min_usable_pages, d.min_usable_pages.count)};
  d.target_tokens = tokens_given(at_demand::target_tokens);
  d.max_tokens = tokens_given(at_demand::max_tokens);
  d.pinned_tokens = tokens_given(at_demand::tokens);
  if (has(f, at_demand::pages)) { d.pinned_pages = usable_pages{whole(f, at_demand::pages, 1)}; }
  into_.request_.demand = d;
}

void request_builder::end_request(frame const& f) {
  need(f, set_of(at_request::budget));
  need(f, set_of(at_request::kv));
  request& r = into_.request_;
  std::int64_t const* ratios = into_.ratios_.data();
  for (kv_family& p : into_.kv_) {
    if (p.kind != kv_kind::compressed_tiers) { continue; }
    p.tiers.compress_ratios.data = ratios;
    ratios += p.tiers.compress_ratios.size;
  }
  r.charges = {into_.charges_.data(), static_cast<std::int64_t>(into_.charges_.size())};
  r.kv = {into_.kv_.data(), static_cast<std::int64_t>(into_.kv_.size())};
  r.objective = static_cast<objective>(
      whole(f, at_request::objective, static_cast<std::int64_t>(objective::experts_first)));
  r.granularity = whole(f, at_request::granularity, 1);
  r.arrangement = static_cast<arrangement>(
      whole(f, at_request::arrangement, static_cast<std::int64_t>(arrangement::flat)));
}

}  // namespace allot::json
