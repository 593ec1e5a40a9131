import FoundationEssentials
import Logging
import Wire

extension LineLogHandler {
  /// `{"time":"2026-01-02T03:04:05.678Z","level":"info","message":"…","logger":"…",…}`; a field that bears one of these
  /// four names gets a `_` behind it.
  static func jsonLine(
    at time: Date, _ label: String, _ level: Logger.Level, _ message: String, _ fields: [(String, String)]
  ) -> String {
    var line = "{\"time\":\"\(timestamp(time))\",\"level\":\"\(level.rawValue)\",\"message\":"
    line += quoted(message) + ",\"logger\":" + quoted(label)
    for (key, value) in fields {
      let taken = ["time", "level", "message", "logger"].contains(key)
      line += "," + quoted(taken ? key + "_" : key) + ":" + quoted(value)
    }
    return line + "}\n"
  }

  /// `03:04:05.678 info  listening port=8080`; values with spaces or quotes stand in quotes.
  static func textLine(
    at time: Date, _ label: String, _ level: Logger.Level, _ message: String, _ fields: [(String, String)]
  ) -> String {
    var line = timestamp(time).dropFirst(11).dropLast() + " "
    line += level.rawValue + String(repeating: " ", count: 9 - level.rawValue.count) + plain(message)
    for (key, value) in fields {
      let bare = !value.isEmpty && value.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
      line += " \(key)=" + (bare ? value : quoted(value))
    }
    return line + "\n"
  }

  private static func timestamp(_ time: Date) -> String {
    time.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
  }

  /// Without control characters: a message must not end its line, nor paint the terminal.
  private static func plain(_ message: String) -> String {
    String(String.UnicodeScalarView(message.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
  }

  /// A JSON string, and DEL escaped in it: that is for terminals.
  private static func quoted(_ text: String) -> String {
    String(decoding: JSONText.quoted(text), as: UTF8.self).replacing("\u{7F}", with: "\\u007f")
  }
}
