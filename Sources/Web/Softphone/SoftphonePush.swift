import Crypto
import FoundationEssentials
import Registry
import Sendouts
import Wire

/// One push as a client of the gateway sent it.
struct SoftphonePush: Sendable {
  let verb: String
  let appID: String
  /// The account that is to process it.
  let selector: String?
  /// What else came along, by name.
  let attributes: [UTF8String: JSONValue]
  /// Whether it came to the old service.
  let isForm: Bool
  private let token: SoftphoneToken

  /// - Parameter isForm: whether it came to the old service, which needs verb, AppId and DeviceToken alone. Clients of forms forget to encode
  ///   a `+`, so blanks in the token and before the Selector stand for one.
  /// - Throws: `SoftphoneRefusal` for a required attribute that is missing, for a token that is no base64, and for U+0000. Nothing can
  ///   store that, and it is this push's fault alone.
  init(_ members: [UTF8String: JSONValue], isForm: Bool = false) throws(SoftphoneRefusal) {
    if let name = members.filter({ $0.key.text.utf8.contains(0) || $0.value.holdsNUL }).keys.min() {
      throw SoftphoneRefusal(sentence: "\(name.text.replacing("\0", with: "")) holds U+0000.")
    }
    func required(_ name: String) throws(SoftphoneRefusal) -> String {
      guard let text = try Self.text(name, of: members) else { throw SoftphoneRefusal(sentence: "\(name) is missing.") }
      return text
    }
    verb = try required("verb")
    appID = try required("AppId")
    let text = try required("DeviceToken")
    guard let token = SoftphoneToken(text, isForm: isForm) else {
      throw SoftphoneRefusal(sentence: "DeviceToken is no base64.")
    }
    self.token = token
    guard verb.hasPrefix("Notify"), verb.utf8.count <= 100 else {
      throw SoftphoneRefusal(sentence: "verb is not known: it begins with Notify, as in NotifyTextMessage.")
    }
    selector = try Self.text("Selector", of: members).map { isForm ? Self.withPlus($0) : $0 }
    self.isForm = isForm
    guard isForm || selector != nil || verb == Verb.genericText else {
      throw SoftphoneRefusal(sentence: "Selector is missing: \(verb) needs it.")
    }
    attributes = members.filter { !Self.own.contains($0.key) && $0.value != .null }
  }

  private static let own: Set<UTF8String> = ["verb", "AppId", "DeviceToken", "Selector"]

  /// A Selector as it was before a form made a blank of its first character: it can be a number, as in `+31612345678`.
  static func withPlus(_ selector: String) -> String {
    selector.utf8.first == UInt8(ascii: " ") ? "+\(selector.dropFirst())" : selector
  }

  /// The attribute if it is there; null and an empty text count as absent.
  /// - Throws: `SoftphoneRefusal` if it is no text.
  static func text(_ name: String, of members: [UTF8String: JSONValue]) throws(SoftphoneRefusal) -> String? {
    switch members[name] {
    case .string(let text): return text.isEmpty ? nil : text
    case .null, nil: return nil
    default: throw SoftphoneRefusal(sentence: "\(name) must be a text.")
    }
  }
}

// MARK: - Whom it is for

extension SoftphonePush {
  /// The app that it is for; nil if none of them is.
  func app(of apps: [PushApp]) -> PushApp? { token.app(of: apps) }

  /// - Throws: `SoftphoneRefusal`, `RegistryError.invalid`.
  func message(to app: PushApp) throws -> DeviceMessage {
    let native = token.native(app.type)
    let owner = selector ?? "token:\(Array(SHA256.hash(data: Array(native.utf8))).hexDigits)"
    if owner.unicodeScalars.count > Registration.maximumOriginalID || owner.utf8.contains(0) {
      throw SoftphoneRefusal(
        sentence: "Selector is longer than \(Registration.maximumOriginalID) characters, or holds U+0000.")
    }
    return DeviceMessage(
      app: app, token: try DeviceToken(native, type: app.type, field: "DeviceToken"), owner: owner,
      movesDevice: selector != nil, message: try message(for: app))
  }
}

extension JSONValue {
  /// Whether a text or a name in it holds U+0000.
  fileprivate var holdsNUL: Bool {
    switch self {
    case .string(let text): text.utf8.contains(0)
    case .array(let values): values.contains(where: \.holdsNUL)
    case .object(let members): members.contains { $0.key.text.utf8.contains(0) || $0.value.holdsNUL }
    default: false
    }
  }
}
