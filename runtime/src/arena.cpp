// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/arena.hpp>
#include <allot/runtime/guard.hpp>

#include <optional>

namespace allot::runtime {
namespace {

constexpr std::byte poison{0xFF};
constexpr std::byte canary_byte{0xA5};

std::string string_of(text t) {
  return {t.data, static_cast<std::size_t>(t.size)};
}

/// What the same walk prices the counts of a plan at.
checked priced_bytes(table_view const& t, plan const& p) {
  return state_bytes(t) + expert_bytes(t, p.slots.count) + kv_bytes(t, p.pages.count);
}

arena_map map_of(table_view const& t, plan const& p) {
  return lay_out(t, p, [](std::int32_t, placement const&) {});
}

void check_carved(bytes carved, checked planned) {
  if (checked{carved.count} == planned) { return; }
  throw carving_error("the arena is carved into " + std::to_string(carved.count) +
                      " bytes, but the plan was priced at " +
                      (planned.ok() ? std::to_string(planned.value) : "more than 2^63") +
                      ": it is a plan of another table");
}

}  // namespace

bytes arena::planned_bytes(table_view const& t, plan const& p) noexcept {
  return {p.kv.count + p.experts.count + p.fixed.count - t.charge_bytes.value};
}

arena::arena(table_view const& t, plan const& p, memory_resource& from, guarding guard,
             backend* work) {
  bool const guarded = guard == guarding::on;
  if (guarded && work == nullptr) {
    throw std::invalid_argument("a guarded arena needs a backend to write its canaries with");
  }
  map_ = map_of(t, p);
  check_carved(map_.carved, planned_bytes(t, p).count);
  check_carved(map_.carved, priced_bytes(t, p));
  if (!guarded) {
    carve(t, p, map_.arena, nullptr);
    memory_ = buffer{from, map_.arena.count};
    return;
  }
  guarded_table const with_canaries{t};
  table_view const g = with_canaries.view();
  bytes const planned = map_.carved;
  std::int64_t const gap = map_.arena.count - map_.carved.count;
  bytes const needed = map_of(g, p).carved;
  check_carved(needed, priced_bytes(g, p));
  carve(g, p, *(needed + bytes{gap}), &with_canaries);
  memory_ = buffer{from, map_.arena.count};
  map_.carved = planned;
  work->fill(memory_.data(), poison, memory_.bytes());
  for (canary const& c : canaries_) {
    for (std::int64_t i = 0; i < c.pieces; ++i) {
      work->fill(memory_.data() + c.offset + i * c.stride, canary_byte, c.bytes);
    }
  }
  work->wait();
}

void arena::carve(table_view const& t, plan const& p, bytes arena_bytes,
                  guarded_table const* guarded) {
  auto const count = static_cast<std::size_t>(t.extents.size);
  places_.resize(guarded == nullptr ? count : 0);
  std::vector<std::string> names(count);
  for (pool const& owner : t.pools) {
    for (std::int32_t k = 0; k < owner.extents; ++k) {
      std::int32_t const e = owner.first_extent + k;
      bool const added = guarded != nullptr && guarded->original(e) < 0;
      std::int32_t const beside = !added ? e : k == 0 ? e + 1 : e - 1;
      names[index(e)] = string_of(owner.name) + " " + string_of(t.extents[beside].name);
    }
  }
  std::int64_t end = 0;  // of the arrays so far: in the order of the arena
  std::string last = "the start of the arena";
  map_ = lay_out(t, p, arena_bytes, [&](std::int32_t e, placement const& where) {
    std::string const& name = names[index(e)];
    std::int32_t const original = guarded == nullptr ? e : guarded->original(e);
    if (original >= 0) {
      if (places_.size() <= index(original)) { places_.resize(index(original) + 1); }
      places_[index(original)] = {name, where};
    }
    if (guarded == nullptr) { return; }
    bool const alone = where.block_rows == 1 && where.block_stride == where.row_bytes;
    std::int64_t const filled = where.rows * where.row_bytes;
    if (original < 0) {
      std::int64_t const blocks = where.rows / where.block_rows;
      std::int64_t const bytes = alone ? where.copy_stride : where.block_rows * where.row_bytes;
      add_canary({name, where.offset, bytes, blocks, where.block_stride});
    } else if (alone) {
      add_canary({name, where.offset + filled, where.copy_stride - filled, where.copies,
                  where.copy_stride});
    }
    if (alone && where.offset >= end) {
      add_canary({last, end, where.offset - end, 1, 0});
      end = where.end();
      last = name;
    }
  });
  if (guarded == nullptr || t.arrangement != arrangement::page_major) { return; }
  std::int64_t const pages_end = map_.pages + p.physical.count * map_.page_stride;
  std::int64_t const slots = map_.top - p.slots.count * map_.slot_stride;
  add_canary({last, end, map_.pages - end, 1, 0});
  add_canary({"the last page", pages_end, slots - pages_end, 1, 0});
  add_canary({"the last slot", map_.top, arena_bytes.count - map_.top, 1, 0});
}

void arena::add_canary(canary const& c) {
  if (c.bytes > 0 && c.pieces > 0) { canaries_.push_back(c); }
}

std::int64_t arena::find(std::string_view pool, std::string_view extent) const {
  std::string const wanted = std::string{pool} + " " + std::string{extent};
  std::string known;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].name == wanted) { return static_cast<std::int64_t>(i); }
    known += (i == 0 ? "" : ", ") + places_[i].name;
  }
  throw std::out_of_range("the arena has no extent \"" + wanted + "\"; it has " + known);
}

broken_canary arena::first_broken(backend& work) const {
  broken_canary first;
  for (canary const& c : canaries_) {
    for (std::int64_t i = 0; i < c.pieces; ++i) {
      std::int64_t const offset = c.offset + i * c.stride;
      if (first.offset >= 0 && offset >= first.offset) { break; }
      std::int64_t const at = work.find_other(memory_.data() + offset, canary_byte, c.bytes);
      if (at >= 0) {
        first = {c.beside, offset + at};
        break;
      }
    }
  }
  return first;
}

}  // namespace allot::runtime
