public import Content
public import Delivery
public import Postgres
public import Providers
public import Registry
public import Sendouts
public import Simulator
public import Wire

/// All that sending takes, on real parts: a database, a Simulator behind a provider, and a customer with an iOS app.
public struct SendingBench: Sendable {
  public let database: TestDatabase
  public let simulator: PushSimulator
  public let services: PushServices
  public let vault: Vault
  /// What the vault seals under, for processes that are to open it.
  public let masterKey: String
  public let links: PublicLinks
  public let signer: LinkSigner
  public let customer: CustomerID
  public let app: PushApp

  public var pool: Pool { database.pool }
  public var sendouts: TestSendouts { TestSendouts(pool: pool) }
  public var ledger: Ledger { Ledger(pool) }

  public static let appID = "com.acme.app"

  /// A sendout that is started: to everybody, unless told otherwise.
  public func send(
    _ alert: String = "Hello {{firstName}}", audience: Audience = .all, template: String? = nil,
    onUncertain: UncertainPolicy? = nil, fields: [UTF8String: JSONValue]? = nil, info: String? = nil,
    trackOpens: Bool? = nil
  ) async throws -> SendoutKey {
    let reply = try await sendouts.create(
      customer,
      SendoutRequest(
        name: "Offer", appId: Self.appID, audience: audience,
        message: MessageBody(alert: alert, info: info, fields: fields, trackOpens: trackOpens), template: template,
        onUncertain: onUncertain, start: true))
    return SendoutKey(customer, reply.sendoutId)
  }

  public func show(_ key: SendoutKey) async throws -> SendoutReply {
    try await sendouts.find(key.customer, key.sendout)
  }

  /// Waits until the sendout is in that state, and shows it.
  @discardableResult
  public func until(_ key: SendoutKey, _ state: SendoutState) async throws -> SendoutReply {
    for try await _ in pool.notifications(on: ["pushcart_sendout"]) {
      let sendout = try await show(key)
      if sendout.state == state { return sendout }
    }
    throw CancellationError()
  }

  /// The sendout's rows of the ledger, by device.
  public func pushes(_ key: SendoutKey) async throws -> [PushReply] {
    try await sendouts.pushes(key.customer, key.sendout, PageRequest(limit: 1000)).items
  }
}

/// Runs `body` on a bench of its own.
public func withSendingBench<Answer: Sendable>(
  _ configureProvider: (inout PushServiceSettings) -> Void = { _ in },
  simulator configureSimulator: (inout SimulatorSettings) -> Void = { _ in },
  _ body: (SendingBench) async throws -> Answer
) async throws -> Answer {
  try await withAPNs(simulator: configureSimulator, provider: configureProvider) { simulator, services in
    try await withDatabase { database in
      let masterKey = MasterKeys.generate()
      let vault = Vault(try MasterKeys(current: masterKey))
      let customer = try await database.customer()
      let credentials = APNsCredentials.sample
      let app = try await PushApps(database.pool, vault: vault).add(
        customer,
        NewPushApp(
          appID: SendingBench.appID, type: .ios, name: "Acme",
          service: credentials.fields))
      let signer = LinkSigner(keys: [1: (0..<32).map { _ in .random(in: 0...255) }])
      let answer = try await body(
        SendingBench(
          database: database, simulator: simulator, services: services, vault: vault, masterKey: masterKey,
          links: PublicLinks(base: "https://push.example.com", signer: signer), signer: signer, customer: customer,
          app: app))
      try await database.checkBatchCounts()
      return answer
    }
  }
}

extension SendingBench {
  /// Waits until the sendout is as `condition` says, asking the database again and again.
  @discardableResult
  public func until(
    _ key: SendoutKey, _ condition: (SendoutReply) async throws -> Bool
  ) async throws -> SendoutReply {
    var sendout = try await show(key)
    try await waitUntil {
      if try await condition(sendout) { return true }
      sendout = try await show(key)
      return false
    }
    return sendout
  }

  /// Makes every push that waits due now, once no hub has a batch in hand: its release would put the batch off again.
  public func makeDue(_ key: SendoutKey) async throws {
    let inHand = "SELECT FROM push_batch WHERE sendout_id = $1::bigint AND state = 'claimed'"
    try await waitUntil { try await database.query(inHand, key.sendout.rawValue).isEmpty }
    for table in ["push", "push_batch"] {
      try await database.query(
        "UPDATE \(table) SET not_before = now() - interval '1 second' WHERE sendout_id = $1::bigint AND not_before > now()",
        key.sendout.rawValue)
    }
  }
}

/// The store of sendouts, with a transaction for each change, as operations have one.
public struct TestSendouts: Sendable {
  let pool: Pool

  private func atomically<Answer: Sendable>(
    _ customer: CustomerID, by user: UserID? = nil, _ body: @escaping @Sendable (SendoutStore) async throws -> Answer
  ) async throws -> Answer {
    try await pool.transaction(
      of: customer.rawValue, limit: Ledger.wholeSendoutLimit, isLong: false, locks: .brief
    ) { try await body(SendoutStore($0, by: user)) }
  }

  public func count(_ customer: CustomerID, _ request: AudienceRequest) async throws -> AudienceReply {
    try await SendoutStore(pool).count(customer, request)
  }

  @discardableResult
  public func change(
    _ customer: CustomerID, _ sendout: SendoutID, _ request: SendoutRequest, by user: UserID? = nil
  ) async throws -> (before: SendoutReply, after: SendoutReply) {
    try await atomically(customer, by: user) { try await $0.change(customer, sendout, request) }
  }

  @discardableResult
  public func change(
    _ customer: CustomerID, _ sendout: SendoutID, _ change: SendoutChange, by user: UserID? = nil
  ) async throws -> (before: SendoutReply, after: SendoutReply) {
    try await atomically(customer, by: user) { try await $0.change(customer, sendout, change) }
  }

  public func create(
    _ customer: CustomerID, _ request: SendoutRequest, by user: UserID? = nil
  ) async throws -> SendoutReply {
    try await atomically(customer, by: user) { try await $0.create(customer, request) }
  }

  public func apply(
    _ verb: SendoutVerb, to sendout: SendoutID, of customer: CustomerID, by user: UserID? = nil,
    seen digest: String? = nil, maximumContacts: Int? = nil
  ) async throws -> (before: SendoutState, sendout: SendoutReply) {
    try await atomically(customer, by: user) {
      try await $0.apply(
        verb, to: sendout, of: customer, SendoutStart(digest: digest, maximumContacts: maximumContacts))
    }
  }

  @discardableResult
  public func start(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutReply {
    try await counted(.start, sendout, customer)
  }

  @discardableResult
  public func pause(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutReply {
    try await counted(.pause, sendout, customer)
  }

  @discardableResult
  public func resume(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutReply {
    try await counted(.resume, sendout, customer)
  }

  @discardableResult
  public func cancel(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutReply {
    try await counted(.cancel, sendout, customer)
  }

  private func counted(_ verb: SendoutVerb, _ sendout: SendoutID, _ customer: CustomerID) async throws -> SendoutReply {
    var reply = try await apply(verb, to: sendout, of: customer).sendout
    reply.counts = try await find(customer, sendout).counts
    return reply
  }

  public func find(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutReply {
    try await SendoutStore(pool).find(customer, sendout)
  }

  public func list(
    _ customer: CustomerID, _ page: PageRequest<SendoutID> = PageRequest()
  ) async throws -> Page<SendoutReply, SendoutID> {
    try await SendoutStore(pool).list(customer, page)
  }

  public func pushes(
    _ customer: CustomerID, _ sendout: SendoutID, state: PushState? = nil,
    _ page: PageRequest<PushNumber> = PageRequest()
  ) async throws -> Page<PushReply, PushNumber> {
    try await SendoutStore(pool).pushes(customer, sendout, state: state, page)
  }

  public func why(_ customer: CustomerID, _ sendout: SendoutID, originalID: String) async throws -> WhyReply {
    try await SendoutStore(pool).why(customer, sendout, originalID: originalID)
  }
}
