import Audience
import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// What is worth a look before a sendout starts.
struct PreflightWarnings: Sendable {
  typealias Warning = PreflightReply.Warning

  let subject: SendoutSubject
  let audience: ResolvedAudience
  let counts: PreflightCounts
  /// As `variables(of:)`. The counts have those left for whom they are empty.
  let variables: [ShownVariable]
  let apps: [PushApp]
  let messages: MessageService
  let reading: any Querying
  /// Whether a contact may be named.
  let seesPersonal: Bool

  /// Most variables that are looked for.
  private static let mostVariables = 20
  /// How long before its end a certificate is told, in seconds.
  private static let expiryNotice: TimeInterval = 14 * 86_400

  func all() async throws -> [Warning] {
    var warnings = try await credentials()
    warnings += try await templates()
    warnings += emptyVariables()
    warnings += try await renderings()
    warnings += try await overlap()
    warnings += endsTooEarly()
    warnings += try await smallestDifference()
    return warnings
  }

  private var customer: CustomerID { subject.customer }
  private var now: Date { counts.asOf }
  private var left: Int { counts.steps.last { $0.name == .left }?.contacts ?? 0 }
  private var devices: Int { counts.devices.values.reduce(0, +) }

  private func number(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
    "\(count) \(count == 1 ? noun : plural ?? "\(noun)s")"
  }

  private func name(of app: PushApp) -> String { "\(app.appID) for \(app.type.platform)" }
}

// MARK: - Apps

extension PreflightWarnings {
  private func credentials() async throws -> [Warning] {
    var warnings: [Warning] = []
    for app in apps {
      if let field = app.missingCredential {
        warnings.append(
          Warning(
            code: .credentialsMissing, text: "\(name(of: app)) has no \(field) yet, so nothing can be sent to it."))
        continue
      }
      warnings += certificates(of: app)
      for isSandbox in [false, true] where count(app, isSandbox: isSandbox) > 0 {
        guard let alarm = app.alarm(at: now, isSandbox: isSandbox) else { continue }
        let isOfCertificate = app.certificates.contains { $0.expiryWarning(at: now) == alarm.reason }
        if !isOfCertificate {
          warnings.append(Warning(code: .credentialsRefused, text: "\(name(of: app)): \(alarm.reason)"))
        }
      }
      warnings += try await environments(of: app)
    }
    return warnings
  }

  private func count(_ app: PushApp, isSandbox: Bool) -> Int {
    counts.devices[Lane(app: app.id, isSandbox: isSandbox)] ?? 0
  }

  /// Those that end soon, or before the last push leaves.
  private func certificates(of app: PushApp) -> [Warning] {
    let last = max(now + Self.expiryNotice, counts.lastAt ?? now)
    return app.certificates.compactMap { certificate in
      guard let notAfter = certificate.notAfter, notAfter < last else { return nil }
      let text = certificate.expiryWarning(at: now) ?? "Its certificate ends before the last push leaves."
      return Warning(code: .credentialsExpiring, text: "\(name(of: app)): \(text)")
    }
  }

  private func environments(of app: PushApp) async throws -> [Warning] {
    guard let opened = try await messages.credentials.credentials(for: app) else { return [] }
    return [false, true].compactMap { isSandbox in
      let count = count(app, isSandbox: isSandbox)
      guard count > 0, !messages.dispatcher.reaches(isSandbox: isSandbox, app, opened) else { return nil }
      return Warning(
        code: .wrongEnvironment,
        text: """
          \(name(of: app)): \(number(count, "device")) \(count == 1 ? "is" : "are") of \(isSandbox ? "the sandbox" : "production"), which \
          the app's certificates do not reach.
          """)
    }
  }
}

// MARK: - Texts

extension PreflightWarnings {
  private func templates() async throws -> [Warning] {
    var pages: [UTF8String: [MessageBody]] = [:]
    for (message, page) in try subject.messages() {
      if let page { pages[UTF8String(page), default: []].append(message) }
    }
    var warnings: [Warning] = []
    for (page, messages) in pages.sorted(by: { $0.key < $1.key }) {
      guard let template = try await SendoutRules.currentTemplate(customer, page.text, in: reading) else { continue }
      let lacked = Set(messages.flatMap { PageTemplate.lackedFields(template.body, in: $0) }.map { UTF8String($0) })
      warnings += lacked.sorted().map { field in
        Warning(
          code: .templateVariable,
          text: "The template \(page.text) names \(field.text), which the message does not have.")
      }
    }
    return warnings
  }

  /// The variables that the sendout's texts show, by their names.
  static func variables(of subject: SendoutSubject) throws -> [ShownVariable] {
    let shown = Set(try subject.messages().flatMap { ShownVariable.all(in: $0.message) })
    return Array(shown.sorted { UTF8String($0.name) < UTF8String($1.name) }.prefix(mostVariables))
  }

  private func emptyVariables() -> [Warning] {
    zip(variables, counts.met).compactMap { variable, found in
      guard found.contacts > 0 else { return nil }
      let example = seesPersonal && !found.example.isEmpty ? ", such as \(found.example)" : ""
      return Warning(
        code: .emptyVariable, text: "\(variable.name) is empty for \(number(found.contacts, "contact"))\(example).")
    }
  }

  /// What renderings for one push service came to.
  private struct Rendered {
    var longest = 0
    var limit = 0
    var count = 0
    /// Contacts whose message is cut, and by how many bytes at most.
    var cut: Set<ContactID> = []
    var most = 0
    var dropped: Set<String> = []
    var refused: Set<ContactID> = []
    var problem: String?

    /// - Parameter isCounted: whether the service counts bytes. SMS have parts.
    mutating func add(_ size: MessageSize, for contact: ContactID, isCounted: Bool) {
      count += 1
      longest = max(longest, size.whole.bytes)
      if isCounted { limit = size.whole.limit }
      if let problem = size.problem {
        refused.insert(contact)
        self.problem = problem
      } else if let dropped = size.dropped {
        cut.insert(contact)
        if isCounted { most = max(most, size.whole.bytes - size.whole.limit) }
        self.dropped.insert(dropped)
      }
    }
  }

  private func renderings() async throws -> [Warning] {
    let sample = try await AudienceSamples(reading).sample(customer, audience, apps: subject.apps, of: left)
    let contents = try subject.messages().map { message, page in
      MessageContent(
        template: try MessageTemplate(message),
        sendout: SendoutFields(
          id: subject.sendout?.rawValue, name: subject.name, fields: message.fields ?? [:]),
        hasPage: page != nil, purpose: subject.purpose)
    }
    var services: [String: Rendered] = [:]
    for app in apps {
      guard let opened = try await messages.credentials.credentials(for: app) else { continue }
      for recipient in sample where recipient.device.app == app.id {
        for content in contents {
          let size = messages.dispatcher.size(
            of: content.inLanguage(recipient.spokenLanguage), for: app, opened, contact: recipient.contact,
            device: recipient.device)
          services[size.service, default: Rendered()].add(
            size, for: recipient.contact.id, isCounted: app.type != .sms)
        }
      }
    }
    return services.sorted { UTF8String($0.key) < UTF8String($1.key) }.flatMap { warnings(of: $0.value, by: $0.key) }
  }

  private func warnings(of rendered: Rendered, by service: String) -> [Warning] {
    var warnings: [Warning] = []
    if !rendered.cut.isEmpty {
      let size = rendered.most > 0 ? " by up to \(number(rendered.most, "byte"))" : ""
      warnings.append(
        Warning(
          code: .cut,
          text: """
            For \(number(rendered.cut.count, "sampled contact")) the message is too large for \(service)\(size): \
            \(rendered.dropped.sorted().joined(separator: "; ")).
            """))
    }
    if let problem = rendered.problem {
      warnings.append(
        Warning(
          code: .cut,
          text: "For \(number(rendered.refused.count, "sampled contact")) \(service) would get nothing: \(problem)."))
    }
    if rendered.limit > 0 {
      warnings.append(
        Warning(
          code: .longest,
          text: """
            The longest of \(number(rendered.count, "sampled push", "sampled pushes")) by \(service) has \
            \(rendered.longest) of at most \(rendered.limit) bytes.
            """))
    }
    return warnings
  }
}

extension ShownVariable {
  /// Whoever has none, or an empty text.
  var isEmpty: Filter {
    func isEmpty(_ field: FilterField) -> Filter {
      .or([.compare(field, .isNotSet), .compare(field, .compare(.equal, .text(UTF8String(""))))])
    }
    return switch source {
    case .text(let field): isEmpty(.contact(field))
    case .dateOfBirth: .compare(.dateOfBirth, .isNotSet)
    case .property(let name): isEmpty(.property(name))
    }
  }
}

// MARK: - Others

extension PreflightWarnings {
  /// Most sendouts that are looked at.
  private static let mostOthers = 20

  private func overlap() async throws -> [Warning] {
    let others = try await SendoutStore(reading).list(
      customer, PageRequest(limit: Self.mostOthers),
      matching: SendoutFilter(states: [.running, .paused], kind: .broadcast)
    ).items.filter { $0.sendoutId != subject.sendout }
    let (filter, ids) = audience.contacts
    let found = try await Ledger(reading).overlap(
      customer, filter, originalIDs: ids, with: others.map(\.sendoutId))
    return found.map { sendout, contacts in
      let name = others.first { $0.sendoutId == sendout }?.name ?? ""
      return Warning(
        code: .overlap,
        text: """
          \(number(contacts, "contact")) of the audience \(contacts == 1 ? "is" : "are") still to get sendout \(sendout), \(name).
          """)
    }
  }

  private func endsTooEarly() -> [Warning] {
    guard let rate = subject.campaign.ratePerSecond, let end = subject.campaign.endAt?.date else { return [] }
    let last = max(
      (counts.firstAt ?? now) + (Double(devices) / Double(rate)).rounded(.up), counts.lastAt ?? now)
    guard last > end else { return [] }
    return [
      Warning(
        code: .endsTooEarly,
        text: """
          At \(number(rate, "push", "pushes")) a second, the last of \(number(devices, "device")) would be \
          due at \(Wire.Timestamp(last)), after endAt: whoever is left by then gets nothing.
          """)
    ]
  }

  private func smallestDifference() async throws -> [Warning] {
    guard let variants = subject.campaign.variants, let least = variants.map(\.share).min() else { return [] }
    let (contacts, rate) = (left * least / 100, try await openRate())
    let group = """
      With \(number(contacts, "contact")) in the smallest group and an open rate of \(percent(rate)) %, a test
      """
    let text =
      if let difference = Significance.smallestDifference(from: rate, contacts: contacts) {
        "\(group) shows a difference of \(percent(difference)) percentage points or more in four of five cases."
      } else {
        "\(group) shows no difference at all: let more contacts take part."
      }
    return [Warning(code: .smallestDifference, text: text)]
  }

  /// The open rate that is taken where nobody has opened anything yet.
  private static let usualOpenRate = 0.1
  /// Most sendouts whose opens are counted.
  private static let mostCounted: Int64 = 1000

  /// Of the pushes of the customer's sendouts of the last 90 days.
  private func openRate() async throws -> Double {
    let recent = try await reading.query(
      SendoutQueries.startedSince, customer.rawValue, now - 90 * 86_400, Self.mostCounted
    ).map { SendoutID(try $0.decode(Int64.self)) }
    let totals = try await Ledger(reading).totals(customer, of: recent)
    let (accepted, opened) = totals.values.reduce((0, 0)) { ($0.0 + $1.accepted, $0.1 + $1.opened) }
    return accepted > 0 && opened > 0 ? min(Double(opened) / Double(accepted), 1) : Self.usualOpenRate
  }

  /// As in 10 and 3.1.
  private func percent(_ share: Double) -> String {
    let tenths = Int((share * 1000).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
