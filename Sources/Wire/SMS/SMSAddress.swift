/// Where requests to a provider of SMS go: an https address of the internet, or any address of this machine itself.
public struct SMSAddress: Sendable, Hashable {
  /// In lower case; an IPv6 address without its brackets.
  public let host: String
  public let port: Int
  /// Path and query; `/` at least.
  public let path: String
  /// Whether it is an http address, which has to be this machine's.
  public let isPlain: Bool
  /// Whether it is this machine's own.
  public let isLoopback: Bool

  /// - Throws: `JSONProblem` for anything else.
  public init(url text: String) throws(JSONProblem) {
    let scheme = text.prefix { $0 != ":" }
    isPlain = scheme.lowercased() == "http"
    let endpoint: PushEndpoint
    do throws(JSONProblem) {
      endpoint = try PushEndpoint(url: isPlain ? "https" + text.dropFirst(scheme.count) : text)
    } catch {
      throw JSONProblem("must be a full address such as https://host/path: it \(error.problem)")
    }
    let address = HostAddress(endpoint.host)
    host = endpoint.host
    path = endpoint.path
    isLoopback =
      host == "localhost" || address.map { $0.bytes.count == 4 && $0.bytes[0] == 127 } == true
      || address?.bytes == [UInt8](repeating: 0, count: 15) + [1]
    let authority = text.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" }
    let hasPort = PushEndpoint.parts(authority.lowercased())?.port != nil
    port = hasPort || !isPlain ? endpoint.port : 80
    guard !isPlain || isLoopback else {
      throw JSONProblem("must begin with https://: http is allowed at localhost, 127.0.0.1 and [::1] only")
    }
    guard address.map({ $0.isPublic || isLoopback }) ?? true else {
      throw JSONProblem("must not be a private or reserved address")
    }
  }
}
