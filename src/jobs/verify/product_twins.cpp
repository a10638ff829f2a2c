#include "jobs/verify/product_twins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/moved_constant.h"
#include "analysis/products.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Types = std::optional<std::map<std::string, ValueType>>;

/// Rows of a product of the float model.
struct Rows {
  const Product* product = nullptr;
  std::size_t first = 0, count = 0;
};

class Pairing {
 public:
  Pairing(const Model& float_model, const Model& simulated, const std::map<std::string, std::string>& places,
          Types& types, FloatWeights& weights)
      : float_model_(float_model),
        simulated_(simulated),
        places_(places),
        weights_(weights),
        refs_(products_in(float_model, ref_types_)),
        lows_(products_in(simulated, types)) {
    std::set<std::string> known;
    for (const auto& [constant, weight] : weights.found) known.insert(weight.name);
    for (const Product& ref : refs_) (known.contains(ref.weight.name) ? known_ : free_).push_back(&ref);
    for (const Product& low : lows_) {
      if (!weights.found.contains(low.weight.name)) open_.push_back(&low);
    }
  }

  void run() {
    pair_alike(free_, kAlikeWeights);
    pair_alike(known_,
               kSurelyAlikeWeights);  // two products of the file may share what is one constant of the float model
    std::erase_if(open_, [&](const Product* low) { return pair_parts(*low); });
    pair_last_ones();
  }

 private:
  static auto size_of(const Product& product) {
    return std::tuple(product.rows, product.columns, product.group, product.normalized);
  }

  WeightSketch sketch(const Model& model, const Product& product, std::size_t first, std::size_t rows) const {
    return {product, initializer(model, product.weight.name).value(), first, rows};
  }

  void pair_alike(std::vector<const Product*>& refs, double least) {
    std::vector<std::tuple<double, const Product*, const Product*>> alike;
    std::map<const Product*, WeightSketch> sketches;
    for (const Product* low : open_) {
      const WeightSketch of_low = sketch(simulated_, *low, 0, low->rows);
      for (const Product* ref : refs) {
        if (size_of(*ref) != size_of(*low)) continue;
        auto known = sketches.find(ref);
        if (known == sketches.end()) known = sketches.emplace(ref, sketch(float_model_, *ref, 0, ref->rows)).first;
        if (const double likeness = of_low.likeness(known->second); likeness >= least) {
          alike.emplace_back(likeness, low, ref);
        }
      }
    }
    std::ranges::stable_sort(alike, [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });
    const bool once = &refs == &free_;
    std::set<const Product*> done;
    for (const auto& [likeness, low, ref] : alike) {
      if (done.contains(low) || (once && done.contains(ref))) continue;
      done.insert(low);
      if (once) done.insert(ref);
      add(*low, {{ref, 0, ref->rows}});
    }
    std::erase_if(open_, [&](const Product* low) { return done.contains(low); });
    if (once) std::erase_if(refs, [&](const Product* ref) { return done.contains(ref); });
  }

  /// Several products of the float model in one of the file, or one in several.
  bool pair_parts(const Product& low) {
    std::vector<Rows> parts;
    for (std::size_t row = 0; row < low.rows;) {
      Rows best;
      double most = kAlikeWeights;
      for (const Product* ref : free_) {
        if (ref->columns != low.columns || ref->group != 1 || low.group != 1 || ref->rows == low.rows) continue;
        if (ref->normalized != low.normalized) continue;
        const bool packed = ref->rows < low.rows;
        if (packed ? row + ref->rows > low.rows : row > 0) continue;
        const std::size_t count = packed ? ref->rows : low.rows;
        const WeightSketch of_low = sketch(simulated_, low, row, count);
        const Tensor wanted = initializer(float_model_, ref->weight.name).value();
        for (std::size_t first = 0; first + count <= ref->rows; first += count) {
          const double likeness = of_low.likeness({*ref, wanted, first, count});
          if (likeness < most) continue;
          most = likeness;
          best = {ref, first, count};
        }
      }
      if (best.product == nullptr) return false;
      parts.push_back(best);
      row += best.count;
    }
    add(low, parts);
    std::erase_if(free_, [&](const Product* ref) {
      return ref->rows < low.rows && std::ranges::any_of(parts, [&](const Rows& part) { return part.product == ref; });
    });
    return true;
  }

  /// What is like nothing is the twin of what is left, in the order of the graphs, if there is as much of it.
  void pair_last_ones() {
    const auto left_like = [](const std::vector<const Product*>& all, const auto& alike) {
      std::vector<const Product*> left;
      std::ranges::copy_if(all, std::back_inserter(left), alike);
      return left;
    };
    std::set<const Product*> done;
    for (const Product* first : open_) {
      if (done.contains(first)) continue;
      const auto same_size = [&](const Product* product) { return size_of(*product) == size_of(*first); };
      const std::vector<const Product*> lows = left_like(open_, same_size), refs = left_like(free_, same_size);
      if (lows.size() != refs.size()) continue;
      for (std::size_t i = 0; i < lows.size(); ++i) add(*lows[i], {{refs[i], 0, refs[i]->rows}});
      done.insert(lows.begin(), lows.end());
      done.insert(refs.begin(), refs.end());
    }
    for (const Product* first : open_) {
      const auto same_columns = [&](const Product* product) {
        return !done.contains(product) && product->columns == first->columns && product->group == first->group &&
               product->normalized == first->normalized;
      };
      const std::vector<const Product*> lows = left_like(open_, same_columns), refs = left_like(free_, same_columns);
      if (lows.empty() || refs.empty() || (lows.size() > 1 && refs.size() > 1)) continue;
      const auto rows_of = [](const std::vector<const Product*>& products) {
        std::size_t rows = 0;
        for (const Product* product : products) rows += product->rows;
        return rows;
      };
      if (rows_of(lows) != rows_of(refs)) continue;
      std::vector<Rows> parts;
      if (lows.size() == 1) {
        for (const Product* ref : refs) parts.push_back({ref, 0, ref->rows});
        add(*lows.front(), parts);
      } else {
        std::size_t row = 0;
        for (const Product* low : lows) {
          add(*low, {{refs.front(), row, low->rows}});
          row += low->rows;
        }
      }
      done.insert(lows.begin(), lows.end());
    }
  }

  /// The product of the float model in the place of `low`, where `part` is another one of as many rows; null: it is
  /// not.
  const Product* instead_of(const Product& low, const Product& part) const {
    const auto place = places_.find(low.node->output(0));
    if (place == places_.end() || place->second == part.node->output(0)) return nullptr;
    const auto is_there = [&](const Product& ref) { return ref.node->output(0) == place->second; };
    const auto ref = std::ranges::find_if(refs_, is_there);
    if (ref == refs_.end() || size_of(*ref) != size_of(low) || size_of(part) != size_of(low)) return nullptr;
    // Of two layers with equal weights either has its own.
    const Tensor there = initializer(float_model_, ref->weight.name).value();
    const Tensor held = initializer(float_model_, part.weight.name).value();
    return std::ranges::equal(there.bytes(), held.bytes()) ? nullptr : &*ref;
  }

  void add(const Product& low, const std::vector<Rows>& parts) {
    const Product* instead = parts.size() == 1 ? instead_of(low, *parts.front().product) : nullptr;
    const Shape shape = initializer(simulated_, low.weight.name)->shape();
    Tensor values(Dtype::Float32, shape);
    std::vector<std::string> names, biases;
    std::vector<float> bias;
    for (const Rows& part : parts) {
      const Product& ref = *part.product;
      const Tensor wanted = initializer(float_model_, ref.weight.name).value();
      const std::size_t start = bias.size();
      for (std::size_t row = 0; row < part.count; ++row) {
        for (std::size_t column = 0; column < low.columns; ++column) {
          values.mutable_floats()[low.place(start + row, column)] =
              wanted.floats()[ref.place(part.first + row, column)];
        }
      }
      names.push_back(ref.weight.name);
      bias.resize(start + part.count, 0);
      const auto& read_bias = instead != nullptr ? instead->bias : ref.bias;
      const auto added = read_bias ? initializer(float_model_, read_bias->name) : std::nullopt;
      if (!added) continue;
      biases.push_back(read_bias->name);
      const std::vector<std::size_t>& places = read_bias->places;
      for (std::size_t row = 0; row < part.count; ++row) {
        const std::size_t read = instead != nullptr ? row : part.first + row;
        bias[start + row] = added->floats()[places.empty() ? read : places[read]];
      }
    }
    add_found(low.weight.name, names, std::move(values));
    if (instead != nullptr) weights_.found.at(low.weight.name).instead = instead->weight.name;
    if (!low.bias || biases.empty() || weights_.found.contains(low.bias->name)) return;
    const Shape stored = initializer(simulated_, low.bias->name)->shape();
    add_found(low.bias->name, biases, in_places_of(*low.bias, Tensor::of(low.bias->shape, bias), stored));
  }

  void add_found(const std::string& constant, const std::vector<std::string>& names, Tensor values) {
    weights_.why_not.erase(constant);
    FloatWeight weight{fmt::format("{}", fmt::join(names, "', '")), std::move(values)};
    weight.other_form = true;
    weights_.found.emplace(constant, std::move(weight));
  }

  const Model& float_model_;
  const Model& simulated_;
  const std::map<std::string, std::string>& places_;
  FloatWeights& weights_;
  Types ref_types_;
  const std::vector<Product> refs_, lows_;
  std::vector<const Product*> free_, known_;  // of the float model
  std::vector<const Product*> open_;          // of the file
};

}  // namespace

void add_product_twins(const Model& float_model, const Model& simulated,
                       const std::map<std::string, std::string>& places, Types& types, FloatWeights& weights) {
  Pairing(float_model, simulated, places, types, weights).run();
}

}  // namespace vernier
