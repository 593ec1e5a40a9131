import Embedded
import Foundation
import Operations
import Testing
import Wire

@testable import Web

@Suite struct ConsoleTemplateTests {
  /// The mark makes one character of it and the quotation mark.
  private static let canary = "\"\u{301} x=1 '<x onerror=1>&amp;"

  @Test func `Every variable of every template is escaped, also where a mark combines with it`() throws {
    for files in [EmbeddedFile.console, EmbeddedFile.reference, EmbeddedFile.simulator] {
      let (templates, values) = (HTMLTemplates(files), Self.values(of: files))
      var count = 0
      for name in templates.names {
        let html = templates.render(name, values)
        #expect(!html.utf8String("<x onerror"), "\(name)")
        #expect(!html.utf8String(Self.canary) && !html.utf8String("\"\u{301}"), "\(name)")
        if html.contains("&lt;x onerror=1&gt;&amp;amp;") { count += 1 }
      }
      #expect(count >= 4)
    }
  }

  @Test func `No template takes a variable without escaping`() {
    for file in EmbeddedFile.console + EmbeddedFile.reference + EmbeddedFile.simulator
    where file.name.hasSuffix(".html") {
      #expect(!file.text.contains("{{{") && !file.text.contains("{{&"), "\(file.name)")
      #expect(!file.text.contains("<script>"), "\(file.name)")
    }
    for file in EmbeddedFile.console { #expect(!file.text.contains(" style="), "\(file.name)") }
  }

  /// Prose and types of the reference page are pieces, of which each is a text, code or a link.
  @Test func `Prose is paragraphs of texts and code, and a lone backtick stays`() {
    let paragraphs = Prose.paragraphs("One `a < b` two\nthree\n\nA lone ` stays")
    let pieces = paragraphs.map { $0["pieces"] as? [[String: Any]] ?? [] }
    #expect(pieces.map { $0.map { $0["text"] as? String } } == [["One ", "", " two three"], ["A lone ", " stays"]])
    #expect(pieces[0].map { $0["code"] as? String } == ["", "a < b", ""])
  }

  @Test func `Markup stays as it is, and other values are texts`() {
    let values: [String: Any] = [
      "a": Markup("<b>"), "b": Optional("<").map { $0 } as Any, "c": 7, "d": UTF8String("<"), "e": Int?.none as Any,
    ]
    let escaped = HTMLTemplates.escaped(values) as? [String: Any]
    #expect(escaped?["a"] as? String == "<b>")
    #expect(escaped?["b"] as? String == "&lt;")
    #expect(escaped?["c"] as? String == "7")
    #expect(escaped?["d"] as? String == "&lt;")
    #expect(escaped?["e"] == nil)
  }

  @Test func `Texts of several lines keep their blanks and line ends`() {
    let html = HTMLTemplates.console.render(
      "_field",
      [
        "isArea": true, "isHidden": false, "name": "n", "id": "i", "label": "L", "rows": 3, "value": "\n a\n  b\n",
      ])
    #expect(html.contains(">\n\n a\n  b\n</textarea>"), "\(html)")
  }

  @Test func `A form shows limits of the API's field table, and an error at the field that it names`() {
    let fields = [
      AccessKeyRequest.form.field("name", label: "Name"), AccessKeyRequest.form.field("scope", label: "Scope"),
      FormField("password", label: "Password", kind: .password),
    ]
    #expect(fields[0].limits == 1...200 && fields[0].isRequired)
    let typed = FormValues([("name", "a < b"), ("scope", "send"), ("password", "secret")])
    let values = FormView(fields, [:], typed, .badRequest("name is empty.")).values
    let name = values["name"] as? [String: Any]
    #expect(name?["value"] as? String == "a < b" && name?["error"] as? String == "Name is empty.")
    let choices = (values["scope"] as? [String: Any])?["choices"] as? [[String: Any]]
    #expect(choices?.filter { $0["isSelected"] as? Bool == true }.map { $0["value"] as? String } == ["send"])
    #expect((values["password"] as? [String: Any])?["value"] as? String == "")
    let errors = values["errors"] as? [[String: Any]]
    #expect(errors?.first?["id"] as? String == "f-name")
    #expect(FormView.place("names are many.", fields).field == nil)
  }

  @Test func `Moments are written and read in the customer's zone`() throws {
    let zone = ConsoleZone("Europe/Amsterdam")
    let moment = try #require(Timestamp("2026-07-01T21:13:00Z"))
    #expect(zone.text(moment.date) == "1 Jul 2026, 23:13")
    #expect(zone.time(moment)["utc"] as? String == "2026-07-01 21:13:00 UTC")
    #expect(zone.moment(ofField: zone.field(moment.date)) == moment)
    #expect(zone.moment(ofField: "2026-12-01T12:00")?.description == "2026-12-01T11:00:00.000Z")
    #expect(zone.moment(ofField: "2026-13-01T12:00") == nil)
    #expect(ConsoleZone("Nowhere/At_All").name == "UTC")
  }

  /// As segno writes it.
  @Test func `A QR code has the modules of the standard`() throws {
    let code = try #require(QRCode(String(repeating: "x", count: 14)))
    let rows = code.modules.prefix(8).map { row in String(row.map { $0 ? "1" : "0" }) }
    #expect(
      rows == [
        "111111100011101111111", "100000101110001000001", "101110100011101011101", "101110100111001011101",
        "101110101000101011101", "100000100111001000001", "111111101010101111111", "000000000011000000000",
      ])
    #expect(QRCode(String(repeating: "x", count: 214)) == nil)
  }

  /// A value for every name that templates have.
  private static func values(of files: [EmbeddedFile]) -> [String: Any] {
    var values: [String: Any] = [:]
    var parts: [String: [String: Any]] = ["frame": [:]]
    for file in files where file.name.hasSuffix(".html") {
      for tag in file.text.matches(of: #/\{\{([#^]?)([\w.]+)\}\}/#) {
        let names = tag.2.split(separator: ".").map { String($0) }
        if names.count > 1 {
          parts[names[0], default: [:]][names[1]] = canary
        } else if let name = names.first, tag.1.isEmpty || values[name] == nil {
          values[name] = tag.1.isEmpty ? canary : [["present": true]]
        }
      }
    }
    return values.merging(parts) { $1 }
  }
}

extension String {
  /// Whether it holds these bytes.
  fileprivate func utf8String(_ part: String) -> Bool {
    let (bytes, sought) = (Array(utf8), Array(part.utf8))
    guard bytes.count >= sought.count else { return false }
    return (0...bytes.count - sought.count).contains { bytes[$0...].starts(with: sought) }
  }
}
