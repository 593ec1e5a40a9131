/// The address at which Windows' push service reaches a device: its push token.
///
/// It is read in one strict way, so that what is checked is what requests go to: https, a host's name, and no user or fragment.
public struct ChannelURI: Sendable, Hashable {
  /// In lower case.
  public let host: String
  public let port: Int
  /// With the query, as it stands.
  public let path: String

  /// - Returns: nil for any other text.
  public init?(_ text: String) {
    let scheme = "https://"
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") }),
      text.prefix(scheme.count).lowercased() == scheme
    else { return nil }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let name = HostPattern.name(parts[0]),
      let port = parts.count == 1 ? 443 : HostPattern.port(parts[1])
    else { return nil }
    host = name
    self.port = port
    let path = rest.dropFirst(authority.count)
    self.path = path.hasPrefix("/") ? String(path) : "/\(path)"
  }
}

/// The hosts that channel URIs can be at, so that nobody makes a hub send requests elsewhere.
public struct ChannelHosts: Sendable, Hashable, CustomStringConvertible {
  private let patterns: [HostPattern]

  /// Those of Windows' push service.
  public static let microsoft = ChannelHosts([HostPattern(suffix: ".notify.windows.com")])

  private init(_ patterns: [HostPattern]) { self.patterns = patterns }

  /// Reads names of hosts, separated by commas: `*.example.com` for all below `example.com`, and `:port` behind another port than 443.
  /// - Returns: nil for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    patterns = parts.compactMap { HostPattern($0.filter { $0 != " " }) }
    guard patterns.count == parts.count else { return nil }
  }

  public func allow(_ channel: ChannelURI) -> Bool { patterns.contains { $0.covers(channel) } }

  /// As `init` reads it.
  public var description: String { patterns.map(\.description).joined(separator: ", ") }
}

/// A host's name, or all names below one.
private struct HostPattern: Sendable, Hashable, CustomStringConvertible {
  /// With a dot before it, if it stands for all names below it.
  var suffix: String
  var port = 443

  init(suffix: String) { self.suffix = suffix }

  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let isWild = text.hasPrefix("*.")
    guard (1...2).contains(parts.count), let name = Self.name(isWild ? parts[0].dropFirst(2) : parts[0]),
      let port = parts.count == 1 ? 443 : Self.port(parts[1])
    else { return nil }
    suffix = isWild ? ".\(name)" : name
    self.port = port
  }

  func covers(_ channel: ChannelURI) -> Bool {
    guard channel.port == port else { return false }
    return suffix.hasPrefix(".") ? channel.host.hasSuffix(suffix) : channel.host == suffix
  }

  var description: String { (suffix.hasPrefix(".") ? "*\(suffix)" : suffix) + (port == 443 ? "" : ":\(port)") }

  /// The name in lower case: labels of letters, digits and hyphens with dots between them.
  static func name(_ text: some StringProtocol) -> String? {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    let isName = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count)
        && label.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
          default: false
          }
        }
    }
    return isName && text.utf8.count <= 253 ? text.lowercased() : nil
  }

  static func port(_ text: some StringProtocol) -> Int? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(text) else { return nil }
    return (1...65535).contains(port) ? port : nil
  }
}
