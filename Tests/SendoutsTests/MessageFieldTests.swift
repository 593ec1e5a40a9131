import Content
import Delivery
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

/// A message's texts on their way to push services.
@Suite struct MessageFieldTests {
  private static let texts: [(name: String, services: Set<PushServiceName>)] = MessageBody.allFields.compactMap {
    if case .text(_, _, let services) = $0.value { ($0.name, services) } else { nil }
  }

  /// A message with an alert and one further text.
  private static func message(_ name: String, _ text: String) throws -> MessageBody {
    try MessageBody(from: .object(["alert": "Hi", UTF8String(name): .string(text), "trackOpens": false]))
  }

  @Test(arguments: SendoutService.allCases)
  func `A text goes to the push services that its line in the table names, and to no other`(
    service: SendoutService
  ) async throws {
    try await withSendingBench { bench in
      let app = try await service.app(bench)
      let dispatcher = bench.dispatcher()
      let messages = MessageService(
        bench.pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: false),
        apps: PushAppCache(bench.pool), credentials: PushCredentialVault(bench.pool, vault: bench.vault),
        registrations: RegistrationBatcher(bench.pool, limits: .patient))
      func request(_ message: MessageBody) async throws -> PreviewedRequest {
        let request = MessagePreviewRequest(appId: app.appID, appType: app.type, message: message)
        return try #require(try await messages.preview(bench.customer, request).requests.first)
      }
      let without = try await request(MessageBody(alert: "Hi", trackOpens: false))
      #expect(without.body != nil)
      for (name, services) in Self.texts {
        let with = try await request(Self.message(name, "x"))
        #expect((with != without) == services.contains(service.type.service.name), "\(name)")
      }
    }
  }

  @Test(arguments: texts.map(\.name))
  func `A text is a template, and is left out where it is empty`(name: String) throws {
    let template = try MessageTemplate(Self.message(name, "a-{{firstName}}"))
    #expect(template.isPersonal && template.recipientFields == ["firstName"])
    let texts = MessageBody.renderedTexts.filter { $0.name == name }
    let place = try #require(texts.first).place
    #expect(template.rendered(for: PageContext())[keyPath: place] == JSONText.quoted("a-"))
    let empty = try MessageTemplate(Self.message(name, "{{firstName}}")).rendered(for: PageContext())
    #expect(empty[keyPath: place] == nil)
  }

  @Test func `SMS have none of these texts`() {
    #expect(!Self.texts.contains { $0.services.contains(.sms) })
  }
}
