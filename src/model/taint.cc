#include "model/taint.h"

namespace galen {

std::string_view ToString(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNone:
      return "None";
    case TaintEffect::kNoSchedule:
      return "NoSchedule";
    case TaintEffect::kNoExecute:
      return "NoExecute";
  }
  GALEN_UNREACHABLE();
}

TaintEffect ParseTaintEffect(std::string_view text) {
  for (const TaintEffect effect : {TaintEffect::kNoSchedule, TaintEffect::kNoExecute}) {
    if (text == ToString(effect)) return effect;
  }
  // A later Kubernetes may know more effects. Its API says that readers take those for None.
  return TaintEffect::kNone;
}

}  // namespace galen
