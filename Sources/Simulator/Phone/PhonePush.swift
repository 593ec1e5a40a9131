import FoundationEssentials
import Wire

/// A received push as a phone shows it: its texts, and where a tap leads.
struct PhonePush {
  let number: Int
  let token: String
  let environment: SimulatedAPNs.Environment
  let at: Date
  /// The app's name, derived from its topic.
  let app: String
  let title: String
  let text: String
  let badge: Int?
  let isSilent: Bool
  let url: String?
  let pushReadURL: String?
  /// The payload, formatted for reading.
  let payload: String

  init(_ request: SimulatedAPNs.ReceivedRequest) {
    number = request.number
    token = request.token
    environment = request.environment
    at = request.at
    app = Self.appName(topic: request.header("apns-topic") ?? "")
    let root = (try? JSONDecoder().decode(JSONValue.self, from: Data(request.payload)))?.fields ?? [:]
    let aps = root["aps"]?.fields ?? [:]
    let alert = aps["alert"]?.fields ?? [:]
    let first = alert["title"]?.text ?? aps["alert"]?.text ?? root["alert"]?.text
    let second = [alert["subtitle"]?.text, alert["body"]?.text ?? root["info"]?.text].compactMap { $0 }
    isSilent = first == nil && second.isEmpty
    title = first ?? (second.isEmpty ? "Silent push" : app)
    text = second.joined(separator: "\n")
    badge = if case .integer(let number) = aps["badge"] { Int(number) } else { nil }
    url = root["url"]?.webAddress
    pushReadURL = root["pushreadurl"]?.webAddress
    payload = Self.formatted(root, or: request.payload)
  }

  /// The last telling part of the bundle id: `Acme` of `com.acme.app`.
  static func appName(topic: String) -> String {
    let parts = topic.split(separator: ".")
    let name = parts.last { !["app", "ios", "mobile", "voip"].contains($0.lowercased()) } ?? parts.last ?? "App"
    return name.prefix(1).uppercased() + name.dropFirst()
  }

  private static func formatted(_ root: [String: JSONValue], or payload: [UInt8]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let json = root.isEmpty ? nil : try? encoder.encode(JSONValue.object(root))
    return String(decoding: json ?? Data(payload), as: UTF8.self)
  }
}

extension JSONValue {
  fileprivate var fields: [String: JSONValue]? { if case .object(let fields) = self { fields } else { nil } }
  fileprivate var text: String? { if case .string(let text) = self, !text.isEmpty { text } else { nil } }
  /// Only what a browser may safely open.
  fileprivate var webAddress: String? {
    text.flatMap { $0.hasPrefix("http://") || $0.hasPrefix("https://") ? $0 : nil }
  }
}
