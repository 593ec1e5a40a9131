import FoundationEssentials
import Wire

/// A file that a push service made for some purpose, and somebody gave for another one. Every credential that is refused is looked
/// at for these first.
enum MisplacedFile {
  /// One that a push service's console made.
  case known(KnownFile, of: PushServiceName)
  case oauthClient
  case personalSignIn
  case workloadIdentity
  case otherJSON
  case damagedJSON
  /// As bytes, or in base64.
  case pkcs12

  /// - Returns: nil if the file is neither JSON nor a .p12 file.
  init?(_ file: [UInt8]) {
    let text = file.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
    if text.first == UInt8(ascii: "{") {
      self = (try? JSONValue(json: Array(text))).map { Self(json: $0) } ?? .damagedJSON
    } else if Self.isPKCS12(file) || Self.isPKCS12(Self.base64(text)) {
      self = .pkcs12
    } else {
      return nil
    }
  }

  private init(json: JSONValue) {
    func has(_ names: [String]) -> Bool { names.contains { json[$0] != nil } }
    let files = PushService.all.flatMap { service in service.files.map { (file: $0, service: service.name) } }
    let found =
      files.first { has($0.file.members) } ?? files.first { $0.file.type.map { .string($0) == json["type"] } ?? false }
    if let found {
      self = .known(found.file, of: found.service)
      return
    }
    self =
      switch json["type"] {
      case "authorized_user": .personalSignIn
      case "external_account": .workloadIdentity
      case _ where has(["web", "installed"]): .oauthClient
      default: .otherJSON
      }
  }

  /// Whether it is the key file of a service account of this service.
  func isKeyFile(of service: PushService) -> Bool {
    if case .known(let file, service.name) = self { file.isKeyFile } else { false }
  }

  /// Such a file begins with its version, which is 3.
  private static func isPKCS12(_ file: [UInt8]) -> Bool {
    file.contentsOfSequence?.starts(with: [0x02, 0x01, 0x03]) == true
  }

  private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8] {
    // The letter is that of SEQUENCE.
    guard text.first == UInt8(ascii: "M") else { return [] }
    return Data(base64Encoded: Data(text.filter { $0 > 0x20 })).map { Array($0) } ?? []
  }

  /// What the file is, as the beginning of a sentence.
  /// - Parameter wanted: with its article, as in `a signing key`.
  func finding(insteadOf wanted: String) -> String {
    switch self {
    case .known(let file, _): file.finding
    case .oauthClient: "This is an OAuth client, not \(wanted)"
    case .personalSignIn: "This is a person's sign-in, not \(wanted)"
    case .workloadIdentity: "This is a workload identity configuration, which has no private key"
    case .otherJSON: "This is a JSON file, but not \(wanted)"
    case .damagedJSON: "This is a JSON file that is damaged or cut off"
    case .pkcs12: "This is a .p12 file, which holds a push certificate and not \(wanted)"
    }
  }
}
