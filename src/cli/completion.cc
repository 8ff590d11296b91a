#include "cli/completion.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace galen::cli {
namespace {

// What there is to complete, the same in every shell.
const std::vector<std::pair<std::string_view, std::string_view>>& Words() {
  static const std::vector<std::pair<std::string_view, std::string_view>> kWords = {
      {"@COMMANDS@", "get why watch inject demo conformance version completion"},
      {"@KINDS@", "devices pods nodes drivers"},
      {"@FORMATS@", "table wide json yaml"},
      {"@SHELLS@", "bash zsh fish"},
      {"@FLAGS@",
       "--kubeconfig --context --namespace --all-namespaces --output --agent-socket --no-color "
       "--watch --help"},
      // Pods that hold devices, asked for when the key is pressed. Without double quotes, which
      // stand around it in two of the shells.
      {"@PODS@",
       "galen get pods -o json 2>/dev/null | "
       "sed -n '/^ *.pod.: /{s/^ *.pod.: .//;s/[^a-z0-9.-].*//;p}' | sort -u"}};
  return kWords;
}

// COMPREPLY is split at spaces on purpose: no word of ours has one.
constexpr std::string_view kBash =
    R"sh(# galen completion bash: source this file, or put it into /etc/bash_completion.d
_galen() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "@FLAGS@" -- "$word"))
  elif [[ $before == -o || $before == --output ]]; then
    COMPREPLY=($(compgen -W "@FORMATS@" -- "$word"))
  elif [[ $command == get || $command == watch ]]; then
    COMPREPLY=($(compgen -W "@KINDS@" -- "$word"))
  elif [[ $command == why ]]; then
    COMPREPLY=($(compgen -W "$(@PODS@)" -- "$word"))
  elif [[ $command == completion ]]; then
    COMPREPLY=($(compgen -W "@SHELLS@" -- "$word"))
  fi
}
complete -F _galen galen
)sh";

// As a file of fpath it is the function's body and has to complete at its first call; sourced, it
// only says whose function this is.
constexpr std::string_view kZsh =
    R"sh(#compdef galen
# galen completion zsh: put this into a file named _galen in your fpath, or source it after compinit
_galen() {
  local command=${words[2]} before=${words[CURRENT-1]}
  if ((CURRENT == 2)); then
    compadd -- @COMMANDS@
  elif [[ ${words[CURRENT]} == -* ]]; then
    compadd -- @FLAGS@
  elif [[ $before == -o || $before == --output ]]; then
    compadd -- @FORMATS@
  elif [[ $command == get || $command == watch ]]; then
    compadd -- @KINDS@
  elif [[ $command == why ]]; then
    compadd -- $(@PODS@)
  elif [[ $command == completion ]]; then
    compadd -- @SHELLS@
  fi
}
if [[ ${funcstack[1]} == _galen ]]; then
  _galen "$@"
else
  compdef _galen galen
fi
)sh";

constexpr std::string_view kFish =
    R"sh(# galen completion fish: put this into ~/.config/fish/completions/galen.fish
set -l commands @COMMANDS@
complete -c galen -f
complete -c galen -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c galen -n "__fish_seen_subcommand_from get watch" -a "@KINDS@"
complete -c galen -n "__fish_seen_subcommand_from why" -a "(@PODS@)"
complete -c galen -n "__fish_seen_subcommand_from completion" -a "@SHELLS@"
complete -c galen -s o -l output -x -a "@FORMATS@"
complete -c galen -s n -l namespace -x
complete -c galen -s A -l all-namespaces
complete -c galen -s w -l watch
complete -c galen -l context -x
complete -c galen -l no-color
complete -c galen -l kubeconfig -r -F
complete -c galen -l agent-socket -r -F
)sh";

std::string Fill(std::string_view script) {
  std::string text(script);
  for (const auto& [name, words] : Words()) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), words);
    }
  }
  return text;
}

}  // namespace

StatusOr<std::string> CompletionScript(const std::string& shell) {
  if (shell == "bash") return Fill(kBash);
  if (shell == "zsh") return Fill(kZsh);
  if (shell == "fish") return Fill(kFish);
  return InvalidArgument("no completion for '{}': there is bash, zsh and fish", shell);
}

}  // namespace galen::cli
