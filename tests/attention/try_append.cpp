// SPDX-License-Identifier: Apache-2.0
#include "try_append.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace attention_test {
namespace {

rows_place place_rows(dice& d, bool odd, element e, std::int64_t rows, std::int64_t heads,
                      std::int64_t dim) {
  return odd ? scattered(d, e, rows, heads, dim) : packed(e, rows, heads, dim);
}

/// Whether a cell may hold `got` for the value.
bool is_stored(element e, code got, double value) {
  if (std::isnan(value)) { return is_nan(e, got); }
  if (got == nearest_code(e, value)) { return true; }
  // Halfway, for an operator that divides in fp32 or multiplies by what it divided.
  return got == nearest_code(e, value * (1 + 0x1p-22)) ||
         got == nearest_code(e, value * (1 - 0x1p-22));
}

/// The scale that makes the largest finite element 448.
double scale_of(std::vector<float> const& row) {
  double most = 0;
  for (float const x : row) {
    if (std::isfinite(x)) { most = std::max(most, static_cast<double>(std::fabs(x))); }
  }
  return most == 0 ? 1.0 : most / 448;
}

struct cell_check {
  kv_pool& pool;
  std::int64_t slot;
  std::string wrong{};

  /// Judges a row, and takes what the card has into the image when it is right.
  void row(plane p, plane scales, std::int32_t head, std::byte const* got,
           std::byte const* got_scale, std::vector<float> const& values, double tensor_scale) {
    kv_shape const& s = pool.shape();
    auto const page = static_cast<std::int32_t>(slot / s.page_tokens);
    auto const token = static_cast<std::int32_t>(slot % s.page_tokens);
    double scale = s.dtype == element::fp8 ? tensor_scale : 1.0;
    if (s.row_scales) {
      float stored = 0;
      std::memcpy(&stored, got_scale, sizeof stored);
      scale = static_cast<double>(stored);
      double const wanted = scale_of(values);
      if (!(std::fabs(scale - wanted) <= wanted * 0x1p-23)) {
        return fail(head, "scale is " + std::to_string(scale) + ", not " + std::to_string(wanted));
      }
      std::memcpy(pool.at(scales, page, token, head), got_scale, sizeof stored);
    }
    std::int64_t const unit = allot::bits_of(s.dtype) / 8;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::byte const* const cell = got + static_cast<std::int64_t>(i) * unit;
      code const c = load(cell, s.dtype);
      double const value = static_cast<double>(values[i]) / scale;
      if (!is_stored(s.dtype, c, value)) {
        return fail(head, "element " + std::to_string(i) + " holds code " + std::to_string(c) +
                              " for " + std::to_string(value));
      }
    }
    std::memcpy(pool.at(p, page, token, head), got, values.size() * static_cast<std::size_t>(unit));
  }

  void fail(std::int32_t head, std::string const& what) {
    if (wrong.empty()) {
      wrong = "slot " + std::to_string(slot) + " head " + std::to_string(head) + ": " + what;
    }
  }
};

/// Slots that mean something, all different, among some that mean nothing.
std::vector<std::int64_t> draw_slots(kv_pool const& pool, std::int64_t tokens, dice& d) {
  std::int64_t const page = pool.shape().page_tokens;
  std::vector<std::int64_t> cells(
      static_cast<std::size_t>((pool.end_page() - pool.first_page()) * page));
  std::iota(cells.begin(), cells.end(), pool.first_page() * page);
  std::shuffle(cells.begin(), cells.end(), d.engine);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (static_cast<std::size_t>(i) >= cells.size() || d.chance(20)) {
      out.push_back(d.pick({std::int64_t{-1}, std::int64_t{-1}, std::int64_t{-7}, INT64_MIN,
                            INT64_MAX, std::int64_t{INT32_MAX} + 5,
                            std::int64_t{pool.all_pages()} * page + d.roll(0, 40),
                            // Of a sentinel, or where there is none of no page.
                            pool.first_page() > 0 ? d.roll(0, page - 1)
                                                  : pool.end_page() * page + d.roll(0, page - 1)}));
    } else {
      out.push_back(cells[static_cast<std::size_t>(i)]);
    }
  }
  return out;
}

}  // namespace

std::vector<code> draw_hard_row(dice& d, element e, std::int64_t dim) {
  std::vector<code> out = draw_row(d, e, dim, d.pick({1.0, 1.0, 100.0, 0.001}));
  for (code& c : out) {
    if (!d.chance(12)) { continue; }
    double const value = d.pick({0.0, -0.0, 464.0, 465.0, -480.0, 1e4, -6e4, 0x1p-9, 0x1p-10,
                                 0x1.8p-10, -0x1p-14, 0x1p-24, std::nan(""), HUGE_VAL, -HUGE_VAL});
    c = nearest_code(e, value);
  }
  return out;
}

appended::appended(kv_shape const& shape, element dtype, std::int64_t tokens, bool odd, dice& d)
    : k{place_rows(d, odd, dtype, tokens, shape.heads, shape.head_dim)},
      v{place_rows(d, odd, dtype, tokens, shape.heads, shape.v_head_dim)} {}

allot::append_call appended::call(kv_pool const& pool) {
  k.upload();
  v.upload();
  slots_on_card_ = on_card<std::int64_t>{slots};
  allot::append_call out{.cache = pool.cache(),
                         .k = k.in(),
                         .v = v.in(),
                         .slots = slots_on_card_.data(),
                         .tokens = static_cast<std::int32_t>(slots.size())};
  if (pool.shape().v_is_k) { out.v = {}; }
  return out;
}

std::string check_appended(kv_pool& pool, appended const& tokens) {
  kv_shape const& s = pool.shape();
  pool.take_card();
  std::string wrong;
  for (std::size_t t = 0; t < tokens.slots.size() && wrong.empty(); ++t) {
    std::int64_t const slot = tokens.slots[t];
    if (slot < 0 || !pool.gives_out(slot / s.page_tokens)) { continue; }
    auto const page = static_cast<std::int32_t>(slot / s.page_tokens);
    auto const token = static_cast<std::int32_t>(slot % s.page_tokens);
    cell_check check{pool, slot};
    for (std::int32_t head = 0; head < s.heads; ++head) {
      auto const row = static_cast<std::int64_t>(t);
      auto const on_card = [&](plane p) {
        return s.row_scales || p == plane::k || p == plane::v
                   ? pool.on_card_at(p, page, token, head)
                   : nullptr;
      };
      check.row(plane::k, plane::k_scales, head, on_card(plane::k), on_card(plane::k_scales),
                tokens.k.row(row, head), static_cast<double>(s.k_scale));
      if (s.v_is_k) { continue; }
      check.row(plane::v, plane::v_scales, head, on_card(plane::v), on_card(plane::v_scales),
                tokens.v.row(row, head), static_cast<double>(s.v_scale));
    }
    wrong = check.wrong;
  }
  return wrong.empty() ? pool.changed() : wrong;
}

std::string try_append(attention_shape const& s, tally& seen) {
  dice d{s.seed};
  kv_pool pool{s.kv, s.placing, d};
  for (std::int32_t page = pool.first_page(); page < pool.end_page(); ++page) {
    for (std::int32_t token = 0; token < s.kv.page_tokens; ++token) {
      if (d.chance(50)) { pool.write_token(d, page, token); }
    }
  }
  pool.upload();
  std::int64_t const count = d.chance(4) ? 0 : d.roll(1, 40);
  appended tokens{s.kv, s.q_dtype, count, s.odd_rows, d};
  tokens.slots = draw_slots(pool, count, d);
  bool const hard = d.chance(60);
  auto const values = [&](std::int64_t dim) {
    if (d.chance(8)) { return std::vector<code>(static_cast<std::size_t>(dim), 0); }
    return hard ? draw_hard_row(d, s.q_dtype, dim) : draw_row(d, s.q_dtype, dim);
  };
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int32_t head = 0; head < s.kv.heads; ++head) {
      tokens.k.set(t, head, values(s.kv.head_dim));
      tokens.v.set(t, head, values(s.kv.v_head_dim));
    }
  }
  the_card().attend.append(tokens.call(pool));
  the_card().work.wait();

  bool const fp8 = s.kv.dtype == element::fp8;
  auto const any_slot = [&](auto has) {
    return std::any_of(tokens.slots.begin(), tokens.slots.end(), has);
  };
  std::int64_t const page = s.kv.page_tokens;
  seen.note("no tokens", count == 0);
  seen.note("one to eight tokens", count > 0 && count < 9);
  seen.note("slot -1", any_slot([](std::int64_t slot) { return slot == -1; }));
  seen.note("other slots below 0", any_slot([](std::int64_t slot) { return slot < -1; }));
  seen.note("slots past the pool",
            any_slot([&](std::int64_t slot) { return slot >= page * pool.all_pages(); }));
  seen.note("slots of sentinels", any_slot([&](std::int64_t slot) {
              return slot >= 0 && slot < page * pool.all_pages() && !pool.gives_out(slot / page);
            }));
  seen.note("numbers that are none", hard);
  seen.note("rows with gaps", s.odd_rows);
  seen.note("V is K", s.kv.v_is_k);
  seen.note("fp8", fp8);
  seen.note("fp8 with row scales", s.kv.row_scales);
  seen.note("fp8 with tensor scales", fp8 && s.kv.k_scale != 1.0F);
  seen.note("the type of the cache", s.q_dtype == s.kv.dtype);
  seen.note("another type than the cache", !fp8 && s.q_dtype != s.kv.dtype);
  seen.note("by hand", s.placing.how == laid::by_hand);
  seen.note("flat", s.placing.how == laid::flat);
  seen.note("layer_major", s.placing.how == laid::layer_major);
  seen.note("page_major", s.placing.how == laid::page_major);
  seen.note("head_major", s.placing.order == allot::kv_order::head_major);
  seen.note("a later layer", s.placing.layer > 0);
  return check_appended(pool, tokens);
}

}  // namespace attention_test
