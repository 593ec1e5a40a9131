import Wire

/// Prometheus' text format, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
enum PrometheusText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  static func write(_ registry: MetricsRegistry) -> String {
    var text = ""
    for (name, family) in registry.reading {
      text += "# TYPE \(name) \(family.kind.rawValue)\n"
      for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
        switch series {
        case .counter(let series): text += "\(name)\(labels) \(number(series.value))\n"
        case .gauge(let series): text += "\(name)\(labels) \(number(series.value))\n"
        case .histogram(let series): text += histogram(series, name, labels)
        }
      }
    }
    return text
  }

  /// Buckets are cumulative. The count is their sum, so one reading is consistent.
  private static func histogram(_ series: HistogramSeries, _ name: String, _ labels: String) -> String {
    let (counts, sum) = series.reading
    let open = labels.isEmpty ? "{" : labels.dropLast() + ","
    var text = ""
    var total = 0
    for (count, bound) in zip(counts, series.bounds.map(number) + ["+Inf"]) {
      total += count
      text += "\(name)_bucket\(open)le=\"\(bound)\"} \(total)\n"
    }
    return text + "\(name)_sum\(labels) \(number(sum))\n\(name)_count\(labels) \(total)\n"
  }

  /// Letters, digits, `_` and `:`, without a leading digit. Any other character becomes `_`.
  static func name(_ label: String) -> String {
    var name = String(String.UnicodeScalarView(label.unicodeScalars.map { isNamePart($0) ? $0 : "_" }))
    if name.first.map({ $0.isNumber }) ?? true { name = "_" + name }
    return name
  }

  /// `{a="1",b="2"}` sorted by name, or empty.
  static func labels(_ dimensions: [(String, String)]) -> String {
    if dimensions.isEmpty { return "" }
    let pairs = dimensions.sorted { $0.0 < $1.0 }.map { dimension in
      let name = name(dimension.0).replacing(":", with: "_")
      let value = dimension.1.replacing(each: "\\", with: "\\\\").replacing(each: "\"", with: "\\\"")
        .replacing("\n", with: "\\n")
      return "\(name)=\"\(value)\""
    }
    return "{\(pairs.joined(separator: ","))}"
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: value).map(String.init) ?? String(value)
  }

  private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_", ":": true
    default: false
    }
  }
}
