import Content
import Delivery
import Postgres
public import Registry
public import Wire

/// A sendout whose message is sent to a few contacts as a test.
struct TestedSendout: Sendable, Hashable {
  let id: SendoutID
  let name: String
  /// Its apps, which may be fewer than those of the same appIds.
  let apps: [PushAppID]
  /// How many streams of its tests have been paused or cancelled today, as far as is known. Another test has one of its own.
  var endedStreams = 0
}

extension MessageService {
  /// Sends what a sendout says to a few contacts. The pushes are real, in a stream of their own that is marked as a test: no figures, caps,
  /// quiet hours or opens count them. Whoever is suppressed gets none.
  ///
  /// Each message is committed by itself. Should one fail, those before it have been sent.
  /// - Parameter suppressions: hashes whom suppressions name.
  /// - Throws: `RegistryError.numberUnknown`; `SendoutError.invalid` for a variant or a language that there is not, `.appWithoutCredentials`;
  ///   `ContentError`.
  public func test(
    _ customer: CustomerID, _ id: SendoutID, _ request: SendoutTestRequest, suppressions: SuppressionKey
  ) async throws -> SendoutTestReply {
    guard let row = try await database.query(SendoutQueries.find, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let sendout = try Sendout(row)
    guard !sendout.isStream else {
      throw SendoutError.invalid(
        field: "id", problem: "names a stream of single messages, which have no text in common: send one of them again")
    }
    let (message, template) = try sendout.tested(request)
    let apps = try await PushApps(database).list(customer).filter { sendout.apps.contains($0.id) }
    let tested = TestedSendout(id: id, name: sendout.name, apps: apps.map(\.id))
    var reply = SendoutTestReply(messageIds: [], unknownOriginalIds: [], suppressedOriginalIds: [], withoutDevice: [])
    for originalID in request.originalIds.uniqued {
      guard try await !isSuppressed(originalID, sendout.purpose, of: customer, suppressions) else {
        reply.suppressedOriginalIds.append(originalID)
        continue
      }
      let single = MessageRequest(
        appIds: apps.map(\.appID).uniqued, to: MessageTarget(originalId: originalID), message: message,
        purpose: sendout.purpose, template: template)
      do {
        let sent = try await sendTest(customer, single, of: tested)
        if sent.pushes.isEmpty {
          reply.withoutDevice.append(originalID)
        } else {
          reply.messageIds.append(sent.messageId)
        }
      } catch SendoutError.recipientUnknown {
        reply.unknownOriginalIds.append(originalID)
      }
    }
    return reply
  }

  private func isSuppressed(
    _ originalID: String, _ purpose: MessagePurpose, of customer: CustomerID, _ key: SuppressionKey
  ) async throws -> Bool {
    try await Suppressions(database, key: key).find(
      customer, Suppressions.concerning(originalID)
    ).contains { $0.scope == .all || purpose == .marketing }
  }
}

extension Sendout {
  /// What a test says, and with which page.
  fileprivate func tested(_ request: SendoutTestRequest) throws -> (message: MessageBody, template: String?) {
    var (message, template) = (try message(), template?.name)
    if let name = request.variant {
      let variants = try campaign().variants ?? []
      guard let variant = variants.first(where: { $0.name.hasSameBytes(as: name) }) else {
        throw SendoutError.unknownVariant(among: variants)
      }
      message = try message.merged(with: variant.message)
      template = variant.template ?? template
    }
    if let language = request.language {
      let translations = message.translations ?? [:]
      let tags = Dictionary(
        translations.compactMap { name, translation in
          LanguageTag(spelled: name.text).map { (UTF8String($0.text), translation) }
        }, uniquingKeysWith: { first, _ in first })
      guard let translation = LanguageTag.lookup(language).lazy.compactMap({ tags[UTF8String($0)] }).first else {
        throw SendoutError.invalid(
          field: "language",
          problem: translations.isEmpty
            ? "is there, and the message has no translations: leave it out"
            : "is none of the message's languages, which are \(translations.keys.sorted().map(\.text).asList())")
      }
      message = try message.translated(by: translation)
    }
    message.trackOpens = false
    return (message, template)
  }
}

extension [String] {
  /// Each once, by its bytes, in their order.
  fileprivate var uniqued: [String] {
    var seen: Set<UTF8String> = []
    return filter { seen.insert(UTF8String($0)).inserted }
  }
}
