// How matching by value goes on behind a layer that computes something else.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/crossed_matches.h"
#include "analysis/products.h"
#include "analysis/value_matches.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr std::size_t kMostBehind = 16;  // tensors of the file that are looked at behind a guess

/// Weights of two products, about as alike as those of which `likeness` tells: copies of one another.
bool about_as_alike(double likeness, double other) {
  constexpr double kTimes = 4, kLeast = 0.01;
  return 1 - other <= kTimes * (1 - likeness) + kLeast;
}

/// `tensor`, and what it was before nodes that only moved its values.
std::vector<std::string> before_moves(const std::function<const onnx::NodeProto*(const std::string&)>& maker,
                                      const std::function<std::string(const std::string&)>& base_of,
                                      std::string tensor) {
  constexpr std::size_t kMostMoves = 8;
  std::vector<std::string> found = {base_of(tensor)};
  while (found.size() <= kMostMoves) {
    const onnx::NodeProto* made = maker(found.back());
    if (made == nullptr || !has(*made, Trait::Moves)) break;
    found.push_back(base_of(made->input(0)));
  }
  return found;
}

}  // namespace

/// Nodes of the file behind some guesses, on the float model's values.
struct ValueMatches::Zone {
  Model model;
  std::map<std::string, std::vector<std::string>> behind;  // by the tensor of a guess
  std::map<std::string, std::string> matched;              // what a matched tensor's maker gives -> the float tensor
  std::map<std::string, double> before;                    // its agreement without any guess
};

void ValueMatches::find_like_products() {
  std::optional<std::map<std::string, ValueType>> types = types_.ref, low_types = types_.low;
  const std::vector<Product> refs = products_in(subject_.model, types), lows = products_in(graph_.model(), low_types);
  const auto sketch = [](const Model& model, const Product& product) {
    return WeightSketch(product, initializer(model, product.weight.name).value(), 0, product.rows);
  };
  std::vector<WeightSketch> of_refs;
  for (const Product& ref : refs) of_refs.push_back(sketch(subject_.model, ref));
  struct Alike {
    double likeness;
    const onnx::NodeProto *ref, *low;
  };
  std::vector<Alike> alike;
  for (const Product& low : lows) {
    const WeightSketch of_low = sketch(graph_.model(), low);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      if (refs[i].rows != low.rows || refs[i].columns != low.columns || refs[i].group != low.group) continue;
      const double likeness = of_low.likeness(of_refs[i]);
      if (likeness >= kSurelyAlikeWeights) alike.push_back({likeness, refs[i].node, low.node});
    }
  }
  // Layers may share a weight: then it does not tell which of them a product is.
  std::map<const onnx::NodeProto*, std::vector<double>> of_node;  // all likenesses of a product, falling
  for (const Alike& one : alike) {
    for (const onnx::NodeProto* node : {one.ref, one.low}) of_node[node].push_back(one.likeness);
  }
  for (auto& [node, likenesses] : of_node) std::ranges::sort(likenesses, std::ranges::greater());
  const auto has_rival = [&](const onnx::NodeProto* node, double likeness) {
    const std::vector<double>& all = of_node.at(node);
    return all.size() > 1 && about_as_alike(likeness, all[all.front() == likeness ? 1 : 0]);
  };
  like_products_.emplace();
  for (const auto& [likeness, ref, low] : alike) {
    if (!has_rival(ref, likeness) && !has_rival(low, likeness)) like_products_->emplace_back(ref, low);
  }
}

/// Tensors of one shape in front of both, perhaps before nodes that only move their values.
std::optional<Match> ValueMatches::what_both_read(const onnx::NodeProto& ref, const onnx::NodeProto& low) const {
  const auto maker = [&](const std::string& tensor) {
    const auto made = ref_made_.find(tensor);
    return made == ref_made_.end() ? nullptr : made->second;
  };
  const auto low_maker = [&](const std::string& tensor) { return graph_.maker(tensor); };
  const auto same = [](const std::string& tensor) { return tensor; };
  const auto base = [&](const std::string& tensor) { return graph_.base_of(tensor); };
  const std::vector<std::string> refs = before_moves(maker, same, ref.input(0));
  const std::vector<std::string> lows = before_moves(low_maker, base, low.input(0));
  for (std::size_t sum = 0; sum + 1 < refs.size() + lows.size(); ++sum) {
    for (std::size_t i = 0; i <= sum && i < refs.size(); ++i) {
      if (sum - i >= lows.size() || !layers_.contains(refs[i])) continue;
      const onnx::NodeProto *made = maker(refs[i]), *low_made = low_maker(lows[sum - i]);
      // A pair does the work of an activation.
      const bool dropped =
          made != nullptr && low_made != nullptr && has(*made, Trait::Clips) && made->op_type() != low_made->op_type();
      const std::string& source = lows[sum - i];
      const std::string read = dropped ? graph_.as_read_widest(source) : graph_.rounded_name(source);
      if (may_stand_for(refs[i], read)) return Match{refs[i], read};
    }
  }
  return std::nullopt;
}

bool ValueMatches::add_products(LayerMatches& matches) {
  if (!like_products_) find_like_products();
  const Known known(matches);
  LayerMatches with = matches;
  std::map<std::string, std::vector<std::string>> made;  // by what the file's products read, what they make
  std::set<std::string> given;                           // of the float model
  for (const auto& [ref, low] : *like_products_) {
    if (known.refs.contains(ref->output(0)) || known.lows.contains(graph_.rounded_name(low->output(0)))) continue;
    const std::optional<Match> read = what_both_read(*ref, *low);
    if (!read || known.refs.contains(read->ref) || known.lows.contains(read->low)) continue;
    if (!made.contains(read->low)) {
      if (!given.insert(read->ref).second) continue;
      add(with, read->ref, read->low);
    }
    made[read->low].push_back(graph_.rounded_name(low->output(0)));
  }
  const std::size_t before = matches.pairs.size(), guessed = with.pairs.size();
  if (guessed == before) return false;
  add_alike(with);
  std::set<std::string> agreeing;
  for (std::size_t i = guessed; i < with.pairs.size(); ++i) agreeing.insert(with.pairs[i].low);
  std::set<std::string> wrong;
  const std::vector<std::size_t> crossed =
      crossed_matches(subject_.model.proto.graph(), graph_.model().proto.graph(), with.pairs);
  for (const std::size_t i : crossed) wrong.insert(with.pairs[i].low);
  bool found = false;
  for (std::size_t i = before; i < with.pairs.size(); ++i) {
    const Match& match = with.pairs[i];
    const auto products = made.find(match.low);
    const auto agrees = [&](const std::string& product) {
      const std::vector<std::string> near = behind(product, known, kMostBehind);
      return agreeing.contains(product) ||
             std::ranges::any_of(near, [&](const std::string& tensor) { return agreeing.contains(tensor); });
    };
    if (wrong.contains(match.low) || (i < guessed && std::ranges::none_of(products->second, agrees))) continue;
    add(matches, match.ref, match.low);
    found = true;
  }
  return found;
}

std::vector<std::string> ValueMatches::behind(const std::string& tensor, const Known& known, std::size_t most) const {
  std::vector<std::string> found, open = {tensor};
  std::set<std::string> seen = {tensor};
  for (std::size_t next = 0; next < open.size() && found.size() < most; ++next) {
    const auto readers = low_readers_.find(graph_.base_of(open[next]));
    if (readers == low_readers_.end() || (next > 0 && known.lows.contains(open[next]))) continue;
    for (const onnx::NodeProto* reader : readers->second) {
      for (const std::string& output : reader->output()) {
        const std::string made = graph_.rounded_name(output);
        if (output.empty() || !seen.insert(made).second) continue;
        open.push_back(made);
        if (low_shapes_.contains(made)) found.push_back(made);
      }
    }
  }
  return found;
}

/// Tensors of the float model, unmatched, that depend on one in `sources`, then those whose nodes read what is matched,
/// and what depends on these: a node of the file may read another tensor. The nearest first.
std::vector<std::string> ValueMatches::open_behind(const std::set<std::string>& sources, const Known& known,
                                                   std::size_t most) const {
  constexpr std::size_t kElsewhere = 8;
  std::vector<std::string> found, open(sources.begin(), sources.end());
  std::set<std::string> seen = sources;
  const auto take = [&](const std::string& output) {
    if (known.refs.contains(output) || !seen.insert(output).second) return;
    open.push_back(output);
    if (layers_.contains(output) && refs_.contains(output)) found.push_back(output);
  };
  std::size_t next = 0;
  const auto walk = [&](std::size_t limit) {
    for (; next < open.size() && found.size() < limit; ++next) {
      const auto readers = ref_readers_.find(open[next]);
      if (readers != ref_readers_.end()) std::ranges::for_each(readers->second, take);
    }
  };
  walk(most);
  next = open.size();
  const auto is_known = [&](const std::string& input) {
    return input.empty() || known.refs.contains(input) || !ref_made_.contains(input);
  };
  for (const onnx::NodeProto& node : subject_.model.proto.graph().node()) {
    if (found.size() >= most + kElsewhere) break;
    if (std::ranges::all_of(node.input(), is_known)) std::ranges::for_each(node.output(), take);
  }
  walk(most + kElsewhere);
  return found;
}

/// What `node` of the file, or one behind it, may stand for; the likeliest first.
std::vector<ValueMatches::Guess> ValueMatches::guesses_behind(const onnx::NodeProto& node,
                                                              const std::set<std::string>& sources,
                                                              const Known& known) const {
  constexpr std::size_t kMostLows = 12, kMostRefs = 16, kMostGuesses = 48;
  const std::string first = graph_.rounded_name(node.output(0));
  std::vector<std::string> lows = behind(first, known, kMostLows);
  lows.insert(lows.begin(), first);
  std::erase_if(lows, [&](const std::string& low) { return known.lows.contains(low); });
  const std::vector<std::string> refs = open_behind(sources, known, kMostRefs);
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    for (std::size_t k = 0; k < lows.size(); ++k) {
      if (may_stand_for(refs[i], lows[k])) guesses.push_back({refs[i], lows[k], i + k});
    }
  }
  const auto made_by_twins = [&](const Guess& guess) {
    const onnx::NodeProto* low = graph_.maker(graph_.base_of(guess.low));
    return low != nullptr && low->op_type() == layers_.at(guess.ref)->op_type;
  };
  const auto rank = [&](const Guess& guess) { return guess.distance + (made_by_twins(guess) ? 0 : 2); };
  std::ranges::stable_sort(guesses, [&](const Guess& a, const Guess& b) { return rank(a) < rank(b); });
  if (guesses.size() > kMostGuesses) guesses.resize(kMostGuesses);
  return guesses;
}

ValueMatches::Zone ValueMatches::zone_of(const std::vector<Guess>& guesses, const LayerMatches& matches,
                                         const Known& known) {
  Zone zone;
  std::map<std::string, std::string> refs;
  for (const Match& match : matches.pairs) {
    if (may_stand_for(match.ref, match.low)) refs[match.low] = match.ref;
  }
  std::map<std::string, Dtype> inputs, outputs;
  for (const Guess& guess : guesses) {
    if (zone.behind.contains(guess.low)) continue;
    std::vector<std::string>& tensors = zone.behind[guess.low];
    for (const std::string& tensor : behind(guess.low, known, kMostBehind)) {
      const auto ref = refs.find(tensor);
      if (ref == refs.end() && known.lows.contains(tensor)) continue;
      tensors.push_back(ref == refs.end() ? tensor : tensor + kOwn);
      if (ref != refs.end()) zone.matched[tensors.back()] = ref->second;
      outputs[tensors.back()] = Dtype::Float32;
    }
  }
  if (outputs.empty()) return zone;
  for (const InputInfo& input : model_inputs(graph_.model())) inputs[input.name] = input.dtype;
  const Model whole = on_float_values(matches.pairs);
  zone.model = slice(whole, 0, whole.proto.graph().node_size(), inputs, outputs);
  std::vector<std::string> own;
  for (const auto& [tensor, ref] : zone.matched) own.push_back(tensor);
  if (own.empty()) return zone;
  for (const auto& [tensor, value] : values_in(zone.model, own)) {
    zone.before[tensor] = agreement_db(refs_.at(zone.matched.at(tensor)), value);
  }
  return zone;
}

/// How many tensors behind the guess agree with the float model once it is made, and how well, those that only move or
/// cut off values left out: they agree with anything. Matched ones count double.
ValueMatches::Support ValueMatches::agreeing_with(const Guess& guess, const Zone& zone, const Known& known) {
  constexpr double kBetterDb = 6, kSurelyDb = 60;
  constexpr std::size_t kMostOpen = 4 * kMostBehind;  // the float model may write each layer with more nodes
  const std::vector<std::string>& tensors = zone.behind.at(guess.low);
  if (tensors.empty()) return {};
  std::map<std::string, Dtype> inputs, outputs;
  for (const std::string& tensor : tensors) outputs[tensor] = Dtype::Float32;
  for (const InputInfo& input : model_inputs(zone.model)) inputs[input.name] = input.dtype;
  Model model = zone.model;
  for (onnx::NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == guess.low) output += kOwn;
    }
  }
  set_initializer(model, *model.proto.mutable_graph(), guess.low, refs_.at(guess.ref));
  model = slice(model, 0, model.proto.graph().node_size(), inputs, outputs);
  ++tries_;
  Support support;
  const auto count = [&](int times, double db) {
    support.db = (support.tensors * support.db + times * std::min(db, kSurelyDb)) / (support.tensors + times);
    support.tensors += times;
  };
  std::set<std::string> open;
  for (const std::string& ref : open_behind({guess.ref}, known, kMostOpen)) open.insert(ref);
  for (const auto& [tensor, value] : values_in(model, tensors)) {
    if (const auto matched = zone.matched.find(tensor); matched != zone.matched.end()) {
      const double now = agreement_db(refs_.at(matched->second), value);
      if (now >= kAgreesDb && now >= zone.before.at(tensor) + kBetterDb) count(2, now);
      continue;
    }
    const onnx::NodeProto* made = graph_.maker(graph_.base_of(tensor));
    if (made == nullptr || has(*made, kFollows | Trait::Clips)) continue;
    auto best = open.end();
    double most = kAgreesDb;
    for (auto ref = open.begin(); ref != open.end() && most < kSurelyDb; ++ref) {
      const double db = agreement_db(refs_.at(*ref), value);
      if (db < most) continue;
      most = db;
      best = ref;
    }
    if (best == open.end()) continue;
    open.erase(best);
    count(1, most);
  }
  return support;
}

bool ValueMatches::add_bridges(LayerMatches& matches) {
  constexpr int kMostTries = 256, kEnough = 6, kMostInVain = 4;
  constexpr double kClearlyDb = 3;
  bool any = false;
  int in_vain = 0;
  Known known(matches);
  std::map<std::string, std::string> twins;  // what the file computes -> tensor of the float model
  for (const onnx::ValueInfoProto& input : subject_.model.proto.graph().input()) twins[input.name()] = input.name();
  for (const Match& match : matches.pairs) twins[graph_.base_of(match.low)] = match.ref;
  std::set<std::string> fresh;  // behind a new bridge: what agrees there is looked for first
  const auto is_fresh = [&](const std::string& input) { return fresh.contains(graph_.base_of(input)); };
  for (const onnx::NodeProto& node : graph_.model().proto.graph().node()) {
    if (tries_ >= kMostTries || in_vain >= kMostInVain) break;
    if (std::ranges::any_of(node.input(), is_fresh)) {
      for (const std::string& output : node.output()) fresh.insert(graph_.base_of(output));
      continue;
    }
    if (node.output_size() == 0 || is_transparent(node) || tried_.contains(&node)) continue;
    if (known.lows.contains(graph_.rounded_name(node.output(0)))) continue;
    std::set<std::string> sources;
    const auto is_known = [&](const std::string& input) {
      const auto twin = twins.find(graph_.base_of(input));
      if (twin != twins.end()) sources.insert(twin->second);
      return twin != twins.end() || input.empty() || is_initializer(graph_.model(), graph_.base_of(input));
    };
    if (!std::ranges::all_of(node.input(), is_known) || sources.empty()) continue;
    tried_.insert(&node);
    const std::vector<Guess> guesses = guesses_behind(node, sources, known);
    if (guesses.empty()) continue;
    const Zone zone = zone_of(guesses, matches, known);
    const Guess* best = nullptr;
    Support most;
    for (const Guess& guess : guesses) {
      if (tries_ >= kMostTries) break;
      // Those of the same tensor may fit better yet: a sum and what it adds to differ by little.
      const bool rivals = best != nullptr && (guess.ref == best->ref || guess.low == best->low);
      if (most.tensors >= kEnough && !rivals) continue;
      Support support = agreeing_with(guess, zone, known);
      support.tensors = std::min(support.tensors, kEnough);
      if (support.tensors == 0 || support.tensors < most.tensors) continue;
      if (support.tensors == most.tensors && support.db <= most.db + kClearlyDb) continue;
      most = support;
      best = &guess;
    }
    in_vain = best == nullptr ? in_vain + 1 : 0;
    if (best == nullptr) continue;
    add(matches, best->ref, best->low);
    known.refs.insert(best->ref);
    known.lows.insert(best->low);
    fresh.insert(graph_.base_of(best->low));
    any = true;
  }
  if (any) add_alike(matches);
  return any;
}

}  // namespace vernier
