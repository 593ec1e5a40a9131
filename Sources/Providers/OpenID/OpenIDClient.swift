import Locking

/// Asks the OpenID provider that the hub's operator has named, by HTTPS alone: for its documents, and for tokens.
///
/// Each question has a connection of its own. No redirect is followed.
public struct OpenIDClient: Sendable {
  let pools: ConnectionPools
  let timeout: Duration

  /// - Parameters:
  ///   - url: `https://host[:port]/path`, with a query or without.
  ///   - form: what is posted, encoded already; `nil` to get.
  ///   - authorization: the header of this name; never logged.
  /// - Returns: `nil` for no answer within `PushServiceSettings.untrustedTimeout`, and for another address. The body is empty if it is longer
  ///   than 256 KiB.
  public func answer(
    from url: String, form: String? = nil, authorization: String? = nil
  ) async -> (status: Int, body: [UInt8])? {
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let (address, path) = ServiceAddress.withPath(url: String(parts[0])) else { return nil }
    let target = parts.count == 2 ? "\(path)?\(parts[1])" : path
    guard RequestHeaders.isValue(target), !target.contains(" ") else { return nil }
    let request = Self.request(target, form)
    let response = Mutex<ServiceResponse?>(nil)
    let description = OpenIDDescription(sent: Authorization(value: authorization)) { received in
      response.withLock { $0 = received }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [pools] in
        _ = await pools.answer { question in
          let key = PoolKey(service: description.label, environment: .production, question: question)
          return pools.send([request], through: key, to: address, description, while: { true })
        }
      }
      group.addTask { [timeout] in try? await Task.sleep(for: timeout) }
      await group.next()
      group.cancelAll()
    }
    return response.withLock(\.self).map { (status: $0.status, body: $0.body) }
  }

  private static func request(_ path: String, _ form: String?) -> PushRequest {
    var headers = RequestHeaders()
    headers.add(":path", path, .never)
    headers.add("accept", "application/json")
    guard let form else { return PushRequest(headers: headers, body: [], method: .get) }
    headers.add("content-type", "application/x-www-form-urlencoded")
    headers.add("content-length", String(form.utf8.count), .changing)
    return PushRequest(headers: headers, body: Array(form.utf8))
  }
}

/// What connections have to know about an OpenID provider.
private struct OpenIDDescription: ServiceDescription {
  let sent: Authorization
  /// Takes the response, before its verdict is known to anybody.
  let receive: @Sendable (ServiceResponse) -> Void

  var name: String { "The OpenID provider" }
  var label: String { "openid" }
  var http1Connections: Int { 1 }
  /// Keys come with their certificates, a dozen of them.
  var longestBody: Int { 256 << 10 }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization { .available(sent) }

  /// Whatever the answer means, nothing is sent again.
  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    receive(response)
    return ResponseClassification(verdict: .accepted)
  }
}
