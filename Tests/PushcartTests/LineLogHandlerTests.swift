import Foundation
import Logging
import Locking
import Testing

@testable import Pushcart

@Suite struct LineLogHandlerTests {
  /// The lines that a logger writes.
  private func lines(_ form: LineLogHandler.Form, _ log: (Logger) -> Void) -> [String] {
    let written = Mutex<[String]>([])
    log(
      Logger(label: "hub") { label in
        LineLogHandler(label: label, form: form, level: .debug) { line in written.withLock { $0.append(line) } }
      })
    return written.withLock { $0 }
  }

  @Test func `A JSON log line is one object, whatever the text`() throws {
    let hostile = "a\"b\\c\n\r\t\u{0}\u{1B}[31m ü🙂\u{7F}"
    let written = lines(.json) { $0.warning("\(hostile)", metadata: ["k\"": "\(hostile)", "level": "mine"]) }
    let line = try #require(written.first)
    #expect(written.count == 1)
    #expect(line.hasSuffix("}\n") && line.dropLast().allSatisfy { !$0.isNewline })
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
    #expect(object["message"] == hostile && object["k\""] == hostile)
    #expect(object["level"] == "warning" && object["level_"] == "mine" && object["logger"] == "hub")
    #expect(try #require(object["time"]).wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
  }

  @Test func `A text log line has one line end and no control characters`() throws {
    let line = try #require(lines(.text) { $0.info("a\nb\u{1B}[31m", metadata: ["path": "x y\n", "n": "1"]) }.first)
    #expect(line.hasSuffix("info     a b [31m n=1 path=\"x y\\n\"\n"))
  }

  @Test func `Messages below the level are not written`() {
    #expect(lines(.json) { $0.trace("no") }.isEmpty)
  }

  @Test func `A log line merges the logger's metadata with the message's`() throws {
    var written = ""
    lines(.text) { logger in
      var logger = logger
      logger[metadataKey: "a"] = "1"
      logger[metadataKey: "b"] = "1"
      logger.info("m", metadata: ["b": "2"])
    }.forEach { written += $0 }
    #expect(written.hasSuffix("m a=1 b=2\n"))
  }
}
