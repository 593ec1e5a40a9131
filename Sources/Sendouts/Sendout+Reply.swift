import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

extension Sendout {
  func reply(app: PushApp, counts: SendoutCounts) throws -> SendoutReply {
    var reply = summary(app: app)
    reply.audience = try audience()
    reply.message = try message()
    reply.counts = counts
    return reply
  }

  /// Without audience, message and counts.
  func summary(app: PushApp) -> SendoutReply {
    SendoutReply(
      sendoutId: key.sendout, name: name, pushAppId: app.id, appId: app.appID, appType: app.type, state: state,
      haltReason: haltReason, unknownOriginalIds: unknownIDs.map(Int.init), template: template?.name,
      templateVersion: template?.version, onUncertain: onUncertain, createdAt: Wire.Timestamp(createdAt),
      startedAt: startedAt.map(Wire.Timestamp.init), frozenAt: frozenAt.map(Wire.Timestamp.init),
      finishedAt: finishedAt.map(Wire.Timestamp.init))
  }
}

extension JSONB {
  init(encoding value: some Encodable) throws {
    self.init(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
  }
}
