import Foundation
import Support
import Testing
import Wire

@Suite struct TimestampTests {
  @Test func `A moment is written as it was read, to the millisecond`() throws {
    for milliseconds in 0..<1000 {
      let fraction = String(1000 + milliseconds).dropFirst()
      for day in ["0001-01-01", "1752-09-03", "1970-01-01", "2016-02-09", "2026-11-20", "2099-12-31", "9999-12-31"] {
        let text = "\(day)T23:59:59.\(fraction)Z"
        #expect(try #require(Timestamp(text)).description == text)
      }
    }
  }

  @Test func `A moment has the same milliseconds as text and as a number`() throws {
    for millisecond in 0..<1000 {
      let digits = String(1000 + millisecond).dropFirst()
      let read = try #require(Timestamp("2026-11-26T11:14:12.\(digits)Z"))
      #expect(read.milliseconds == 1_795_691_652_000 + Int64(millisecond) && read.description.hasSuffix(".\(digits)Z"))
    }
  }

  @Test func `Every day of the calendar is read as Foundation reads it, and no other`() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    for year in [1583, 1900, 2000, 2024, 2026, 2100, 9999] {
      for month in 0...13 {
        for day in 0...32 {
          let components = DateComponents(year: year, month: month, day: day)
          let expected = components.isValidDate(in: calendar) ? calendar.date(from: components) : nil
          func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
          #expect(Timestamp("\(year)-\(two(month))-\(two(day))T00:00:00Z")?.date == expected, "\(year) \(month) \(day)")
        }
      }
    }
  }

  @Test(arguments: Moments.real) func `Each form of RFC 3339 is read`(text: String, shown: String) {
    #expect(Timestamp(text)?.description == shown)
  }

  @Test(arguments: Moments.impossible + Moments.otherwiseWritten) func `Anything else is no moment`(text: String) {
    #expect(Timestamp(text) == nil)
  }

  @Test func `Fractions are cut off at microseconds`() throws {
    let date = try #require(Timestamp("2026-11-20T09:00:00.1234569Z")).date
    #expect(abs(date.timeIntervalSince1970 - 1_795_165_200.123456) < 0.000_000_3)
  }

  @Test func `What is beyond the years 1 to 9999 is written as their first or last moment`() {
    #expect(Timestamp(Date(timeIntervalSince1970: -1e15)).description == "0001-01-01T00:00:00.000Z")
    #expect(Timestamp(Date(timeIntervalSince1970: 1e15)).description == "9999-12-31T23:59:59.999Z")
  }
}
