import Simulator
import Support
import Testing

@Suite struct MetricsTests {
  @Test func `Metrics of a hub that has sent follow Prometheus' format and naming`()
    async throws
  {
    try await withProcessFixture { fixture in
      try await fixture.addDevices(20)
      let hub = try await fixture.serve()
      let sendout = try await fixture.send(through: hub.server)
      _ = await fixture.simulator.apns.received(count: 20)
      for path in ["/nothing", "/api/v1/sendouts/\(sendout)", "/r/x", "/healthz"] {
        _ = try await hub.server.send("GET", path, key: fixture.key)
      }
      // A push is counted once its outcome is known, which is later than its arrival.
      try await waitUntil {
        try await hub.server.send("GET", "/metrics").text.contains("\npushcart_pushes_total{")
      }
      let reply = try await hub.server.send("GET", "/metrics")
      #expect(reply.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
      let reading = PrometheusReading(reply.text)
      #expect(reading.problems == [])

      for (name, kind) in reading.kinds {
        #expect(name.hasPrefix("pushcart_") || name.hasPrefix("process_"), "\(name)")
        #expect((kind == "counter") == name.hasSuffix("_total"), "\(name) is a \(kind)")
        if kind == "histogram" { #expect(name.hasSuffix("_seconds"), "\(name)") }
      }
      let names = Set(reading.samples.compactMap { reading.family(of: $0.name) })
      #expect(names == Set(reading.kinds.keys))
      for name in [
        "pushcart_http_request_seconds", "pushcart_database_statement_seconds", "pushcart_database_connections",
        "pushcart_provider_responses_total", "pushcart_provider_response_seconds", "pushcart_pushes_total",
        "process_resident_memory_bytes", "process_cpu_seconds_total",
      ] {
        #expect(names.contains(name), "\(name)")
      }
      hub.process.signal(15)
      await hub.process.exit()
    }
  }

  @Test func `A hub raises its limit of open files to the hard limit`() async throws {
    try await withProcessFixture { fixture in
      let hub = try await fixture.serve(limits: "ulimit -Sn 300; ulimit -Hn 700")
      let reading = PrometheusReading(try await hub.server.send("GET", "/metrics").text)
      #expect(reading.samples.first { $0.name == "process_max_fds" }?.value == 700)
      hub.process.signal(15)
      await hub.process.exit()
    }
  }
}
