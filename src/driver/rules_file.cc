#include "driver/rules_file.h"

#include <optional>
#include <utility>

namespace galen::device_driver {

// One check of the file, created by the loop and carried out by the thread.
struct RulesFile::Reading {
  std::function<StatusOr<std::string>()> read;
  std::function<StatusOr<probes::RuleTable>(const std::string&)> parse;
  std::string last;  // the text of the last check
  StatusOr<std::string> text = std::string();
  std::optional<StatusOr<probes::RuleTable>> table{};  // empty: the text has not changed

  void Do() {
    text = read();
    if (text.ok() && *text != last) table = parse(*text);
  }
};

RulesFile::RulesFile(Parts parts, const probes::RuleTable& first, Calls calls)
    : parts_(std::move(parts)), first_(first), calls_(std::move(calls)) {
  parts_.metrics.DeclareCounter("galen_rules_reloads_total",
                                "Changed rules files, by result: taken or refused.");
  parts_.metrics.DeclareGauge("galen_rules_stale",
                              "1 while other rules are in force than the file says, because it has "
                              "a fault or cannot be read.");
  parts_.metrics.Set("galen_rules_stale", {}, 0);
}

void RulesFile::Start() {
  timer_ = parts_.loop.After(kLookEvery, [this] { Look(); });
}

void RulesFile::Look() {
  RunFor(
      liveness_, *parts_.queue,
      [reading = Reading{calls_.read, calls_.parse, last_text_}]() mutable {
        reading.Do();
        return std::move(reading);
      },
      [this](Reading reading) { OnRead(std::move(reading)); });
}

void RulesFile::OnRead(Reading reading) {
  Start();
  if (!reading.text.ok()) return Note(reading.text.status());
  if (reading.table) {
    last_text_ = *std::move(reading.text);
    last_result_ = Take(*std::move(reading.table));
  }
  // The text is the last one again, and may have been unreadable meanwhile.
  Note(last_result_);
}

Status RulesFile::Take(StatusOr<probes::RuleTable> table) {
  if (!table.ok()) return table.status();
  const probes::RuleTable& present = present_ != nullptr ? *present_ : first_;
  if (*table == present) return OkStatus();
  if (table->signs != first_.signs || table->exporters != first_.exporters) {
    return FailedPrecondition("its signs or exporters changed: restart the driver to use them");
  }
  auto next = std::make_unique<const probes::RuleTable>(*std::move(table));
  calls_.apply(*next);
  present_ = std::move(next);
  parts_.metrics.Add("galen_rules_reloads_total", {{"result", "taken"}});
  parts_.log.Info("rules were read anew", {{"rules", present_->rules.size()}});
  return OkStatus();
}

void RulesFile::Note(const Status& status) {
  parts_.metrics.Set("galen_rules_stale", {}, status.ok() ? 0 : 1);
  const std::string fault = status.ok() ? "" : status.message();
  if (fault == std::exchange(last_fault_, fault)) return;
  if (status.ok())
    return parts_.log.Info("the rules file and the rules in force are the same again");
  parts_.metrics.Add("galen_rules_reloads_total", {{"result", "refused"}});
  parts_.log.Error("the rules file is not taken: the last good rules stay in force",
                   {{"error", fault}});
}

}  // namespace galen::device_driver
