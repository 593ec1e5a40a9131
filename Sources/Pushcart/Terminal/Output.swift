import Web
import Wire

/// How a command shows what it did: for people, or as the REST API's JSON.
struct Output {
  let isJSON: Bool

  /// Writes a reply to standard output.
  func show<Reply: Encodable>(_ reply: Reply, for people: (Reply) -> String) throws {
    let text = isJSON ? String(decoding: try JSONReply.encode(reply), as: UTF8.self) + "\n" : people(reply)
    StandardStream.output.write(text)
  }
}

extension Timestamp {
  /// To the second, in UTC, as tables show it.
  var forPeople: String { String(description.prefix(19)).replacing("T", with: " ") }
}
