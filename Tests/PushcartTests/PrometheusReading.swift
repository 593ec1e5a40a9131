import Foundation

/// A strict reader of Prometheus' text format, version 0.0.4.
struct PrometheusReading {
  struct Sample {
    var name: String
    var labels: [String: String]
    var value: Double
  }

  private(set) var problems: [String] = []
  /// The kind of each family, as its TYPE line says.
  private(set) var kinds: [String: String] = [:]
  private(set) var samples: [Sample] = []

  init(_ text: String) {
    if !text.hasSuffix("\n") { problems.append("the last line does not end") }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() { read(line) }
    checkSeries()
    checkHistograms()
  }

  private mutating func read(_ line: Substring) {
    if let type = line.wholeMatch(of: #/# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)/#) {
      let (name, kind) = (String(type.1), String(type.2))
      if kinds.updateValue(kind, forKey: name) != nil { problems.append("\(name) has two TYPE lines") }
      return
    }
    let form = #/([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\"n])*",?)*)\})? (\S+)/#
    guard let match = line.wholeMatch(of: form), let value = Self.number(match.3) else {
      return problems.append("no sample: \(line)")
    }
    let pairs = (match.2 ?? "").matches(of: #/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"/#)
    let labels = Dictionary(pairs.map { (String($0.1), String($0.2)) }) { first, _ in first }
    if labels.count != pairs.count { problems.append("a label stands twice: \(line)") }
    samples.append(Sample(name: String(match.1), labels: labels, value: value))
    // A family's samples follow its TYPE line, before the next one's.
    if family(of: String(match.1)) == nil { problems.append("no TYPE stands before: \(line)") }
  }

  private static func number(_ text: Substring) -> Double? {
    switch text {
    case "+Inf": .infinity
    case "-Inf": -.infinity
    case "NaN": .nan
    default: Double(text)
    }
  }

  /// The family that a sample belongs to.
  func family(of name: String) -> String? {
    if kinds[name] != nil, kinds[name] != "histogram" { return name }
    for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
      let family = String(name.dropLast(suffix.count))
      if kinds[family] == "histogram" { return family }
    }
    return nil
  }

  private mutating func checkSeries() {
    let series = samples.map { "\($0.name) \($0.labels.sorted { $0.key < $1.key })" }
    for (one, all) in Dictionary(grouping: series, by: \.self) where all.count > 1 {
      problems.append("stands twice: \(one)")
    }
    for sample in samples where kinds[sample.name] == "counter" && !(sample.value >= 0) {
      problems.append("counts below 0: \(sample)")
    }
  }

  private mutating func checkHistograms() {
    for family in kinds.filter({ $0.value == "histogram" }).keys {
      let parts = samples.filter { self.family(of: $0.name) == family }
      let byLabels = Dictionary(grouping: parts) { $0.labels.filter { $0.key != "le" } }
      for (labels, parts) in byLabels {
        let buckets = parts.filter { $0.name == family + "_bucket" }
        let bounds = buckets.map { Self.number(($0.labels["le"] ?? "")[...]) ?? .nan }
        let count = parts.first { $0.name == family + "_count" }?.value
        let isWell =
          bounds == bounds.sorted() && bounds.last == .infinity && buckets.map(\.value) == buckets.map(\.value).sorted()
          && buckets.last?.value == count && parts.contains { $0.name == family + "_sum" }
        if !isWell { problems.append("no histogram: \(family) \(labels)") }
      }
    }
  }
}
