import Crypto
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import Wire

/// Posts status reports to a hub, over http.
enum SMSStatusSender {
  struct Failure: Error {}

  /// - Returns: the status of the answer.
  static func post(
    _ message: SimulatedSMS.Message, _ status: SimulatedSMS.Status, to url: String,
    authTokens: [(key: String, value: String)]
  ) async throws -> Int {
    guard let (host, port, path) = Self.parts(url) else { throw Failure() }
    var headers: HTTPHeaders = ["host": "\(host):\(port)", "connection": "close"]
    let body: [UInt8]
    if message.isTwilio {
      let account = authTokens.first ?? (key: "AC0", value: "")
      let fields = Self.fields(message, status, account: account.key)
      body = Array(fields.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&").utf8)
      headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
      headers.add(name: "x-twilio-signature", value: Self.signature(of: url, fields, authToken: account.value))
    } else {
      body = Self.json(message, status).json
      headers.add(name: "content-type", value: "application/json")
    }
    headers.add(name: "content-length", value: "\(body.count)")
    let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path, headers: headers)
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.seconds(10))
      .connect(host: host, port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
            wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(.head(head))
      try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body))))
      try await outbound.write(.end(nil))
      for try await part in inbound {
        if case .head(let head) = part { return Int(head.status.code) }
      }
      throw Failure()
    }
  }

  /// `http://host[:port]/path` in its parts.
  private static func parts(_ url: String) -> (host: String, port: Int, path: String)? {
    guard url.hasPrefix("http://") else { return nil }
    let rest = url.dropFirst(7)
    let authority = rest.prefix { $0 != "/" }
    let sides = authority.split(separator: ":")
    guard let host = sides.first, let port = sides.count == 2 ? Int(sides[1]) : 80 else { return nil }
    return (String(host), port, String(rest[authority.endIndex...]))
  }

  private static func json(_ message: SimulatedSMS.Message, _ status: SimulatedSMS.Status) -> JSONValue {
    let (code, error): (String, String) =
      switch status {
      case .delivered: ("2", "")
      case .failed(let errorCode): ("3", "\(errorCode)")
      }
    return [
      "messages": [
        "msg": [
          "received": "2026-01-31T12:00:00", "to": .string("00\(message.to)"), "reference": .string(message.reference),
          "status": ["code": .string(code), "errorCode": .string(error), "errorDescription": ""],
          "operator": "Simulator",
        ]
      ]
    ]
  }

  private static func fields(
    _ message: SimulatedSMS.Message, _ status: SimulatedSMS.Status, account: String
  ) -> [(name: String, value: String)] {
    var fields = [
      ("MessageSid", message.sid), ("To", "+\(message.to)"), ("From", message.from), ("AccountSid", account),
      ("ApiVersion", "2010-04-01"),
    ]
    switch status {
    case .delivered: fields.append(("MessageStatus", "delivered"))
    case .failed(let errorCode): fields += [("MessageStatus", "undelivered"), ("ErrorCode", "\(errorCode)")]
    }
    return fields
  }

  /// Twilio, "Security": the address, then each field's name and value in the order of the names.
  private static func signature(of url: String, _ fields: [(name: String, value: String)], authToken: String) -> String
  {
    let text = url + fields.sorted { $0.name < $1.name }.map { $0.name + $0.value }.joined()
    let code = HMAC<Insecure.SHA1>.authenticationCode(
      for: Data(text.utf8), using: SymmetricKey(data: Data(authToken.utf8)))
    return Data(code).base64EncodedString()
  }
}
