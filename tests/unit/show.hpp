// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/request.hpp>

#include <cstdint>
#include <string>

/// A request as the line of JSON that `allot solve` reads, so that what a sweep trips over can be
/// tried by hand.
namespace allot_test {

class shown {
 public:
  explicit shown(allot::request const& r) {
    out_ += "{\"budget\":{";
    field("bytes", r.budget.absolute);
    if (r.budget.baseline) {
      field("baseline_bytes", r.budget.baseline->count);
      field("ratio", r.budget.ratio);
      field("resident_bytes", r.budget.resident.count);
    }
    close("},\"charges\":[");
    for (allot::charge const& c : r.charges) {
      out_ += '{';
      field("bytes", c.bytes.count);
      close("},");
    }
    close("],\"kv\":[");
    for (allot::kv_family const& f : r.kv) {
      pool(f);
    }
    close("]");
    if (r.state) { state(*r.state); }
    if (r.experts) { experts(*r.experts); }
    allot::demand const& d = r.demand;
    out_ += ",\"demand\":{";
    field("min_tokens", d.min_tokens.count);
    field("min_usable_pages", d.min_usable_pages.count);
    field("target_tokens", d.target_tokens);
    field("max_tokens", d.max_tokens);
    field("pages", d.pinned_pages);
    field("tokens", d.pinned_tokens);
    close("},");
    bool const context = r.objective == allot::objective::context_first;
    field("objective", context ? "\"context_first\"" : "\"experts_first\"");
    char const* const arrangements[] = {"\"flat\"", "\"page_major\"", "\"layer_major\""};
    field("arrangement", arrangements[static_cast<int>(r.arrangement)]);
    field("granularity", r.granularity);
    close("}");
  }

  std::string const& line() const { return out_; }

 private:
  template <class T>
  static std::string text_of(T const& value) {
    return std::to_string(value);
  }
  static std::string text_of(bool value) { return value ? "true" : "false"; }
  static std::string text_of(char const* value) { return value; }
  template <class Unit>
  static std::string text_of(allot::quantity<Unit> value) {
    return std::to_string(value.count);
  }
  static std::string text_of(allot::element e) {
    char const* const names[] = {"fp32", "fp16", "bf16", "fp8", "int8", "fp4"};
    return std::string{"\""} + names[static_cast<int>(e)] + "\"";
  }

  template <class T>
  void field(char const* name, T const& value) {
    out_ += std::string{"\""} + name + "\":" + text_of(value) + ",";
  }
  template <class T>
  void field(char const* name, allot::maybe<T> const& value) {
    if (value) { field(name, *value); }
  }
  void close(char const* with) {
    if (out_.back() == ',') { out_.pop_back(); }
    out_ += with;
  }

  void pool(allot::kv_family const& f) {
    out_ += '{';
    if (f.kind == allot::kv_kind::raw) {
      field("family", "\"raw\"");
      field("page_bytes", f.raw.page_bytes.count);
    } else if (f.kind == allot::kv_kind::gqa) {
      field("family", "\"gqa\"");
      field("layers", f.gqa.layers);
      field("kv_heads", f.gqa.kv_heads);
      field("head_dim", f.gqa.head_dim);
      field("v_head_dim", f.gqa.v_head_dim);
      field("dtype", f.gqa.dtype);
      field("tp", f.gqa.tp);
      field("scale_bytes", f.gqa.scale_bytes);
      index(f.gqa.index);
    } else {
      field("family", "\"mla\"");
      field("layers", f.mla.layers);
      field("latent_dim", f.mla.latent_dim);
      field("dtype", f.mla.dtype);
      index(f.mla.index);
    }
    field("page_tokens", f.paging().page_tokens);
    field("sentinel_pages", f.paging().sentinel_pages);
    close("},");
  }

  void index(allot::maybe<allot::index_slab> const& i) {
    if (!i) { return; }
    out_ += "\"index\":{";
    field("head_dim", i->head_dim);
    field("layers", i->layers);
    field("dtype", i->dtype);
    close("},");
  }

  void state(allot::recurrent_state const& s) {
    char const* const kinds[] = {"\"gated_delta\"", "\"kda\"", "\"mamba1\"", "\"mamba2\""};
    out_ += ",\"state\":{";
    field("kind", kinds[static_cast<int>(s.kind)]);
    field("layers", s.layers);
    auto const dim = [&](char const* name, std::int64_t value) {
      if (value != 0) { field(name, value); }
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
    field("conv_kernel", s.conv_kernel);
    field("dtype", s.dtype);
    field("state_dtype", s.state_dtype);
    field("tp", s.tp);
    field("max_running", s.max_running);
    field("prefix_cached", s.prefix_cached);
    field("snapshot_ratio", s.snapshot_ratio);
    field("sentinel_slots", s.sentinel_slots);
    field("slots", s.pinned_slots);
    close("}");
  }

  void experts(allot::expert_bank const& e) {
    char const* const modes[] = {"\"off\"", "\"preferred\"", "\"required\""};
    out_ += ",\"experts\":{";
    field("slot_bytes", e.slot_bytes.count);
    field("per_layer", e.per_layer);
    field("layers", e.layers);
    field("max_slots", e.max_slots);
    field("slots", e.pinned_slots);
    field("prefill_buffer", modes[static_cast<int>(e.buffer)]);
    close("}");
  }

  std::string out_;
};

inline std::string show(allot::request const& r) {
  return shown{r}.line();
}

}  // namespace allot_test
