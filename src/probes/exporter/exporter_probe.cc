#include "probes/exporter/exporter_probe.h"

#include <fmt/format.h>

#include "base/check.h"

namespace galen::probes {

ExporterProbe::ExporterProbe(Parts parts) : parts_(std::move(parts)) {
  parts_.metrics.DeclareCounter("galen_exporter_fetches_total",
                                "Pages that exporters were asked for, by exporter and result.");
  for (const ExporterSpec& spec : parts_.rules.exporters) {
    StatusOr<ExporterAddress> address = ParseExporterAddress(spec.url);
    // The reader of the table refuses any other address.
    GALEN_CHECK(address.ok());
    exporters_.emplace(
        spec.name,
        Exporter{.spec = &spec, .address = *std::move(address), .queue = parts_.make_queue()});
  }
  for (const SignSpec& sign : parts_.rules.signs) {
    if (!sign.metric) continue;
    Exporter& exporter = exporters_.at(sign.metric->exporter);
    exporter.names.insert(sign.metric->name);
    for (const auto* from : {&exporter.spec->labels, &sign.metric->labels}) {
      for (const auto& [label, text] : *from) exporter.labels.insert(label);
    }
  }
}

ExporterProbe::~ExporterProbe() = default;

const ExporterSpec& ExporterProbe::SpecOf(const SignSpec& sign) const {
  return *exporters_.at(sign.metric->exporter).spec;
}

void ExporterProbe::SetDevices(const std::vector<CheckedDevice>& devices) {
  std::map<std::string, CheckedDevice> present;
  for (const CheckedDevice& device : devices) present.emplace(device.name, device);
  for (const auto& [name, device] : present) {
    const auto before = devices_.find(name);
    if (before != devices_.end() && before->second == device) continue;
    for (const SignSpec& sign : parts_.rules.signs) {
      if (sign.metric) known_[{sign.name, name}] = Known{.good_at = parts_.loop.Now()};
    }
  }
  devices_ = std::move(present);
  std::erase_if(known_, [&](const auto& entry) { return !devices_.contains(entry.first.second); });
}

StatusOr<std::vector<Sign>> ExporterProbe::Observe() {
  for (auto& [name, exporter] : exporters_) {
    if (!exporter.asked && exporter.next <= parts_.loop.Now()) Begin(exporter);
  }
  std::vector<Sign> signs;
  for (const SignSpec& sign : parts_.rules.signs) {
    if (!sign.metric) continue;
    for (const auto& [name, device] : devices_) {
      if (std::optional<Sign> shown = SignOf(sign, device)) signs.push_back(*std::move(shown));
    }
  }
  return signs;
}

void ExporterProbe::Begin(Exporter& exporter) {
  exporter.asked = true;
  exporter.next = parts_.loop.Now() + exporter.spec->every;
  // The work owns all that it touches: the probe may be gone when it returns. The page is read
  // there, too, since megabytes take a while.
  auto work = [ask = parts_.fetch, address = exporter.address, timeout = exporter.spec->timeout,
               names = exporter.names, labels = exporter.labels]() -> StatusOr<MetricSamples> {
    ASSIGN_OR_RETURN(const std::string text, ask(address, timeout));
    return ParseMetrics(text, names, labels);
  };
  RunFor(liveness_, *exporter.queue, std::move(work),
         [this, name = exporter.spec->name](const StatusOr<MetricSamples>& page) {
           OnPage(name, page);
         });
}

void ExporterProbe::OnPage(const std::string& name, const StatusOr<MetricSamples>& page) {
  Exporter& exporter = exporters_.at(name);
  exporter.asked = false;
  NoteFetch(exporter, page.status());
  std::vector<Sign> news = Take(exporter, page);
  if (sink_ != nullptr && !news.empty()) sink_->OnSigns(std::move(news));
}

void ExporterProbe::NoteFetch(Exporter& exporter, const Status& status) {
  const std::string& name = exporter.spec->name;
  parts_.metrics.Add("galen_exporter_fetches_total",
                     {{"exporter", name}, {"result", status.ok() ? "ok" : "error"}});
  const bool failed_before = !exporter.error.empty();
  exporter.error = status.ok() ? "" : status.message();
  if (failed_before == !status.ok()) return;
  if (status.ok()) {
    parts_.log.Info("exporter answers again", {{"exporter", name}, {"url", exporter.spec->url}});
  } else {
    parts_.log.Warning(
        "exporter does not answer, its last values will go stale",
        {{"exporter", name}, {"url", exporter.spec->url}, {"error", status.message()}});
  }
}

std::vector<Sign> ExporterProbe::Take(const Exporter& exporter,
                                      const StatusOr<MetricSamples>& page) {
  std::vector<Sign> news;
  for (const SignSpec& sign : parts_.rules.signs) {
    if (!sign.metric || sign.metric->exporter != exporter.spec->name) continue;
    for (const auto& [name, device] : devices_) {
      Known& known = known_.at({sign.name, name});
      MetricReading reading =
          page.ok()
              ? ReadMetric(sign, *exporter.spec, *page, device)
              : MetricReading{.error = fmt::format("exporter {} at {}: {}", exporter.spec->name,
                                                   exporter.spec->url, page.status().message())};
      if (!reading.value && reading.error.empty() && known.had) {
        reading.error =
            fmt::format("exporter {} shows no {} any more", exporter.spec->name, sign.metric->name);
      }
      known.trouble = reading.error;
      if (reading.value) {
        TakeValue(sign, device, *reading.value, news);
      } else if (reading.error.empty()) {
        if (!std::exchange(known.is_absent, true) || known.in_doubt) {
          news.push_back(MakeSign(sign, device));
          news.back().absent = true;
        }
        known.in_doubt = false;
        known.good_at = parts_.loop.Now();
      }
    }
  }
  return news;
}

void ExporterProbe::TakeValue(const SignSpec& sign, const CheckedDevice& device, double value,
                              std::vector<Sign>& news) {
  Known& known = known_.at({sign.name, device.name});
  known.good_at = parts_.loop.Now();
  known.is_absent = false;
  known.had = true;
  const bool in_doubt = std::exchange(known.in_doubt, false);
  Sign shown = MakeSign(sign, device);
  shown.value = value;
  shown.raw = fmt::format("exporter {}: {} {}", sign.metric->exporter, sign.metric->name,
                          NumberText(value));
  if (sign.kind != SignKind::kEvent) {
    shown.look = Sign::Look::kSeldom;
    known.last = shown;
    known.last->look = Sign::Look::kAgain;
    news.push_back(std::move(shown));
    return;
  }
  // The first number that can be read is news by itself; its event may have ended before this
  // process began.
  if (in_doubt) {
    news.push_back(MakeSign(sign, device));
    news.back().absent = true;
  }
  const std::optional<double> before = std::exchange(known.previous, value);
  if (before && *before != value && value != 0) news.push_back(std::move(shown));
}

std::optional<Sign> ExporterProbe::SignOf(const SignSpec& sign, const CheckedDevice& device) {
  Known& known = known_.at({sign.name, device.name});
  const Duration age = parts_.loop.Now() - known.good_at;
  if (age < SpecOf(sign).patience || known.is_absent) return known.last;
  known.in_doubt = true;
  known.last.reset();
  Sign unknown = MakeSign(sign, device);
  unknown.error = known.trouble.empty() ? fmt::format("exporter {} at {} has not answered",
                                                      sign.metric->exporter, SpecOf(sign).url)
                                        : known.trouble;
  return unknown;
}

Sign ExporterProbe::MakeSign(const SignSpec& sign, const CheckedDevice& device) const {
  Sign made;
  made.device = device.name;
  made.name = sign.name;
  made.unit = sign.unit;
  made.time = parts_.loop.WallNow();
  return made;
}

}  // namespace galen::probes
