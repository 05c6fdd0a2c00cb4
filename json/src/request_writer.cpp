// SPDX-License-Identifier: Apache-2.0
// A request as the JSON text that reads as the same request.
#include "fields.hpp"
#include "text_output.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/json/describe.hpp>

namespace allot::json {

namespace {

void append_index(std::string& out, maybe<index_slab> const& index) {
  if (!index) { return; }
  append_name(out, "index");
  out += '{';
  append_field(out, "head_dim", index->head_dim);
  append_field(out, "layers", index->layers);
  append_field(out, "dtype", name_of(index->dtype));
  out += '}';
}

void append_pages(std::string& out, auto const& f) {
  append_field(out, "page_tokens", f.page_tokens);
  append_field(out, "sentinel_pages", f.sentinel_pages);
}

void append_family(std::string& out, raw_pages const& f) {
  append_field(out, "page_bytes", f.page_bytes.count);
  append_pages(out, f);
}

void append_heads(std::string& out, auto const& f) {
  append_field(out, "layers", f.layers);
  append_field(out, "kv_heads", f.kv_heads);
  append_field(out, "head_dim", f.head_dim);
  if (f.v_head_dim) { append_field(out, "v_head_dim", *f.v_head_dim); }
  append_field(out, "dtype", name_of(f.dtype));
  append_field(out, "tp", f.tp);
}

void append_family(std::string& out, gqa const& f) {
  append_heads(out, f);
  append_field(out, "scale_bytes", f.scale_bytes);
  append_index(out, f.index);
  append_pages(out, f);
}

void append_family(std::string& out, mla const& f) {
  append_field(out, "layers", f.layers);
  append_field(out, "latent_dim", f.latent_dim);
  append_field(out, "dtype", name_of(f.dtype));
  append_index(out, f.index);
  append_pages(out, f);
}

void append_family(std::string& out, sliding_window const& f) {
  append_heads(out, f);
  append_field(out, "window_tokens", f.window_tokens);
  if (f.prefill_chunk_tokens) {
    append_field(out, "prefill_chunk_tokens", *f.prefill_chunk_tokens);
  }
  append_field(out, "max_running", f.max_running);
  if (f.ratio) { append_field(out, "ratio", *f.ratio); }
  if (f.pinned_tokens) { append_field(out, "pinned_tokens", f.pinned_tokens->count); }
  append_field(out, "prefix_cached", f.prefix_cached);
  append_field(out, "retain_gap", f.retain_gap);
  append_field(out, "eviction_interval", f.eviction_interval);
  append_field(out, "sentinel_rows", f.sentinel_rows);
  append_field(out, "map_bytes", f.map_bytes);
}

void append_family(std::string& out, compressed_tiers const& f) {
  append_field(out, "head_dim", f.head_dim);
  append_field(out, "index_head_dim", f.index_head_dim);
  append_name(out, "compress_ratios");
  out += '[';
  for (std::int64_t const ratio : f.compress_ratios) {
    append_separator(out);
    append_number(out, ratio);
  }
  out += ']';
  append_field(out, "window_tokens", f.window_tokens);
  if (f.page_tokens) { append_field(out, "page_tokens", *f.page_tokens); }
  if (f.window_ratio) { append_field(out, "window_ratio", *f.window_ratio); }
  if (f.pinned_pages) { append_field(out, "pinned_pages", *f.pinned_pages); }
  append_field(out, "max_running", f.max_running);
  append_field(out, "max_seq_tokens", f.max_seq_tokens);
  append_field(out, "prefix_cached", f.prefix_cached);
  append_field(out, "sentinel_pages", f.sentinel_pages);
}

std::string_view family_name(kv_kind k) {
  switch (k) {
    case kv_kind::raw: return "raw";
    case kv_kind::gqa: return "gqa";
    case kv_kind::mla: return "mla";
    case kv_kind::sliding_window: return "sliding_window";
    case kv_kind::compressed_tiers: return "compressed_tiers";
  }
  return "";
}

void append_pool(std::string& out, kv_family const& f, std::string_view family) {
  append_separator(out);
  out += '{';
  append_field(out, "family", family);
  f.visit([&](auto const& member) {
    std::string_view const name = characters_of(member.name);
    if (name != family_name(f.kind)) { append_field(out, "name", name); }
    append_family(out, member);
  });
  out += '}';
}

void append_state(std::string& out, recurrent_state const& s) {
  append_name(out, "state");
  out += '{';
  if (!(s.name == text{"state"})) { append_field(out, "name", characters_of(s.name)); }
  append_field(out, "kind", fields_of(s.kind).name);
  append_field(out, "layers", s.layers);
  // Of the dimensions only those of the kind are given.
  auto const dim = [&](std::string_view name, std::int64_t value) {
    if (value != 0) { append_field(out, name, value); }
  };
  dim("key_heads", s.key_heads);
  dim("value_heads", s.value_heads);
  dim("key_head_dim", s.key_head_dim);
  dim("value_head_dim", s.value_head_dim);
  dim("heads", s.heads);
  dim("head_dim", s.head_dim);
  dim("groups", s.groups);
  dim("inner_dim", s.inner_dim);
  dim("state_dim", s.state_dim);
  append_field(out, "conv_kernel", s.conv_kernel);
  append_field(out, "dtype", name_of(s.dtype));
  append_field(out, "state_dtype", name_of(s.state_dtype));
  append_field(out, "tp", s.tp);
  append_field(out, "max_running", s.max_running);
  append_field(out, "snapshot_ratio", s.snapshot_ratio);
  append_field(out, "prefix_cached", s.prefix_cached);
  append_field(out, "sentinel_slots", s.sentinel_slots);
  if (s.pinned_slots) { append_field(out, "slots", s.pinned_slots->count); }
  out += '}';
}

void append_experts(std::string& out, expert_bank const& e) {
  append_name(out, "experts");
  out += '{';
  append_field(out, "slot_bytes", e.slot_bytes.count);
  append_field(out, "per_layer", e.per_layer);
  append_field(out, "layers", e.layers);
  if (e.max_slots) { append_field(out, "max_slots", e.max_slots->count); }
  if (e.pinned_slots) { append_field(out, "slots", e.pinned_slots->count); }
  append_field(out, "prefill_buffer", name_of(e.buffer));
  out += '}';
}

void append_demand(std::string& out, demand const& d) {
  append_name(out, "demand");
  out += '{';
  append_field(out, "min_tokens", d.min_tokens.count);
  append_field(out, "min_usable_pages", d.min_usable_pages.count);
  if (d.target_tokens) { append_field(out, "target_tokens", d.target_tokens->count); }
  if (d.max_tokens) { append_field(out, "max_tokens", d.max_tokens->count); }
  if (d.pinned_pages) { append_field(out, "pages", d.pinned_pages->count); }
  if (d.pinned_tokens) { append_field(out, "tokens", d.pinned_tokens->count); }
  out += '}';
}

void append_budget(std::string& out, budget const& b) {
  append_name(out, "budget");
  out += '{';
  if (b.absolute) { append_field(out, "bytes", b.absolute->count); }
  if (b.baseline) {
    append_field(out, "baseline_bytes", b.baseline->count);
    append_field(out, "ratio", b.ratio);
    append_field(out, "resident_bytes", b.resident.count);
  }
  out += '}';
}

}  // namespace

void append_request(std::string& out, request const& r,
                    std::span<std::string_view const> families) {
  out += '{';
  append_budget(out, r.budget);
  if (r.charges.size > 0) {
    append_name(out, "charges");
    out += '[';
    for (charge const& c : r.charges) {
      append_separator(out);
      out += '{';
      append_field(out, "name", characters_of(c.name));
      append_field(out, "bytes", c.bytes.count);
      out += '}';
    }
    out += ']';
  }
  append_name(out, "kv");
  out += '[';
  for (std::int64_t i = 0; i < r.kv.size; ++i) {
    auto const index = static_cast<std::size_t>(i);
    append_pool(out, r.kv[i],
                index < families.size() ? families[index] : family_name(r.kv[i].kind));
  }
  out += ']';
  if (r.state) { append_state(out, *r.state); }
  if (r.experts) { append_experts(out, *r.experts); }
  append_demand(out, r.demand);
  append_field(out, "objective", name_of(r.objective));
  append_field(out, "granularity", r.granularity);
  append_field(out, "arrangement", name_of(r.arrangement));
  out += '}';
}

}  // namespace allot::json
