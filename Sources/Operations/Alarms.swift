import DataInOut
import Delivery
import Hybrid
import Outbox
import Registry
import Sendouts
import Subscriptions
import Wire

/// What needs somebody's attention, gathered from the rooms that know it.
struct Alarms {
  private let database: Database
  private let customer: CustomerID

  init(_ database: Database, of customer: CustomerID) {
    self.database = database
    self.customer = customer
  }

  /// The newest first.
  func all() async throws -> [AlarmReply] {
    let alarms = try await apps() + hybridApps() + webhooks() + sendouts() + erasures() + activity()
    return alarms.sorted { $1.since < $0.since }
  }

  private func apps() async throws -> [AlarmReply] {
    try await PushApps(database).list(customer).flatMap { app in
      [(app.alarm, ""), (app.sandboxAlarm, ", sandbox")].compactMap { alarm, place in
        alarm.map { alarm in
          // Certificates and circuit breakers say in a sentence what helps.
          let help = ReasonHelp(alarm.reason, of: [app.type])
          let isSMS = app.type == .sms
          return AlarmReply(
            kind: .app, title: "\(app.name) for \(app.type.platform) (\(app.appID)\(place))", reason: alarm.reason,
            fix: help.advice
              ?? "Correct what the reason names. The check asks the push service whether that was enough.",
            command: isSMS
              ? "pushcart sms check --customer \(customer)" : "pushcart app check \(app.id) --customer \(customer)",
            since: Timestamp(alarm.since), pushAppId: app.id, appId: app.appID)
        }
      }
    }
  }

  private func hybridApps() async throws -> [AlarmReply] {
    try await HybridApps(database).all(customer).compactMap { app in
      app.alarm.map { alarm in
        AlarmReply(
          kind: .hybrid, title: "Telephone numbers in \(app.appId)", reason: alarm.reason,
          fix: """
            Look for one address that asks for many codes, and block it before the hub. A new app secret stops copies of the app.
            """,
          since: alarm.since, appId: app.appId)
      }
    }
  }

  private func webhooks() async throws -> [AlarmReply] {
    let reports = try await HybridApps(database).failingReports(customer).map { failing in
      AlarmReply(
        kind: .webhook, title: "Status reports of \(failing.appID)",
        reason: "\(failing.waiting) were not taken in three attempts.",
        fix: "Look at the address that takes them: it has to answer 200 to 299. What waits is posted again by itself.",
        since: Timestamp(failing.since), appId: failing.appID)
    }
    let events = try await EventWebhooks(database).failing(customer).map { webhook in
      AlarmReply(
        kind: .webhook, title: "Webhook \(webhook.webhookId), \(webhook.url)\(webhook.enabled ? "" : ", is disabled")",
        reason: webhook.disabledReason ?? "It has taken nothing for an hour. After a day it is disabled.",
        fix: webhook.enabled
          ? "Look at its deliveries. The address has to answer 200 to 299 within ten seconds. What waits is posted again by itself."
          : "Correct what its deliveries say, and enable it again: what waits is posted then.",
        command: webhook.enabled
          ? "pushcart webhook deliveries \(webhook.webhookId) --customer \(customer)"
          : "pushcart webhook update \(webhook.webhookId) --enabled true --customer \(customer)",
        since: webhook.failingSince ?? webhook.updatedAt, webhookId: webhook.webhookId)
    }
    let notifications = try await DataTreeApps(database).failingWebhooks(customer).map { failing in
      AlarmReply(
        kind: .webhook, title: "Webhook \(failing.webhook) of the data tree \(failing.appID)",
        reason: "\(failing.waiting) notifications were not taken in three attempts.",
        fix: "Look at the webhook's address: it has to answer 200 to 299. What waits is sent again by itself.",
        since: Timestamp(failing.since), appId: failing.appID)
    }
    return events + reports + notifications
  }

  private func sendouts() async throws -> [AlarmReply] {
    let paused = try await SendoutStore(database).list(
      customer, PageRequest(limit: 20), matching: SendoutFilter(states: [.paused]))
    return paused.items.compactMap { sendout in
      sendout.haltReason.map { reason in
        let known = HaltReason(reason)
        return AlarmReply(
          kind: .sendout, title: "Sendout \(sendout.sendoutId), \(sendout.name), is paused",
          reason: known.map { "\($0.sentence) (\(reason))" } ?? reason,
          fix: known?.advice ?? "Correct what the reason names, then resume the sendout.",
          command: "pushcart sendout resume \(sendout.sendoutId) --customer \(customer)",
          since: sendout.pausedAt ?? sendout.createdAt, sendoutId: sendout.sendoutId)
      }
    }
  }

  private func erasures() async throws -> [AlarmReply] {
    try await Erasures.failing(customer, in: database).map { failing in
      AlarmReply(
        kind: .erasure, title: "The erasure of contact \(failing.contact) is stuck", reason: failing.failure,
        fix: """
          Look for erasure \(failing.number) in the hub's log, which has the whole error. The hub tries again every few minutes, and goes on \
          by itself once the cause is gone.
          """,
        since: failing.since)
    }
  }

  private func activity() async throws -> [AlarmReply] {
    guard let since = try await ContactActivity.stuckSince(customer, in: database) else { return [] }
    return [
      AlarmReply(
        kind: .activity, title: "What contacts received and opened is not counted",
        reason: "Filters are exact nonetheless, but slower with each push.",
        fix: """
          Look in the log of the hubs for "could not be counted", which has the error. A hub that serves counts by itself once the cause is gone.
          """,
        since: Timestamp(since))
    ]
  }
}
