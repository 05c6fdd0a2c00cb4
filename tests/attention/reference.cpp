// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attention_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double floor_ulps = 0x1p-21;  // see `answer`

/// Positions that a query sees, in the words of the contract: not past the length, with a causal
/// mask not after itself, with a window of W only the last W including itself; no sentinel.
std::vector<std::int32_t> seen_by(std::int64_t position, keys_of_head const& keys,
                                  score_rules const& rules) {
  std::vector<std::int32_t> out;
  if (position < 0) { return out; }
  for (std::int32_t t = 0; t < keys.tokens; ++t) {
    bool const later = t > position;
    bool const too_old = rules.window_tokens > 0 && position - t >= rules.window_tokens;
    if (keys.there[static_cast<std::size_t>(t)] && !(rules.causal && later) && !too_old) {
      out.push_back(t);
    }
  }
  return out;
}

/// In sums of every eighth, which a compiler may make a vector of.
template <class Real>
Real dot_product(float const* a, float const* b, std::size_t count) {
  Real sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      sums[j] += static_cast<Real>(a[i + j]) * static_cast<Real>(b[i + j]);
    }
  }
  for (; i < count; ++i) {
    sums[i % 8] += static_cast<Real>(a[i]) * static_cast<Real>(b[i]);
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Plain attention in one type of number: scale, soft-cap, softmax with the sink, sum.
template <class Real>
struct attended {
  std::vector<Real> out;
  Real lse;

  attended(keys_of_head const& keys, std::vector<float> const& q,
           std::vector<std::int32_t> const& seen, score_rules const& rules)
      : out(static_cast<std::size_t>(keys.v_head_dim), Real{0}),
        lse{-std::numeric_limits<Real>::infinity()} {
    if (seen.empty()) { return; }
    std::vector<Real> scores(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      auto const t = static_cast<std::size_t>(seen[i]);
      float const* const k = keys.k.data() + t * q.size();
      Real const dot = dot_product<Real>(q.data(), k, q.size());
      Real score = dot * static_cast<Real>(keys.k_scale[t]) * static_cast<Real>(rules.scale);
      if (rules.soft_cap > 0) {
        auto const cap = static_cast<Real>(rules.soft_cap);
        score = cap * std::tanh(score / cap);
      }
      scores[i] = score;
    }
    Real most = *std::max_element(scores.begin(), scores.end());
    if (rules.has_sink) { most = std::max(most, static_cast<Real>(rules.sink)); }
    Real sum = rules.has_sink ? std::exp(static_cast<Real>(rules.sink) - most) : Real{0};
    for (std::size_t i = 0; i < seen.size(); ++i) {
      auto const t = static_cast<std::size_t>(seen[i]);
      Real const weight = std::exp(scores[i] - most);
      sum += weight;
      Real const by = weight * static_cast<Real>(keys.v_scale[t]);
      float const* const v = keys.v.data() + t * out.size();
      for (std::size_t d = 0; d < out.size(); ++d) {
        out[d] += by * static_cast<Real>(v[d]);
      }
    }
    for (Real& o : out) {
      o /= sum;
    }
    lse = most + std::log(sum);
  }
};

}  // namespace

std::int32_t tokens_within(std::int64_t kv_len, std::int64_t columns, std::int64_t page_tokens) {
  return static_cast<std::int32_t>(std::clamp(kv_len, std::int64_t{0}, columns * page_tokens));
}

keys_of_head keys_of(kv_pool const& pool, std::int32_t const* row, std::int32_t tokens,
                     std::int32_t head) {
  kv_shape const& s = pool.shape();
  auto const count = static_cast<std::size_t>(tokens);
  keys_of_head out;
  out.tokens = tokens;
  out.head_dim = s.head_dim;
  out.v_head_dim = s.v_head_dim;
  out.k.resize(count * static_cast<std::size_t>(s.head_dim));
  out.v.resize(count * static_cast<std::size_t>(s.v_head_dim));
  out.k_scale.assign(count, s.k_scale);
  out.v_scale.assign(count, s.v_scale);
  out.there.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    std::int32_t const page = row[t / static_cast<std::size_t>(s.page_tokens)];
    auto const slot = static_cast<std::int32_t>(t % static_cast<std::size_t>(s.page_tokens));
    out.there[t] = pool.gives_out(page);
    if (!out.there[t]) { continue; }
    auto const take = [&](plane p, std::int32_t dim, std::vector<float>& to) {
      std::vector<float> const r = load_row(pool.at(p, page, slot, head), s.dtype, dim);
      std::copy(r.begin(), r.end(), to.begin() + static_cast<std::ptrdiff_t>(t * r.size()));
    };
    take(plane::k, s.head_dim, out.k);
    take(plane::v, s.v_head_dim, out.v);
    if (s.row_scales) {
      std::memcpy(&out.k_scale[t], pool.at(plane::k_scales, page, slot, head), sizeof(float));
      std::memcpy(&out.v_scale[t], pool.at(plane::v_scales, page, slot, head), sizeof(float));
    }
  }
  return out;
}

answer attend_row(keys_of_head const& keys, std::vector<float> const& q, std::int64_t position,
                  score_rules const& rules, element out_dtype) {
  std::vector<std::int32_t> const seen = seen_by(position, keys, rules);
  attended<double> const exact{keys, q, seen, rules};
  answer out{exact.out, exact.lse};
  if (seen.empty()) { return out; }

  attended<float> const same{keys, q, seen, rules};
  double largest_score = 0, largest_v = 0;
  for (std::int32_t const at : seen) {
    auto const t = static_cast<std::size_t>(at);
    double size = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
      size += std::fabs(static_cast<double>(q[d]) * static_cast<double>(keys.k[t * q.size() + d]));
    }
    largest_score = std::max(largest_score, size * std::fabs(keys.k_scale[t] * rules.scale));
    for (std::size_t d = 0; d < out.out.size(); ++d) {
      double const v = keys.v[t * out.out.size() + d];
      largest_v = std::max(largest_v, std::fabs(v * static_cast<double>(keys.v_scale[t])));
    }
  }
  double const sink = rules.has_sink && std::isfinite(rules.sink) ? std::fabs(rules.sink) : 0.0;
  double const size = 1 + largest_score + sink;
  double same_error = 0;
  for (std::size_t d = 0; d < out.out.size(); ++d) {
    double const stored =
        number_of(out_dtype, nearest_code(out_dtype, static_cast<double>(same.out[d])));
    same_error = std::max(same_error, std::fabs(stored - exact.out[d]));
  }
  out.out_error = 2 * same_error + floor_ulps * size * largest_v;
  out.lse_error = 2 * std::fabs(static_cast<double>(same.lse) - exact.lse) + floor_ulps * size;
  return out;
}

void judge::fail(std::string const& what) {
  if (complaint_.empty()) { complaint_ = what; }
}

void judge::row(std::string const& name, answer const& wanted, std::vector<float> const& out,
                float const* lse) {
  for (std::size_t d = 0; d < wanted.out.size(); ++d) {
    double const error = std::fabs(static_cast<double>(out[d]) - wanted.out[d]);
    if (!(error <= wanted.out_error)) {  // NaN, too
      return fail(name + ": element " + std::to_string(d) + " is " + std::to_string(out[d]) +
                  ", not " + std::to_string(wanted.out[d]) + " within " +
                  std::to_string(wanted.out_error));
    }
    near(error, wanted.out_error);
  }
  if (lse == nullptr) { return; }
  double const got = *lse;
  if (wanted.lse == -infinity ? got != -infinity
                              : !(std::fabs(got - wanted.lse) <= wanted.lse_error)) {
    return fail(name + ": lse is " + std::to_string(got) + ", not " + std::to_string(wanted.lse) +
                " within " + std::to_string(wanted.lse_error));
  }
  if (wanted.lse != -infinity) { near(std::fabs(got - wanted.lse), wanted.lse_error); }
}

}  // namespace attention_test
