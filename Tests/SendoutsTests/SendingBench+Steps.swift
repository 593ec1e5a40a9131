import Delivery
import Foundation
import Postgres
import Registry
import Support
import Wire

@testable import Sendouts

/// Steps of a hub on a sendout, one by one, and time that passes for it.
extension SendingBench {
  /// What a hub does with the sendout now.
  @discardableResult
  func step(_ key: SendoutKey) async throws -> SendoutWorker.Next {
    let worker = SendoutWorker(
      pool: pool, dispatcher: dispatcher(), vault: vault, credentials: PushCredentialVault(pool, vault: vault),
      settings: RunnerSettings(), freezes: CustomerPermits(2), logger: TestServer.logger)
    var failures = 0
    return try await worker.step(SendoutTask(key), consecutiveFailures: &failures)
  }

  /// Makes all of a sendout's times as much earlier, as if time had passed for it.
  func pass(_ interval: String, for key: SendoutKey) async throws {
    try await database.query(
      """
      UPDATE sendout
         SET start_at = start_at - $2::text::interval, local_time = local_time - $2::text::interval,
             end_at = end_at - $2::text::interval, scheduled_at = scheduled_at - $2::text::interval,
             next_at = next_at - $2::text::interval
       WHERE sendout_id = $1::bigint
      """, key.sendout.rawValue, interval)
  }

  func campaign(
    _ campaign: CampaignFields, alert: String = "Hello", purpose: MessagePurpose? = nil, start: Bool? = nil,
    draft: Bool? = nil
  ) -> SendoutRequest {
    SendoutRequest(
      name: "Offer", appId: Self.appID, audience: .all, message: MessageBody(alert: alert), purpose: purpose,
      start: start, draft: draft, campaign: campaign)
  }

  /// Makes a sendout that says this of its times.
  func make(_ campaign: CampaignFields, start: Bool? = nil, draft: Bool? = nil) async throws -> SendoutKey {
    let made = try await sendouts.create(customer, self.campaign(campaign, start: start, draft: draft))
    return SendoutKey(customer, made.sendoutId)
  }
}

extension Timestamp {
  /// So many seconds from now, to the millisecond as the API has it.
  static func fromNow(_ seconds: Double) -> Timestamp {
    let moment = Timestamp(Date(timeIntervalSinceNow: seconds))
    return Timestamp(moment.description) ?? moment
  }
}

extension WallTime {
  /// What clocks in UTC show so many seconds from now, to the minute.
  static func fromNow(_ seconds: Double) -> WallTime? { WallTime(utc: Date(timeIntervalSinceNow: seconds)) }
}
