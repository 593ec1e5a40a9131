import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts of an app that signs in to APNs with certificates, from the .p12 file to the phone.
@Suite struct CertificateSendoutTests {
  /// The bench's app, with these certificates in place of its signing key.
  private func useCertificates(
    _ bench: SendingBench, _ environments: Set<SimulatedAPNs.Environment>, topics: [String] = [SendingBench.appID]
  ) async throws {
    try await bench.database.query("DELETE FROM push_credential")
    try await bench.database.query("UPDATE push_app SET team_id = NULL, key_id = NULL")
    let file = try bench.simulator.issuePushCertificate(topics: topics, environments: environments)
    _ = try await PushApps(bench.pool, vault: bench.vault).update(
      bench.customer, bench.app.id,
      PushAppUpdate(
        service: PushServiceFields([
          .productionCertificate: Secret(bytes: file), .certificatePassword: Secret("secret"),
        ])))
  }

  private func send(_ bench: SendingBench, _ message: MessageBody) async throws -> SendoutKey {
    let reply = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(name: "Call", appId: SendingBench.appID, audience: .all, message: message, start: true))
    return SendoutKey(bench.customer, reply.sendoutId)
  }

  @Test func `Pushes of any type that the certificate lists arrive in both environments`() async throws {
    try await withSendingBench { bench in
      try await useCertificates(
        bench, [.production, .sandbox], topics: [SendingBench.appID, "\(SendingBench.appID).voip"])
      try await bench.addDevices(20)
      try await bench.addDevices(10, from: 21, sandbox: true)
      try await bench.withHubs {
        for type in [nil, PushType.background, .voip] {
          let message = MessageBody(alert: type == .background ? nil : "Hello", pushType: type, fields: ["room": 7])
          let finished = try await bench.until(try await send(bench, message), .finished)
          #expect(finished.counts == SendoutCounts(audience: 30, sent: 30, accepted: 30))
          #expect(finished.message?.pushType == type)
        }
        let location = try await bench.until(
          try await send(bench, MessageBody(pushType: .location)), .finished)
        #expect(location.counts?.failed == 30)
      }
      let received = bench.simulator.apns.requests
      #expect(received.count == 90 && received.allSatisfy { $0.header("authorization") == nil })
      #expect(received.filter { $0.environment == .sandbox }.count == 30)
      #expect(Set(received.compactMap { $0.header("apns-push-type") }) == ["alert", "background", "voip"])
    }
  }

  @Test func `A sendout to an environment without a certificate pauses, and says why`() async throws {
    try await withSendingBench { bench in
      try await useCertificates(bench, [.production])
      try await bench.addDevices(5, sandbox: true)
      try await bench.withHubs {
        let paused = try await bench.until(try await bench.send(), .paused)
        #expect(paused.haltReason == "NoCertificateForEnvironment")
      }
      #expect(bench.simulator.apns.requests.isEmpty)
    }
  }
}
