#include "sdk/app/checks_service.h"

#include <chrono>

#include "base/text.h"
#include "protos/galen/checks/v1/checks.pb.h"
#include "rpc/typed.h"

namespace galen::sdk {
namespace {

namespace checks = galen::checks::v1;

std::int64_t Millis(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

void Fill(const CheckReport& report, checks::Check& check) {
  check.set_name(report.name);
  check.set_device(report.device);
  check.set_state(report.state);
  check.set_result(report.result);
  check.set_says(report.says);
  check.set_every_millis(Millis(report.every));
  check.set_interval_millis(Millis(report.interval));
  if (report.last_run) check.set_last_run_unix_nanos(report.last_run->time_since_epoch().count());
  check.set_last_run_millis(Millis(report.took));
  check.set_last_run_cpu_millis(Millis(report.cpu));
  check.set_runs(report.runs);
  check.set_cpu_millis(Millis(report.cpu_of_all));
}

}  // namespace

void ServeChecks(rpc::Dispatcher& dispatcher, const CheckSource& source) {
  rpc::AddUnary<checks::ListChecksRequest, checks::ListChecksResponse>(
      dispatcher, "/galen.checks.v1.Checks/ListChecks",
      [&source](const checks::ListChecksRequest&, const rpc::Caller&,
                const rpc::TypedReply<checks::ListChecksResponse>& reply) {
        checks::ListChecksResponse response;
        for (const CheckReport& report : source.Checks()) Fill(report, *response.add_checks());
        for (const std::string& trouble : source.Troubles()) {
          response.add_troubles(ToValidUtf8(trouble));
        }
        reply(response);
      });
}

}  // namespace galen::sdk
