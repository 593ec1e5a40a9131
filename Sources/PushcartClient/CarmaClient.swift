public import Foundation
public import Wire

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Carma's REST for a back end: registers devices of contacts, invalidates them, shows contacts, and sends messages of triggers.
public struct CarmaClient: Sendable {
  /// Where the routes of the customer begin.
  private let rest: URL
  /// Where the routes of the app begin.
  private let base: URL
  private let token: String
  private let session: URLSession

  /// An answer that is no success.
  public struct Refusal: Error, Sendable, Hashable {
    public let status: Int
    /// The sentence of the hub.
    public let sentence: String
  }

  /// A device of a contact.
  public struct Device: Sendable, Hashable {
    public var token: String
    public var appType: AppType
    /// Further members of `deviceInfo`, such as `model`.
    public var details: [UTF8String: JSONValue]

    public init(token: String, appType: AppType, details: [UTF8String: JSONValue] = [:]) {
      self.token = token
      self.appType = appType
      self.details = details
    }
  }

  /// - Parameters:
  ///   - url: the hub's address, as in `https://push.example.com`.
  ///   - accessKey: one of scope `backend`; `device` is enough to register and invalidate, and messages need `send`.
  public init(_ url: URL, customer: CustomerID, appId: String, accessKey: String, session: URLSession = .shared) {
    rest = url.appending(path: "rest/\(customer)")
    base = rest.appending(path: "apps/\(appId)/pushdevices")
    token = accessKey
    self.session = session
  }

  /// Registers devices of a contact, and stores the contact's fields.
  /// - Parameter fields: as Carma names them, such as `firstName` and `properties`.
  /// - Returns: the contact.
  /// - Throws: `Refusal`; errors of the connection.
  @discardableResult
  public func register(
    _ originalId: String, devices: [Device], fields: [UTF8String: JSONValue] = [:]
  ) async throws -> JSONValue {
    var body = fields
    body["originalId"] = .string(originalId)
    body["deviceInfo"] = .array(devices.map { .object($0.json) })
    return try await send("PUT", base, .object(body))
  }

  /// Says that nothing is to be sent to devices of a contact any more.
  /// - Throws: `Refusal`; errors of the connection.
  public func invalidate(_ originalId: String, devices: [Device], invalidationType: Int = 1) async throws {
    let infos = devices.map { device in
      JSONValue.object(device.json.merging(["invalidationType": .integer(Int64(invalidationType))]) { $1 })
    }
    _ = try await send(
      "PUT", base.appending(path: "invalidation"),
      .object(["originalId": .string(originalId), "deviceInfo": .array(infos)]))
  }

  /// The contact with its devices.
  /// - Throws: `Refusal`, with status 404 if there is none; errors of the connection.
  public func contact(_ originalId: String) async throws -> JSONValue {
    var allowed = CharacterSet.alphanumerics
    allowed.insert(charactersIn: "-._~")
    let name = originalId.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    guard let url = URL(string: "\(base.absoluteString)/\(name)") else { throw URLError(.badURL) }
    return try await send("GET", url, nil)
  }

  /// Sends a trigger's message to a contact.
  /// - Parameters:
  ///   - trigger: its number.
  ///   - properties: what the trigger's texts can name, before the contact's own.
  ///   - idempotencyKey: a repeated request with the same key sends nothing more, for a day.
  /// - Returns: a sentence with the message's id.
  /// - Throws: `Refusal`; errors of the connection.
  @discardableResult
  public func send(
    trigger: Int64, to originalId: String, properties: [UTF8String: JSONValue] = [:], idempotencyKey: String? = nil
  ) async throws -> String {
    let body: [UTF8String: JSONValue] = ["originalId": .string(originalId), "properties": .object(properties)]
    let reply = try await send(
      "POST", rest.appending(path: "triggers/\(trigger)/messages"), .object(body),
      headers: idempotencyKey.map { ["Idempotency-Key": $0] } ?? [:])
    return reply["message"]?.text ?? ""
  }

  private func send(
    _ method: String, _ url: URL, _ body: JSONValue?, headers: [String: String] = [:]
  ) async throws -> JSONValue {
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.setValue(token, forHTTPHeaderField: "X-Carma-Authentication-Token")
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    if let body {
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(body.json)
    }
    let (data, response) = try await session.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    let value = (try? JSONValue(json: Array(data))) ?? .null
    guard (200..<300).contains(status) else {
      throw Refusal(status: status, sentence: value["error"]?.text ?? "")
    }
    return value
  }
}

extension CarmaClient.Device {
  fileprivate var json: [UTF8String: JSONValue] {
    details.merging(["devicetoken": .string(token), "appType": .integer(Int64(appType.rawValue))]) { $1 }
  }
}
