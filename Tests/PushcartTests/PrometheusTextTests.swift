import CoreMetrics
import Foundation
import Testing

@testable import Pushcart

@Suite struct PrometheusTextTests {
  @Test func `Metrics are sorted by name`() {
    let registry = MetricsRegistry()
    registry.makeCounter(label: "b_total", dimensions: [("x", "1"), ("a", "2")]).increment(by: Int64(3))
    registry.makeMeter(label: "c", dimensions: []).set(2.5)
    registry.makeTimer(label: "a_seconds", dimensions: []).recordNanoseconds(2_000_000)
    let text = PrometheusText.write(registry)
    #expect(text.hasPrefix("# TYPE a_seconds histogram\na_seconds_bucket{le=\"0.0005\"} 0\n"))
    #expect(text.contains("a_seconds_bucket{le=\"0.0025\"} 1\n"))
    #expect(text.contains("a_seconds_bucket{le=\"+Inf\"} 1\na_seconds_sum 0.002\na_seconds_count 1\n"))
    #expect(text.hasSuffix("# TYPE b_total counter\nb_total{a=\"2\",x=\"1\"} 3\n# TYPE c gauge\nc 2.5\n"))
  }

  @Test func `Labels and names of any text keep the format valid`() throws {
    let registry = MetricsRegistry()
    let hostile = ["\"", "\\", "\n", "a\"} 1\nforged 2", "ü🙂", "", "1", "a:b", "{}", ",="]
    for text in hostile {
      registry.makeCounter(label: text, dimensions: [(text, text)]).increment(by: Int64(1))
      registry.makeTimer(label: "t" + text, dimensions: [(text, text), ("ok", text)]).recordNanoseconds(1)
    }
    let sample = #/[a-zA-Z_:][a-zA-Z0-9_:]*({([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\[\\"n])*",?)*})? [0-9.e+-]+/#
    let type = #/# TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge|histogram)/#
    for line in PrometheusText.write(registry).split(separator: "\n") {
      let ok = try sample.wholeMatch(in: line) != nil || type.wholeMatch(in: line) != nil
      #expect(ok, "\(line)")
    }
  }

  @Test func `The order of labels does not make another series`() {
    let registry = MetricsRegistry()
    registry.makeCounter(label: "n", dimensions: [("a", "1"), ("b", "2")]).increment(by: Int64(1))
    registry.makeCounter(label: "n", dimensions: [("b", "2"), ("a", "1")]).increment(by: Int64(1))
    #expect(PrometheusText.write(registry) == "# TYPE n counter\nn{a=\"1\",b=\"2\"} 2\n")
  }

  @Test func `A name keeps its first kind`() {
    let registry = MetricsRegistry()
    registry.makeCounter(label: "n", dimensions: []).increment(by: Int64(1))
    registry.makeTimer(label: "n", dimensions: []).recordNanoseconds(1)
    #expect(PrometheusText.write(registry) == "# TYPE n counter\nn 1\n")
  }

  @Test func `Concurrent counting loses nothing`() async {
    let registry = MetricsRegistry()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let counter = registry.makeCounter(label: "n", dimensions: [])
          let timer = registry.makeTimer(label: "t", dimensions: [])
          let meter = registry.makeMeter(label: "m", dimensions: [])
          for _ in 0..<10_000 {
            counter.increment(by: Int64(1))
            timer.recordNanoseconds(1_000_000_000)
            meter.increment(by: 0.5)
          }
        }
      }
    }
    let text = PrometheusText.write(registry)
    #expect(text.contains("\nn 80000\n"))
    #expect(text.contains("\nt_sum 80000\nt_count 80000\n"))
    #expect(text.contains("\nm 40000\n"))
  }
}
