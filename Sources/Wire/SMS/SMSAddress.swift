/// Where requests to a provider of SMS go. Customers name it, so a rule keeps it on the internet, or at hosts that the operator listed.
public struct SMSAddress: Sendable, Hashable {
  /// In lower case; an IPv6 address without its brackets.
  public let host: String
  public let port: Int
  /// Path and query; `/` at least.
  public let path: String
  /// Whether it is an http address, which has to be this machine's.
  public let isPlain: Bool
  /// Whether its name may lead to a private address, as the operator listed it.
  public let mayBePrivate: Bool

  /// - Throws: `JSONProblem` for what is no address, and for one that the rule does not allow.
  public init(url text: String, _ rule: EndpointRule) throws(JSONProblem) {
    let scheme = text.prefix { $0 != ":" }
    isPlain = scheme.lowercasedASCII == "http"
    let endpoint: PushEndpoint
    do throws(JSONProblem) {
      endpoint = try PushEndpoint(url: isPlain ? "https" + text.dropFirst(scheme.count) : text)
    } catch {
      throw JSONProblem("must be a full address such as https://host/path: it \(error.problem)")
    }
    let address = HostAddress(endpoint.host)
    host = endpoint.host
    path = endpoint.path
    let authority = text.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" }
    let hasPort = PushEndpoint.parts(authority.lowercasedASCII)?.port != nil
    port = hasPort || !isPlain ? endpoint.port : 80
    mayBePrivate = rule.isListed(host, port)
    let isLoopback =
      host == "localhost" || address.map { $0.bytes.count == 4 && $0.bytes[0] == 127 } == true
      || address?.bytes == [UInt8](repeating: 0, count: 15) + [1]
    guard !isPlain || isLoopback else {
      throw JSONProblem("must begin with https://: http is allowed at localhost, 127.0.0.1 and [::1] only")
    }
    if let problem = rule.problem(with: host, port) { throw JSONProblem(problem) }
  }
}
