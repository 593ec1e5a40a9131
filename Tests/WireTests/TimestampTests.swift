import Testing
import Wire

@Suite struct TimestampTests {
  @Test func `A moment is written as it was read, to the millisecond`() throws {
    for milliseconds in 0..<1000 {
      let fraction = String(1000 + milliseconds).dropFirst()
      for day in ["1970-01-01", "2016-02-09", "2026-11-20", "2099-12-31"] {
        let text = "\(day)T23:59:59.\(fraction)Z"
        #expect(try #require(Timestamp(text)).description == text)
      }
    }
  }

  @Test func `Zones and whole seconds are read, and anything else is none`() throws {
    for text in ["2026-11-20T10:00:00+01:00", "2026-11-20T09:00:00Z", "2026-11-20T09:00:00.000Z"] {
      #expect(Timestamp(text)?.description == "2026-11-20T09:00:00.000Z", "\(text)")
    }
    for text in ["", "tomorrow", "2026-11-20", "2026-13-20T09:00:00Z", "infinity", "0"] {
      #expect(Timestamp(text) == nil, "\(text)")
    }
  }
}
