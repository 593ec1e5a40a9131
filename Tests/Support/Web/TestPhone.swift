import Crypto
import Foundation
public import Registry
import Locking
public import Wire

/// The last moment that each phone has signed at by itself.
private let lastMoments = Mutex<[String: Int64]>([:])

/// A phone with an app of CM Hybrid Messaging: signs its requests as the published clients do.
public struct TestPhone: Sendable {
  public let server: TestWebServer
  public let appKey: String
  public let secret: String
  /// Once it is registered.
  public var deviceID: String?
  public var userAgent = "MyApp/1.0 (Android 6.0.1; LGE; Nexus 5X; en_US)"

  public init(_ server: TestWebServer, appKey: String, secret: String, deviceID: String? = nil) {
    self.server = server
    self.appKey = appKey
    self.secret = secret
    self.deviceID = deviceID
  }

  /// - Parameters:
  ///   - path: with its query, percent-encoded.
  ///   - moment: of the phone's clock, in seconds since 1970; nil for one within four minutes of now, another one each time, since two
  ///     changes of one phone cannot share a signature.
  public func send(
    _ method: String, _ path: String, _ json: String? = nil, at moment: Int64? = nil
  ) async throws -> TestReply {
    let moment = moment ?? nextMoment()
    var headers = [("Authorization", authorization(method, path, at: moment)), ("User-Agent", userAgent)]
    if let deviceID { headers.append(("DeviceID", deviceID)) }
    return try await server.send(method, path, headers: headers, json: json)
  }

  /// One that the phone has not signed at: a minute ahead or more, so that none of a test's own is the same. Phones that are not registered
  /// yet share theirs.
  private func nextMoment() -> Int64 {
    let now = Int64(Date().timeIntervalSince1970)
    return lastMoments.withLock { moments in
      let next = max(now + 60, (moments["\(appKey) \(deviceID ?? "")"] ?? 0) + 1)
      let moment = next < now + 240 ? next : now + 60
      moments["\(appKey) \(deviceID ?? "")"] = moment
      return moment
    }
  }

  public func authorization(_ method: String, _ path: String, at moment: Int64) -> String {
    let text = "\(method) \(path.removingPercentEncoding ?? path) HTTP/1.1\napi.cmtelecom.com\n\(moment)\n"
    let code = HMAC<Insecure.SHA1>.authenticationCode(
      for: Data(text.utf8), using: SymmetricKey(data: Data(secret.utf8)))
    return "MAC kid=\"\(appKey)\", ts=\"\(moment)\", mac=\"\(Data(code).base64EncodedString())\""
  }

  /// Registers and remembers its DeviceID.
  @discardableResult
  public mutating func register(_ json: String = "{}") async throws -> TestReply {
    let reply = try await send("POST", "/v1.0/deviceregistrations", json)
    deviceID = try? reply.json.string("DeviceID")
    return reply
  }

  public func put(_ json: String, at moment: Int64? = nil) async throws -> TestReply {
    try await send("PUT", "/v1.0/deviceregistrations", json, at: moment)
  }
}

extension PushApps {
  /// Adds the customer's app of SMS, whose provider listens nowhere: its messages stay in the ledger.
  public func addSMS(_ customer: CustomerID) async throws {
    let account = SMSAccount(
      provider: .cm(productToken: "c0ffee"), url: "https://127.0.0.1:1/v1.0/message", sender: "Acme")
    _ = try await add(
      customer, NewPushApp(appID: "sms", type: .sms, name: "SMS", service: PushServiceFields(sms: account)))
  }
}
