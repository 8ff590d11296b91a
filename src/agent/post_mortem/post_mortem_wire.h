// A post-mortem record as the inspect service sends it. Pure.
#pragma once

#include "history/post_mortem/post_mortem.h"

namespace galen::inspect::v1 {
class PostMortem;
}

namespace galen::agent {

// Times that are not known are 0; `out` is empty before.
void PutPostMortem(const history::PostMortem& record, galen::inspect::v1::PostMortem& out);

}  // namespace galen::agent
