// What is wrong with a configuration, gathered so that a person repairs it once and not fault by
// fault. Each names the place to repair: the file's line, or the flag. A value's owner.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/yaml.h"
#include "base/data/yaml_lines.h"
#include "base/status.h"

namespace galen::agent {

class ConfigFaults {
 public:
  // The file that the values of keys come from; without one all come from flags and defaults.
  void UseFile(std::string path, std::string_view text);
  // The value of this key was said by a flag, whose place in the file, if any, is not to blame.
  void SaidByFlag(const std::string& key, std::string flag) { flags_[key] = std::move(flag); }

  // `where` is "role", "timeouts[0]", "timeouts[0].timeout", or "" for the whole. Lines from
  // elsewhere, as of a kubeconfig, are kept whole.
  void Add(std::string_view where, std::string_view what);
  // Keys of the file that come twice: the first value is lost in silence.
  void AddDoubled(const std::vector<DoubledKey>& keys);
  // Whether this key has a fault already: what follows from it is none of its own.
  bool Has(std::string_view where) const;
  // The surroundings refuse what is right in itself, e.g. a directory that cannot be made.
  void AddRefusal(std::string_view where, const Status& status);

  // In the order of the file, then the rest in the order they came. InvalidArgument, or the code
  // of the first refusal where there are only refusals: a restart may mend those.
  Status ToStatus() const;

 private:
  struct Fault {
    std::size_t line = 0;  // 0: of no line
    std::string where;
    std::string text;
  };

  std::size_t LineOf(std::string_view where) const;

  std::string path_;
  YamlLines lines_{""};
  std::map<std::string, std::string, std::less<>> flags_;  // by key
  std::vector<Fault> faults_;
  Status refusal_ = OkStatus();
  std::size_t refusals_ = 0;
};

}  // namespace galen::agent
