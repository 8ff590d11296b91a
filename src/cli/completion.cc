#include "cli/completion.h"

namespace galen::cli {
namespace {

// For bash 4 and later. Pods are read out of JSON with sed, for jq may not be there.
constexpr std::string_view kBash =
    R"sh(# galen completion bash: source this file, or put it into /etc/bash_completion.d
_galen() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
  local flags="--kubeconfig --context --namespace --all-namespaces --output --agent-socket --help"
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "get why watch inject demo version completion" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == -o || ${COMP_WORDS[COMP_CWORD-1]} == --output ]]; then
    COMPREPLY=($(compgen -W "table wide json yaml" -- "$word"))
  elif [[ $command == get ]]; then
    COMPREPLY=($(compgen -W "devices pods nodes drivers" -- "$word"))
  elif [[ $command == why ]]; then
    COMPREPLY=($(compgen -W "$(galen get pods -o json 2>/dev/null |
      sed -n 's/.*"pod": "\([^"]*\)".*/\1/p' | sort -u)" -- "$word"))
  elif [[ $command == completion ]]; then
    COMPREPLY=($(compgen -W "bash zsh fish" -- "$word"))
  fi
}
complete -F _galen galen
)sh";

// zsh runs bash's script through its own emulation; CompletionScript() puts that behind this.
constexpr std::string_view kZsh = R"sh(#compdef galen
# galen completion zsh: put this into a file named _galen in your fpath
autoload -U bashcompinit && bashcompinit
)sh";

constexpr std::string_view kFish =
    R"sh(# galen completion fish: put this into ~/.config/fish/completions/galen.fish
set -l commands get why watch inject demo version completion
complete -c galen -f
complete -c galen -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c galen -n "__fish_seen_subcommand_from get" -a "devices pods nodes drivers"
complete -c galen -n "__fish_seen_subcommand_from completion" -a "bash zsh fish"
complete -c galen -s o -l output -x -a "table wide json yaml"
complete -c galen -s n -l namespace -x
complete -c galen -s A -l all-namespaces
complete -c galen -l kubeconfig -r
complete -c galen -l agent-socket -r
)sh";

}  // namespace

StatusOr<std::string> CompletionScript(const std::string& shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh) + std::string(kBash);
  if (shell == "fish") return std::string(kFish);
  return InvalidArgument("no completion for '{}': there is bash, zsh and fish", shell);
}

}  // namespace galen::cli
