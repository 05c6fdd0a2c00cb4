// SPDX-License-Identifier: Apache-2.0
#include <allot/describe.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/guard.hpp>

#include <unordered_map>

namespace allot::runtime {
namespace {

constexpr std::byte poison{0xFF};
constexpr std::byte canary_byte{0xA5};

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
                      ": is it a plan of another table?");
}

/// The names of all extents; pools of the same name are told apart by their position.
template <class Place>
std::vector<Place> names_of(table_view const& t) {
  std::vector<Place> out(static_cast<std::size_t>(t.extents.size));
  std::unordered_map<std::string, std::int64_t> pools_called;
  for (pool const& p : t.pools) {
    ++pools_called[to_string(p.name)];
  }
  for (std::int64_t i = 0; i < t.pools.size; ++i) {
    pool const& p = t.pools[i];
    std::string owner = to_string(p.name);
    if (pools_called[owner] > 1) { owner += "#" + std::to_string(i); }
    for (std::int32_t e = p.first_extent; e < p.first_extent + p.extents; ++e) {
      Place& place = out[static_cast<std::size_t>(e)];
      place.name = owner + " " + to_string(t.extents[e].name);
      place.pool_length = static_cast<std::int64_t>(owner.size());
    }
  }
  return out;
}

}  // namespace

bytes arena::planned_bytes(table_view const& t, plan const& p) noexcept {
  return {p.kv.count + p.experts.count + p.fixed.count - t.charge_bytes.value};
}

bytes arena::guard_bytes(table_view const& t, plan const& p) {
  guarded_table const with_canaries{t};
  return {map_of(with_canaries.view(), p).carved.count - map_of(t, p).carved.count};
}

arena::arena(table_view const& t, plan const& p, memory_resource& from, guarding guard,
             backend* work) {
  if (t.found) { throw std::invalid_argument("the table is at fault: " + describe(t.found)); }
  bool const guarded = guard == guarding::on;
  if (guarded && work == nullptr) {
    throw std::invalid_argument("a guarded arena needs a backend to write its canaries with");
  }
  if (guarded) { require_reach("a guarded arena", *work, from); }
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
  auto const all = needed + bytes{gap};
  if (!all) {
    throw allocation_error{from.name(), INT64_MAX, from.free_bytes(),
                           "an arena with its guard is 2^63 bytes or more"};
  }
  carve(g, p, *all, &with_canaries);
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

/// Lays the table out, and keeps where its extents lie; of a guarded one, where its canaries do.
void arena::carve(table_view const& t, plan const& p, bytes arena_bytes,
                  guarded_table const* guarded) {
  std::vector<place_of_extent> const named = names_of<place_of_extent>(t);
  std::int64_t end = 0;  // of the arrays so far: in the order of the arena
  std::string last = "the start of the arena";
  map_ = lay_out(t, p, arena_bytes, [&](std::int32_t e, placement const& where) {
    guarded_extent const what = guarded == nullptr ? guarded_extent{e, 0} : guarded->what(e);
    if (what.original >= 0) {
      std::size_t const original = index(what.original);
      if (places_.size() <= original) { places_.resize(original + 1); }
      placement& kept = places_[original].where;
      if (what.copy == 0) {
        places_[original] = named[index(e)];
        kept = where;
      } else {
        kept.copies = what.copy + 1;
        if (what.copy == 1) { kept.copy_stride = where.offset - kept.offset; }
      }
    }
    if (guarded == nullptr) { return; }
    bool const alone = where.stands_alone();
    std::int64_t const filled = where.rows * where.row_bytes;
    if (what.original < 0) {
      // Beside what comes before it; the first of a pool, beside what follows.
      bool const leads = e == 0 || guarded->what(e - 1).original < 0;
      std::int64_t const blocks = where.rows / where.block_rows;
      std::int64_t const size = alone ? where.copy_stride : where.block_rows * where.row_bytes;
      add_canary({named[index(leads ? e + 1 : e - 1)].name, where.offset, size, blocks,
                  where.block_stride});
    } else if (alone) {
      add_canary({named[index(e)].name, where.offset + filled, where.copy_stride - filled,
                  where.copies, where.copy_stride});
    }
    if (alone && where.offset >= end) {
      add_canary({last, end, where.offset - end, 1, 0});
      end = where.end();
      last = named[index(e)].name;
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

arena::place_of_extent const& arena::checked_place(std::int64_t extent) const {
  if (0 <= extent && extent < extents()) { return places_[index(extent)]; }
  throw std::out_of_range("the arena has extents 0 to " + std::to_string(extents() - 1) + ", not " +
                          std::to_string(extent));
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

std::vector<std::int64_t> arena::extents_of(std::string_view pool) const {
  std::vector<std::int64_t> out;
  std::string known;
  std::string_view before;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto const length = static_cast<std::size_t>(places_[i].pool_length);
    std::string_view const owner = std::string_view{places_[i].name}.substr(0, length);
    if (owner == pool) { out.push_back(static_cast<std::int64_t>(i)); }
    if (owner != before) { known += (i == 0 ? "" : ", ") + std::string{owner}; }
    before = owner;
  }
  if (!out.empty()) { return out; }
  throw std::out_of_range("the arena has no pool \"" + std::string{pool} + "\"; it has " + known);
}

std::int64_t arena::aligned_bytes(std::int64_t extent) const {
  placement const& p = place(extent);
  auto address = reinterpret_cast<std::uintptr_t>(data()) + static_cast<std::uintptr_t>(p.offset);
  auto const joins = [&](std::int64_t count, std::int64_t stride) {
    if (count > 1) { address |= static_cast<std::uintptr_t>(stride); }
  };
  joins(p.copies, p.copy_stride);
  joins(p.rows / p.block_rows, p.block_stride);
  joins(p.block_rows, p.row_bytes);
  return static_cast<std::int64_t>(address & (~address + 1));
}

broken_canary arena::first_broken(backend& work) const {
  if (!is_guarded()) { throw std::logic_error("the arena is not guarded: it has no canaries"); }
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
