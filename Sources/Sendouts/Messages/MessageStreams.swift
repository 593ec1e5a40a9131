import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

extension MessageService {
  /// What distinguishes streams.
  struct StreamName: Hashable {
    let customer: CustomerID
    let apps: [PushAppID]
    /// When these apps or their credentials changed last. It is no part of what is stored: the stream stays, and gets other accounts.
    let versions: [Date]
    let template: String?
    let trigger: TriggerID?
    let purpose: MessagePurpose
    /// Of tracked messages.
    let tracked: TrackedTraits?
    /// Of tests.
    let tested: TestedSendout?
    /// Days since 1970, in UTC.
    let day: Int
  }

  /// The stream of today.
  /// - Throws: `MustLookUp`.
  func stream(
    _ customer: CustomerID, _ apps: [PushApp], _ found: LookedUp, template: String? = nil,
    trigger: TriggerReply? = nil, tracked: TrackedTraits? = nil, tested: TestedSendout? = nil,
    purpose: MessagePurpose = .transactional
  ) throws -> OpenStream {
    let version: TemplateVersion? = try template.map { template in
      if let version = found.version ?? versions.cached(TemplateName(customer: customer, name: template)) {
        return (template, version)
      }
      throw MustLookUp { $0.version = try await self.currentVersion(customer, template) }
    }
    let ordered = apps.count > 1 ? apps.sorted { $0.id < $1.id } : apps
    let name = StreamName(
      customer: customer, apps: ordered.map(\.id), versions: ordered.map(\.updatedAt),
      template: version.map { "\($0.name)/\($0.version)" },
      trigger: trigger?.triggerId, purpose: purpose, tracked: tracked, tested: tested,
      day: Int(now().timeIntervalSince1970 / 86_400))
    if let stream = found.stream ?? streams.cached(name) { return stream }
    throw MustLookUp {
      $0.stream = try await self.streams.value(name) { try await self.open(name, apps, version, trigger?.name) }
    }
  }

  private typealias TemplateVersion = (name: String, version: Int32)

  private func currentVersion(_ customer: CustomerID, _ name: String) async throws -> Int32 {
    try await versions.value(TemplateName(customer: customer, name: name)) { [database] in
      // Only a name can lead here, so there is a version.
      try await SendoutRules.currentTemplate(customer, name, in: database)?.version ?? 0
    }
  }

  private func open(
    _ name: StreamName, _ apps: [PushApp], _ template: TemplateVersion?, _ trigger: String?
  ) async throws -> OpenStream {
    let day = Date(timeIntervalSince1970: Double(name.day) * 86_400).formatted(.iso8601.year().month().day())
    let stream =
      ([day, name.apps.map(\.description).joined(separator: ",")]
      + [
        name.template, name.trigger.map { "trigger/\($0)" }, name.tracked?.description,
        name.purpose == .marketing ? name.purpose.rawValue : nil,
        name.tested.map { "test/\($0.id)\($0.endedStreams > 0 ? "/\($0.endedStreams + 1)" : "")" },
      ].compactMap(\.self)).joined(
        separator: " ")
    let customer = name.customer.rawValue
    var rows = try await database.query(SendoutQueries.stream, customer, stream)
    if rows.isEmpty {
      rows = try await database.query(
        SendoutQueries.openStream, customer, stream, name.apps.map(\.rawValue),
        // Texts can name it, so a test has the sendout's.
        name.tested?.name ?? "\(trigger ?? name.tracked?.title ?? "Messages") of \(day)", template?.name,
        template?.version, (name.tracked?.onUncertain ?? .resend).rawValue, name.tracked?.idFields,
        name.tracked?.fallback?.rawValue, name.purpose.rawValue, name.tested?.id.rawValue)
    }
    if rows.isEmpty { rows = try await database.query(SendoutQueries.stream, customer, stream) }
    let sendout = try Sendout(rows[0])
    try await database.query(SendoutQueries.requireRange, sendout.key.sendout.rawValue)
    var targets: [AppTarget] = []
    for app in apps {
      guard let opened = try await credentials.credentials(for: app) else {
        throw SendoutError.appWithoutCredentials(
          app.customer, app.id, appID: app.appID, app.type, field: app.missingCredential ?? "credentials")
      }
      targets.append(dispatcher.target(for: app, opened))
    }
    let key = sendout.key
    return OpenStream(
      stream: MessageStream(key: key, apps: targets, tracked: name.tracked) { [database] in
        try await database.notify(.sendout, key.description)
      } reserve: { [database] in
        let block = StreamNumbers.block
        let rows = try await database.query(
          SendoutQueries.reserve, customer, key.sendout.rawValue, block.messages, block.pushes, block.batches)
        guard let row = rows.first else { throw SendoutError.streamEnded(key.sendout) }
        let (message, push, batch) = try row.decode(Int32.self, Int32.self, Int32.self)
        return StreamNumbers(
          message: message, push: push, batch: batch, messagesLeft: block.messages, pushesLeft: block.pushes,
          batchesLeft: block.batches)
      }, traits: sendout.traits)
  }
}

extension TrackedTraits {
  /// The traits as they stand in the name of a stream.
  fileprivate var description: String {
    "tracked/\(kind)/\(fallback.map(\.description) ?? "-")/\(reportApp ?? "-")/\(appID ?? "-")"
  }
}
