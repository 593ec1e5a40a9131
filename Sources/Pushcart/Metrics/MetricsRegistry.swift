import CoreMetrics
import Locking

/// All metrics of this process.
///
/// The lock is held only while a series is made or all are read. Code that counts holds its series and uses atomics, so hot
/// paths never wait.
final class MetricsRegistry: MetricsFactory {
  enum Kind: String { case counter, gauge, histogram }

  enum Series {
    case counter(CounterSeries)
    case gauge(GaugeSeries)
    case histogram(HistogramSeries)
  }

  struct Family {
    var kind: Kind
    /// By their labels as Prometheus writes them: `{a="1",b="2"}`, or empty.
    var series: [String: Series] = [:]
  }

  private let families = Mutex<[String: Family]>([:])

  /// All series at this moment, by name and then by labels.
  var reading: [(name: String, family: Family)] {
    families.withLock { $0.sorted { $0.key < $1.key }.map { (name: $0.key, family: $0.value) } }
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { counter(label, dimensions) }

  func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
    counter(label, dimensions)
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { gauge(label, dimensions) }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    aggregate ? histogram(label, dimensions, HistogramSeries.sizes) : gauge(label, dimensions)
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(label, dimensions, HistogramSeries.seconds)
  }

  // A series that vanished and came back would look like a restart to Prometheus, so none is removed.
  func destroyCounter(_: any CounterHandler) {}
  func destroyFloatingPointCounter(_: any FloatingPointCounterHandler) {}
  func destroyMeter(_: any MeterHandler) {}
  func destroyRecorder(_: any RecorderHandler) {}
  func destroyTimer(_: any TimerHandler) {}

  private func counter(_ label: String, _ dimensions: [(String, String)]) -> CounterSeries {
    let made = find(.counter, label, dimensions) { .counter(CounterSeries()) }
    if case .counter(let series) = made { return series } else { return CounterSeries() }
  }

  private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeSeries {
    let made = find(.gauge, label, dimensions) { .gauge(GaugeSeries()) }
    if case .gauge(let series) = made { return series } else { return GaugeSeries() }
  }

  private func histogram(_ label: String, _ dimensions: [(String, String)], _ bounds: [Double]) -> HistogramSeries {
    let made = find(.histogram, label, dimensions) { .histogram(HistogramSeries(bounds: bounds)) }
    if case .histogram(let series) = made { return series } else { return HistogramSeries(bounds: bounds) }
  }

  /// The series of a name and labels. If the name has another kind already, the new series is not shown.
  private func find(
    _ kind: Kind, _ label: String, _ dimensions: [(String, String)], make: () -> Series
  ) -> Series {
    let name = PrometheusText.name(label)
    let labels = PrometheusText.labels(dimensions)
    return families.withLock { families in
      var family = families[name] ?? Family(kind: kind)
      guard family.kind == kind else { return make() }
      let series = family.series[labels] ?? make()
      family.series[labels] = series
      families[name] = family
      return series
    }
  }
}
