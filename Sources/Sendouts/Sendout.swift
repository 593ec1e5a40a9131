import Crypto
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// A row of `sendout`.
struct Sendout: Sendable {
  let key: SendoutKey
  let apps: [PushAppID]
  /// Whether it is a stream of single messages.
  let isStream: Bool
  let name: String
  let state: SendoutState
  let haltReason: String?
  /// Audience and message as JSON: long audiences are decoded only where they are needed.
  let audienceJSON: String
  let messageJSON: String
  let template: (name: String, version: Int32)?
  let unknownIDs: Int32?
  let onUncertain: UncertainPolicy
  let purpose: MessagePurpose
  let createdAt: Date
  let startedAt: Date?
  let frozenAt: Date?
  let finishedAt: Date?
  /// When retention had deleted its pushes.
  let expiredAt: Date?
  /// How often its state was changed, other than by the end of its freeze and of its pushes.
  let stateChanges: Int32
  /// Of a stream of tracked messages: the fields in which pushes carry their ids. Nil for others.
  let idFields: [String]?
  /// The app whose pushes stand in for the others.
  let fallback: PushAppID?
  /// The user of the console who wrote it last; nil for API and command line.
  let writtenBy: UserID?

  func audience() throws -> Audience { try JSONCoding.decode(Audience.self, from: audienceJSON.utf8) }
  func message() throws -> MessageBody { try JSONCoding.decode(MessageBody.self, from: messageJSON.utf8, rules: .own) }

  /// A hash of all that a draft says, as its row has it. How many people it reaches is no part of it.
  /// - Parameter version: of the template that it would start with.
  func digest(templateVersion version: Int32?) throws -> String {
    let parts = [
      name, apps.map(\.description).joined(separator: " "), audienceJSON, messageJSON, template?.name ?? "",
      version.map { String($0) } ?? "", onUncertain.rawValue, purpose.rawValue,
    ]
    return Base64URL.text(Array(SHA256.hash(data: try JSONCoding.encode(parts))))
  }
}

extension Sendout {
  init(_ row: Row) throws {
    let (customer, sendout, apps, name, state, halt, audience, message) = try row.decode(
      Int64.self, Int64.self, [Int64].self, String.self, String.self, String?.self, JSONB.self, JSONDocument.self)
    let templateName: String? = try row.get("template_name")
    let templateVersion: Int32? = try row.get("template_version")
    let policy: String = try row.get("on_uncertain")
    guard let state = SendoutState(rawValue: state), let policy = UncertainPolicy(rawValue: policy),
      let purpose = MessagePurpose(rawValue: try row.get("purpose"))
    else {
      throw PostgresError.decoding(
        statement: "sendout", column: "state", .format("an unknown state, policy or purpose"))
    }
    self.init(
      key: SendoutKey(CustomerID(customer), SendoutID(sendout)), apps: apps.map { PushAppID($0) },
      isStream: try row.get("kind") == "stream", name: name,
      state: state,
      haltReason: halt, audienceJSON: audience.text, messageJSON: message.text,
      template: templateName.flatMap { name in templateVersion.map { (name, $0) } },
      unknownIDs: try row.get("unknown_ids"), onUncertain: policy, purpose: purpose,
      createdAt: try row.get("created_at"),
      startedAt: try row.get("started_at"), frozenAt: try row.get("frozen_at"), finishedAt: try row.get("finished_at"),
      expiredAt: try row.get("expired_at"), stateChanges: try row.get("state_changes"),
      idFields: try row.get("id_fields"), fallback: (try row.get("fallback_app_id") as Int64?).map { PushAppID($0) },
      writtenBy: (try row.get("written_by") as Int64?).map { UserID($0) })
  }
}

extension Sendout {
  func reply(apps: [PushApp], counts: SendoutCounts?) throws -> SendoutReply {
    var reply = summary(among: apps)
    let audience = try audience()
    // Retention has taken the ids.
    reply.audience = audience == .originalIds([]) ? nil : audience
    reply.message = try message()
    reply.counts = counts
    return reply
  }

  /// Without audience, message and counts.
  /// - Parameter apps: its apps, and perhaps others of the customer.
  func summary(among apps: [PushApp]) -> SendoutReply {
    SendoutReply(
      sendoutId: key.sendout, name: name, kind: isStream ? .stream : .broadcast,
      apps: apps.filter { self.apps.contains($0.id) }.map {
        SendoutReply.App(pushAppId: $0.id, appId: $0.appID, appType: $0.type)
      }, state: state,
      haltReason: haltReason, unknownOriginalIds: unknownIDs.map(Int.init), purpose: purpose, template: template?.name,
      templateVersion: template?.version, onUncertain: onUncertain, writtenBy: writtenBy,
      createdAt: Wire.Timestamp(createdAt),
      startedAt: startedAt.map(Wire.Timestamp.init), frozenAt: frozenAt.map(Wire.Timestamp.init),
      finishedAt: finishedAt.map(Wire.Timestamp.init), expiredAt: expiredAt.map(Wire.Timestamp.init))
  }
}

extension JSONB {
  init(encoding value: some Encodable) throws {
    self.init(String(decoding: try JSONCoding.encode(value), as: UTF8.self))
  }
}
