// Tested by search_test.cc.
#include "alloc/selection/reason.h"

namespace galen::alloc {

std::string_view ToString(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "to be had";
    case Reason::kInUse:
      return "in use";
    case Reason::kTakenBefore:
      return "taken by another request";
    case Reason::kBindingConditions:
      return "with binding conditions";
    case Reason::kClassSelector:
      return "not of the class";
    case Reason::kRequestSelector:
      return "not selected";
    case Reason::kOtherNode:
      return "for other nodes";
    case Reason::kCapacityMissing:
      return "without such a capacity";
    case Reason::kCapacityPolicy:
      return "without such a share";
    case Reason::kCapacityTaken:
      return "with too little capacity";
    case Reason::kNodeOperations:
      return "needing a feature of the node";
    case Reason::kCounters:
      return "whose shared parts are taken";
    case Reason::kCompatibility:
      return "that do not go with those taken";
    case Reason::kTaint:
      return "tainted";
    case Reason::kConstraint:
      return "against a constraint";
  }
  return "";
}

}  // namespace galen::alloc
