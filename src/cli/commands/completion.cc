#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"

namespace galen::cli {
namespace {

// The words to complete, the same in every shell. Names are queried when the key is pressed, by
// commands without double quotes, since two of the shells quote them so, and without dollars, which
// fish would take for variables. The commands let only letters of names pass: bash expands the
// choices, so a name "$(reboot)" would be run.
const std::vector<std::pair<std::string_view, std::string_view>>& Words() {
  static const std::vector<std::pair<std::string_view, std::string_view>> kWords = {
      {"@COMMANDS@",
       "get why explain post-mortem watch inject demo dev-node conformance doctor check rules "
       "version completion help"},
      {"@RULES@", "check list explain test schema record"},
      {"@KINDS@", "devices pods nodes drivers"},
      {"@FORMATS@", "table wide json yaml"},
      {"@REPORTS@", "text json junit"},
      {"@FINDINGS@", "table wide json junit"},
      {"@SHELLS@", "bash zsh fish"},
      {"@FLAGS@",
       "--kubeconfig --context --namespace --all-namespaces --output --agent-socket --no-color "
       "--help"},
      {"@GET@", "--watch"},
      {"@EXPLAIN@", "--filename --if"},
      {"@INJECT@", "--driver --driver-socket"},
      {"@DEMO@", "--batch --keep --kernel-log --directory"},
      {"@DEVNODE@", "--dir --node --driver-sim --as-root"},
      {"@CONFORMANCE@", "--read-only --full --kubelet-root --cdi-root --node --patience"},
      {"@DOCTOR@",
       "--node --kubelet-root --registry --state-dir --cdi-root --agent-account "
       "--compatibility --expect"},
      {"@CHECK@",
       "--seconds --rounds --memory --max-temperature --call-timeout --seed --driver --results "
       "--kubelet-root --in-use-too --cuda --nvml --sysfs-root --proc-root"},
      {"@RECORD@",
       "--replay --out --pattern --sysfs-root --kernel-log --nvml --for --every --hash-serials"},
      {"@PATHS@",
       "--kubeconfig --agent-socket --driver-socket --dir --directory --kubelet-root --cdi-root "
       "--registry --state-dir --replay --out --results --cuda --nvml --sysfs-root --proc-root "
       "--filename -f"},
      {"@IN@", "__fish_seen_subcommand_from"},
      {"@PODS@",
       "galen get pods -o json 2>/dev/null | "
       "sed -n '/^ *.pod.: /{s/^ *.pod.: .//;s/[^a-z0-9.-].*//;p}' | sort -u"},
      {"@DEVICES@",
       "galen get devices -o json 2>/dev/null | "
       "sed -n '/^ *.device.: /{s/^ *.device.: .//;s/[^a-z0-9.-].*//;p}' | sort -u"},
      {"@DRIVERS@",
       "galen get drivers -o json 2>/dev/null | "
       "sed -n '/^ *.name.: /{s/^ *.name.: .//;s/[^a-z0-9.-].*//;p}' | sort -u"},
      {"@SIMULATED@",
       "galen inject 2>/dev/null | "
       "sed -n '/^Devices: /{s/^Devices: //;s/[^a-z0-9. -]//g;p}'"},
      {"@SIGNS@", "galen inject 2>/dev/null | sed -n '2,/^Devices/s/^\\([a-z0-9-]*\\) .*/\\1=/p'"}};
  return kWords;
}

// COMPREPLY is split at spaces on purpose: no word of ours has one.
constexpr std::string_view kBash =
    R"sh(# galen completion bash: source this file, or put it into /etc/bash_completion.d
_galen() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= flags= at
  for ((at = 1; at < COMP_CWORD; ++at)); do
    [[ " @COMMANDS@ " == *" ${COMP_WORDS[at]} "* ]] && command=${COMP_WORDS[at]} && break
  done
  if [[ $word == -* ]]; then
    flags="@FLAGS@"
    [[ $command == get ]] && flags+=" @GET@"
    [[ $command == explain ]] && flags+=" @EXPLAIN@"
    [[ $command == inject ]] && flags+=" @INJECT@"
    [[ $command == demo ]] && flags+=" @DEMO@"
    [[ $command == dev-node ]] && flags+=" @DEVNODE@"
    [[ $command == conformance ]] && flags+=" @CONFORMANCE@"
    [[ $command == doctor ]] && flags+=" @DOCTOR@"
    [[ $command == check ]] && flags+=" @CHECK@"
    [[ $command == rules ]] && flags+=" @RECORD@"
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ " @PATHS@ " == *" $before "* ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $before == --driver ]]; then
    COMPREPLY=($(compgen -W "$(@DRIVERS@)" -- "$word"))
  elif [[ $before == -o || $before == --output ]]; then
    flags="@FORMATS@"
    [[ $command == conformance ]] && flags="@REPORTS@"
    [[ $command == doctor ]] && flags="@FINDINGS@"
    [[ $command == check ]] && flags="table json"
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ -z $command || $before == help ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word"))
  elif [[ $command == why || $command == post-mortem || $command == get && $before == pods ]]; then
    COMPREPLY=($(compgen -W "$(@PODS@)" -- "$word"))
  elif [[ $command == get && $before == devices ]]; then
    COMPREPLY=($(compgen -W "$(@DEVICES@)" -- "$word"))
  elif [[ $command == get && $before == drivers || $command == conformance ]]; then
    COMPREPLY=($(compgen -W "$(@DRIVERS@)" -- "$word"))
  elif [[ $command == get ]]; then
    COMPREPLY=($(compgen -W "@KINDS@ checks" -- "$word"))
  elif [[ $command == explain ]]; then
    COMPREPLY=($(compgen -W "pod claim" -- "$word"))
  elif [[ $command == watch ]]; then
    COMPREPLY=($(compgen -W "@KINDS@" -- "$word"))
  elif [[ $command == check ]]; then
    COMPREPLY=($(compgen -W "cpu $(@DEVICES@)" -- "$word"))
  elif [[ $command == inject ]]; then
    flags=" $(@SIMULATED@) "
    if [[ $flags == *" $before "* ]]; then
      COMPREPLY=($(compgen -W "reset $(@SIGNS@)" -- "$word"))
      [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    else
      COMPREPLY=($(compgen -W "$flags" -- "$word"))
    fi
  elif [[ $before == rules ]]; then
    COMPREPLY=($(compgen -W "@RULES@" -- "$word"))
  elif [[ $command == rules ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $command == completion ]]; then
    COMPREPLY=($(compgen -W "@SHELLS@" -- "$word"))
  fi
}
complete -F _galen galen
)sh";

// Installed in fpath, the file is the function's body and has to complete at its first call;
// sourced, it only registers the function.
constexpr std::string_view kZsh =
    R"sh(#compdef galen
# galen completion zsh: put this into a file named _galen in your fpath, or source it after compinit
_galen() {
  local word=${words[CURRENT]} before=${words[CURRENT-1]} command= at
  local -a flags
  for ((at = 2; at < CURRENT; ++at)); do
    [[ " @COMMANDS@ " == *" ${words[at]} "* ]] && command=${words[at]} && break
  done
  if [[ $word == -* ]]; then
    flags=(@FLAGS@)
    [[ $command == get ]] && flags+=(@GET@)
    [[ $command == explain ]] && flags+=(@EXPLAIN@)
    [[ $command == inject ]] && flags+=(@INJECT@)
    [[ $command == demo ]] && flags+=(@DEMO@)
    [[ $command == dev-node ]] && flags+=(@DEVNODE@)
    [[ $command == conformance ]] && flags+=(@CONFORMANCE@)
    [[ $command == doctor ]] && flags+=(@DOCTOR@)
    [[ $command == check ]] && flags+=(@CHECK@)
    [[ $command == rules ]] && flags+=(@RECORD@)
    compadd -- $flags
  elif [[ " @PATHS@ " == *" $before "* ]]; then
    _files
  elif [[ $before == --driver ]]; then
    compadd -- $(@DRIVERS@)
  elif [[ $before == -o || $before == --output ]]; then
    flags=(@FORMATS@)
    [[ $command == conformance ]] && flags=(@REPORTS@)
    [[ $command == doctor ]] && flags=(@FINDINGS@)
    [[ $command == check ]] && flags=(table json)
    compadd -- $flags
  elif [[ -z $command || $before == help ]]; then
    compadd -- @COMMANDS@
  elif [[ $command == why || $command == post-mortem || $command == get && $before == pods ]]; then
    compadd -- $(@PODS@)
  elif [[ $command == get && $before == devices ]]; then
    compadd -- $(@DEVICES@)
  elif [[ $command == get && $before == drivers || $command == conformance ]]; then
    compadd -- $(@DRIVERS@)
  elif [[ $command == get ]]; then
    compadd -- @KINDS@ checks
  elif [[ $command == watch ]]; then
    compadd -- @KINDS@
  elif [[ $command == check ]]; then
    compadd -- cpu $(@DEVICES@)
  elif [[ $command == inject ]]; then
    flags=($(@SIMULATED@))
    if [[ " $flags " == *" $before "* ]]; then
      flags=($(@SIGNS@))
      compadd -- reset
      compadd -S '' -- $flags
    else
      compadd -- $flags
    fi
  elif [[ $before == rules ]]; then
    compadd -- @RULES@
  elif [[ $command == rules ]]; then
    _files
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
complete -c galen -n "not @IN@ $commands" -a "$commands"
complete -c galen -n "@IN@ help" -a "$commands"
complete -c galen -n "@IN@ get watch" -a "@KINDS@"
complete -c galen -n "@IN@ get" -a checks
complete -c galen -n "@IN@ get; and @IN@ pods" -a "(@PODS@)"
complete -c galen -n "@IN@ get; and @IN@ devices" -a "(@DEVICES@)"
complete -c galen -n "@IN@ get; and @IN@ drivers" -a "(@DRIVERS@)"
complete -c galen -n "@IN@ get" -s w -l watch
complete -c galen -n "@IN@ why post-mortem" -a "(@PODS@)"
complete -c galen -n "@IN@ explain" -a "pod claim"
complete -c galen -n "@IN@ explain" -s f -l filename -r -F
complete -c galen -n "@IN@ explain" -l if -x
complete -c galen -n "@IN@ inject" -a "(@SIMULATED@ | tr ' ' '\n')"
complete -c galen -n "@IN@ inject" -a "reset (@SIGNS@)"
complete -c galen -n "@IN@ inject" -l driver -x -a "(@DRIVERS@)"
complete -c galen -n "@IN@ inject" -l driver-socket -r -F
complete -c galen -n "@IN@ demo" -l batch
complete -c galen -n "@IN@ demo" -l keep
complete -c galen -n "@IN@ demo" -l kernel-log
complete -c galen -n "@IN@ demo" -l directory -r -F
complete -c galen -n "@IN@ dev-node" -l dir -r -F
complete -c galen -n "@IN@ dev-node" -l driver-sim -x
complete -c galen -n "@IN@ dev-node" -l as-root
complete -c galen -n "@IN@ conformance" -a "(@DRIVERS@)"
complete -c galen -n "@IN@ conformance" -l read-only
complete -c galen -n "@IN@ conformance" -l full
complete -c galen -n "@IN@ conformance doctor" -l kubelet-root -r -F
complete -c galen -n "@IN@ conformance doctor" -l cdi-root -r -F
complete -c galen -n "@IN@ dev-node conformance doctor" -l node -x
complete -c galen -n "@IN@ conformance" -l patience -x
complete -c galen -n "@IN@ completion" -a "@SHELLS@"
complete -c galen -n "@IN@ rules; and not @IN@ @RULES@" -a "@RULES@"
complete -c galen -n "@IN@ rules; and @IN@ @RULES@" -F
complete -c galen -n "@IN@ rules" -l replay -r -F
complete -c galen -n "@IN@ rules" -l out -r -F
complete -c galen -n "@IN@ rules" -l pattern -x
complete -c galen -n "@IN@ rules" -l sysfs-root -r -F
complete -c galen -n "@IN@ rules" -l kernel-log -r -F
complete -c galen -n "@IN@ rules" -l nvml -r -F
complete -c galen -n "@IN@ rules" -l for -x
complete -c galen -n "@IN@ rules" -l every -x
complete -c galen -n "@IN@ rules" -l hash-serials
complete -c galen -n "@IN@ doctor" -l registry -r -F
complete -c galen -n "@IN@ doctor" -l state-dir -r -F
complete -c galen -n "@IN@ doctor" -l agent-account -x
complete -c galen -n "@IN@ doctor" -l compatibility -r -F
complete -c galen -n "@IN@ doctor" -l expect -r -F
complete -c galen -n "@IN@ doctor" -s o -l output -x -a "@FINDINGS@"
complete -c galen -n "@IN@ check; and not @IN@ rules" -a "cpu (@DEVICES@)"
complete -c galen -n "@IN@ check" -s o -l output -x -a "table json"
complete -c galen -n "@IN@ check" -l seconds -x
complete -c galen -n "@IN@ check" -l rounds -x
complete -c galen -n "@IN@ check" -l memory -x
complete -c galen -n "@IN@ check" -l max-temperature -x
complete -c galen -n "@IN@ check" -l call-timeout -x
complete -c galen -n "@IN@ check" -l seed -x
complete -c galen -n "@IN@ check" -l driver -x -a "(@DRIVERS@)"
complete -c galen -n "@IN@ check" -l results -r -F
complete -c galen -n "@IN@ check" -l kubelet-root -r -F
complete -c galen -n "@IN@ check" -l in-use-too
complete -c galen -n "@IN@ check" -l cuda -r -F
complete -c galen -n "@IN@ check" -l nvml -r -F
complete -c galen -n "@IN@ check" -l sysfs-root -r -F
complete -c galen -n "@IN@ check" -l proc-root -r -F
complete -c galen -n "not @IN@ conformance doctor check" -s o -l output -x -a "@FORMATS@"
complete -c galen -n "@IN@ conformance" -s o -l output -x -a "@REPORTS@"
complete -c galen -s n -l namespace -x
complete -c galen -s A -l all-namespaces
complete -c galen -s h -l help
complete -c galen -l context -x
complete -c galen -l no-color
complete -c galen -l kubeconfig -r -F
complete -c galen -l agent-socket -r -F
)sh";

std::string Fill(std::string_view script) {
  std::string text(script);
  for (const auto& [name, words] : Words()) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at))
      text.replace(at, name.size(), words);
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
