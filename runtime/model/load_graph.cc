// load_graph: which family a directory holds, and its graph.
#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/model/family.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr Family kFamilies[] = {
    {"bert", "bert", "Bert", "|bert.", build_bert},
    {"distilbert", "distilbert", "DistilBert", "|distilbert.", build_distilbert},
    {"roberta", "roberta|xlm-roberta|camembert", "Roberta|XLMRoberta|Camembert", "|roberta.|xlm-roberta.|camembert.",
     build_roberta},
    {"mpnet", "mpnet", "MPNet", "|mpnet.", build_mpnet},
    {"modernbert", "modernbert", "ModernBert", "|model.", build_modernbert},
    {"nomic_bert", "nomic_bert", "NomicBert", "|nomic_bert.|bert.", build_nomic_bert},
    {"gte", "new|gte", "New|Gte", "|new.|gte.", build_gte},
};

struct HeadSuffix {
  std::string_view suffix;
  Head head;
};
constexpr HeadSuffix kHeads[] = {
    {"Model", Head::kNone},
    {"ForMaskedLM", Head::kMaskedLm},
    {"ForPreTraining", Head::kMaskedLm},
    {"ForSequenceClassification", Head::kSequenceClassification},
    {"ForTokenClassification", Head::kTokenClassification},
};

template <class F>
bool any_part(std::string_view list, F&& f) {
  bool any = false;
  each_part(list, [&](std::string_view part) { any = any || f(part); });
  return any;
}

// Sets family, architecture and head: from architectures where there are, else from model_type, without a head.
const Family& identify(const Json& config, ModelGraph& model) {
  const Json architectures = config.find("architectures");
  const std::vector<Json> names = architectures ? architectures.elements() : std::vector<Json>();
  if (!names.empty()) {
    model.architecture = names.front().string();
    for (const Family& family : kFamilies) {
      for (const auto& [suffix, head] : kHeads) {
        if (!any_part(family.classes, [&](auto part) { return model.architecture == text(part, suffix); })) continue;
        model.head = head;
        return family;
      }
    }
    std::string classes, suffixes;
    for (const Family& family : kFamilies) {
      each_part(family.classes, [&](std::string_view part) { classes += text(classes.empty() ? "" : ", ", part); });
    }
    for (const auto& [suffix, head] : kHeads) suffixes += text(suffixes.empty() ? "" : ", ", suffix);
    fail(Code::kUnsupported, architectures.where(), ": ", names.front().describe(), " is not supported; known are ", classes,
         ", each with ", suffixes);
  }
  const Json type = config.at("model_type");
  std::string types;
  for (const Family& family : kFamilies) {
    if (any_part(family.model_types, [&](auto part) { return type.string() == part; })) return family;
    each_part(family.model_types, [&](std::string_view part) { types += text(types.empty() ? "" : ", ", part); });
  }
  fail(Code::kUnsupported, type.where(), ": ", type.describe(), " is not supported, expected one of ", types);
}

void build(const std::string& directory, ModelGraph& model) {
  require_directory(directory);
  const JsonDocument config = JsonDocument::read(join_path(directory, "config.json"));
  const Json root = config.root();
  const Family& family = identify(root, model);
  model.family = family.name;
  const TensorFiles files(directory);
  TensorReader tensors(files, family.prefixes);
  Builder builder{root, tensors, model};
  family.build(builder);
  model.graph.output("hidden", model.hidden);
  if (model.head != Head::kNone) model.graph.output("logits", model.logits);
  if (!model.graph.status().ok()) fail(model.graph.status().code(), directory, ": ", model.graph.status().message());
  model.parameters = tensors.parameters();
  model.dtype = tensors.dtype();
  model.unused_tensors = tensors.unused();
}

}  // namespace

Result<ModelGraph> load_graph(const std::string& directory) {
  ModelGraph model;
  if (Status status = caught([&] { build(directory, model); }); !status.ok()) return status;
  return model;
}

}  // namespace v0
}  // namespace saccade
