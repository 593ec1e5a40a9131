import Testing
import Wire

@testable import DataInOut

@Suite struct ImportColumnTests {
  private func bytes<Answer>(_ text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Answer) -> Answer {
    Array(text.utf8).withUnsafeBufferPointer(body)
  }

  @Test(
    arguments: [
      ("originalId", "originalId"), ("ORIGINAL ID", "originalId"), ("first name", "firstName"),
      ("First_Name", "firstName"),
      ("E-mail", "emailAddress"), ("email address", "emailAddress"), ("date of birth", "dateOfBirth"),
      ("properties.Färg", "properties.Färg"), ("device-token", "deviceToken"), ("Förnamn", nil), ("", nil),
      ("name", nil),
      ("properties.", nil), ("first\u{A0}name", nil),
    ] as [(String, String?)])
  func `Headings are names whatever their case, blanks and hyphens`(heading: String, target: String?) {
    #expect(ImportColumn(heading: heading)?.target == target)
  }

  @Test func `Every column has a name that leads back to it`() {
    for name in ImportColumn.names.split(separator: ", ").map({ String($0.split(separator: " ")[0]) }) {
      #expect(ImportColumn(name)?.target == name)
    }
    #expect(ImportColumn("firstname") == nil)
    #expect(ImportColumn("properties.a.b")?.target == "properties.a.b")
  }

  @Test(
    arguments: [
      ("1980-02-29", nil, 3711), ("1980-02-29T10:00:00Z", nil, 3711), ("29.2.1980", nil, 3711),
      ("2/29/1980", nil, 3711),
      ("29/02/1980", nil, 3711), ("1980/02/29", nil, 3711), ("03.03.1980", nil, 3714), ("1.2.1980", nil, nil),
      ("30.2.1980", nil, nil),
      ("29.2.80", nil, nil), ("29-2-1980", nil, 3711), ("29.2/1980", nil, nil), ("19800229", nil, nil), ("0", nil, nil),
      ("01.02.1980", "DD.MM.YYYY", 3683), ("1.2.1980", "DD.MM.YYYY", 3683), ("01.02.1980", "MM.DD.YYYY", 3653),
      ("1980-02-29", "DD.MM.YYYY", 3711), ("29.02.80", "DD.MM.YYYY", nil), ("29.02.80", "DD.MM.YY", 3711),
      ("01/02/26", "DD/MM/YY", 20_485), ("01/02/27", "DD/MM/YY", -15_675), ("290280", "DDMMYY", 3711),
      ("29280", "DDMMYY", nil),
      ("19800229", "YYYYMMDD", 3711), ("01.02.1980 x", "DD.MM.YYYY", nil), ("", "DD.MM.YYYY", nil),
    ] as [(String, String?, Int?)])
  func `Dates are read in the form that was named, by ISO 8601, or where they can be read in one way only`(
    text: String, format: String?, day: Int?
  ) throws {
    let dates = try #require(ImportDate(format: format, thisYear: 2026))
    #expect(bytes(text) { dates.day($0) } == day)
  }

  @Test(arguments: ["DD.MM", "DD.MM.YYYY.YY", "DD.DD.YYYY", "MM/YYYY", "day", "D.M.YYYY", "", "11.MM.YYYY"])
  func `Forms that say no day are refused`(format: String) {
    #expect(ImportDate(format: format, thisYear: 2026) == nil)
  }

  @Test(
    arguments: [
      ("3,14", "3.14"), ("-3,14", "-3.14"), ("0,5", "0.5"), ("0", "0"), ("12", "12"), ("1.234", "1234"),
      ("1.234.567,89", "1234567.89"),
      ("007", nil), ("00,5", nil), ("1.23", nil), ("1,2,3", nil), ("1,", nil), (",5", nil), ("+46", nil), ("1e5", nil),
      ("", nil),
      ("-", nil), ("12345678901234567", nil), ("1 000", nil), ("٣", nil), ("1234.567", nil),
    ] as [(String, String?)])
  func `Numbers have a decimal comma, and nothing that would be lost`(text: String, json: String?) {
    #expect(bytes(text) { ImportRows.number($0).map { String(decoding: $0, as: UTF8.self) } } == json)
  }
}
