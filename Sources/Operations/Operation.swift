package import Audience
package import HTTPTypes
package import Registry
package import Sendouts
package import Wire

/// One thing that can be done to what a customer manages: how it is asked for, what people read about it, and what does it.
///
/// Routes, authentication, the API's description, lines of the audit log, replies by `Idempotency-Key`, commands and tests come from it.
/// GET reads. A POST is executed once for an `Idempotency-Key`. What changes something runs in one transaction with its line in the
/// audit log. What asks others over the network runs before the transaction that notes its reply.
package struct Operation<Target: Sendable, Body: Sendable, Reply: APIObject>: Sendable {
  private enum Work: Sendable {
    case read(@Sendable (OperationCall, Target, Body) async throws -> Reply)
    case change(AuditAction, @Sendable (OperationCall, Target, Body) async throws -> Changed<Reply>)
  }

  package internal(set) var description: APIOperation
  /// The store of what it lists; `nil` for what has no table of the usual kind.
  package internal(set) var store: (any NumberedStore.Type)?
  /// Whether it only reads, so that a POST needs no `Idempotency-Key`.
  package let isReading: Bool
  /// What of the hub's memory does not hold any more.
  package let outdates: HubCache?
  /// How long each statement may take; `nil` for the pool's own.
  package let statementLimit: Duration?
  /// Who may call it in the console.
  package let roles: Set<Role>
  /// Whether its reply has personal fields, so that only those users see it in the console who may see them.
  package let showsPersonal: Bool
  let target: Parameters<Target>
  private let body: RequestBody<Body>
  private let work: Work

  /// An operation that changes nothing.
  /// - Parameters:
  ///   - id: unique; a verb and its noun, as in `listKeys`.
  ///   - summary: a few words, without a full stop.
  ///   - description: whole sentences; an empty line separates paragraphs.
  ///   - roles: who may call it in the console, besides owners; `nil` for what its tag says.
  ///   - showsPersonal: whether its reply has personal fields of contacts.
  ///   - target: what stands in path and query.
  package init(
    get path: String, id: String, _ tag: APIOperation.Tag, _ summary: String, _ description: String,
    needs scope: AccessScope = .admin, roles: Set<Role>? = nil, showsPersonal: Bool = false,
    at target: Parameters<Target>,
    replies: Replies<Reply>, errors: [APIResponse] = [],
    read: @escaping @Sendable (OperationCall, Target, Body) async throws -> Reply
  ) where Body == Void {
    self.init(
      .get, path, id, tag, summary, description, scope, roles, showsPersonal, target, .none, replies, errors, nil, nil,
      .read(read), isReading: true)
  }

  /// A POST whose body says what to show. It changes nothing.
  package init(
    showing path: String, id: String, _ tag: APIOperation.Tag, _ summary: String, _ description: String,
    needs scope: AccessScope = .admin, showsPersonal: Bool = false, body: RequestBody<Body>, replies: Replies<Reply>,
    errors: [APIResponse] = [], show: @escaping @Sendable (OperationCall, Body) async throws -> Reply
  ) where Target == Void {
    self.init(
      .post, path, id, tag, summary, description, scope, nil, showsPersonal, .none, body, replies, errors, nil, nil,
      .read { call, _, body in try await show(call, body) }, isReading: true)
  }

  /// A POST that shows something about what its path names. It changes nothing.
  package init(
    showing path: String, id: String, _ tag: APIOperation.Tag, _ summary: String, _ description: String,
    needs scope: AccessScope = .admin, at target: Parameters<Target>, replies: Replies<Reply>,
    errors: [APIResponse] = [], show: @escaping @Sendable (OperationCall, Target, Body) async throws -> Reply
  ) where Body == Void {
    self.init(
      .post, path, id, tag, summary, description, scope, nil, false, target, .none, replies, errors, nil, nil,
      .read(show), isReading: true)
  }

  /// A POST that sends something about what its path names, outside of any transaction. It is executed once for an `Idempotency-Key`.
  package init(
    sending path: String, id: String, _ tag: APIOperation.Tag, _ summary: String, _ description: String,
    needs scope: AccessScope = .admin, showsPersonal: Bool = false, at target: Parameters<Target>,
    body: RequestBody<Body>, replies: Replies<Reply>, errors: [APIResponse] = [],
    send: @escaping @Sendable (OperationCall, Target, Body) async throws -> Reply
  ) {
    self.init(
      .post, path, id, tag, summary, description, scope, nil, showsPersonal, target, body, replies, errors, nil, nil,
      .read(send))
  }

  /// A POST that asks others over the network, and changes nothing. No transaction waits for their answers.
  package init(
    asking path: String, id: String, _ tag: APIOperation.Tag, _ summary: String, _ description: String,
    needs scope: AccessScope = .admin, roles: Set<Role>? = nil, at target: Parameters<Target>,
    replies: Replies<Reply>, errors: [APIResponse] = [],
    ask: @escaping @Sendable (OperationCall, Target, Body) async throws -> Reply
  ) where Body == Void {
    self.init(
      .post, path, id, tag, summary, description, scope, roles, false, target, .none, replies, errors, nil, nil,
      .read(ask))
  }

  /// A POST that is executed once by other means than a transaction that notes its reply.
  package init(
    sending path: String, id: String, _ tag: APIOperation.Tag, _ summary: String, _ description: String,
    needs scope: AccessScope, body: RequestBody<Body>, replies: Replies<Reply>, errors: [APIResponse] = [],
    send: @escaping @Sendable (OperationCall, Body) async throws -> Reply
  ) where Target == Void {
    self.init(
      .post, path, id, tag, summary, description, scope, nil, false, .none, body, replies, errors, nil, nil,
      .read { call, _, body in try await send(call, body) })
  }

  /// An operation that changes something.
  /// - Parameters:
  ///   - showsPersonal: whether its reply has personal fields of contacts, or what it does tells them.
  ///   - audit: what the audit log calls it, which its description says, too.
  ///   - change: runs in a transaction, which it must not leave for anything slow.
  package init(
    _ method: HTTPRequest.Method, _ path: String, id: String, _ tag: APIOperation.Tag, _ summary: String,
    _ description: String, needs scope: AccessScope = .admin, roles: Set<Role>? = nil, showsPersonal: Bool = false,
    at target: Parameters<Target>, body: RequestBody<Body>, replies: Replies<Reply>, errors: [APIResponse] = [],
    audit: AuditAction, outdates: HubCache? = nil, statementLimit: Duration? = nil,
    change: @escaping @Sendable (OperationCall, Target, Body) async throws -> Changed<Reply>
  ) {
    let description = "\(description)\n\nThe audit log has it as `\(audit.rawValue)`."
    self.init(
      method, path, id, tag, summary, description, scope, roles, showsPersonal, target, body, replies, errors, outdates,
      statementLimit, .change(audit, change))
  }

  private init(
    _ method: HTTPRequest.Method, _ path: String, _ id: String, _ tag: APIOperation.Tag, _ summary: String,
    _ description: String, _ scope: AccessScope, _ roles: Set<Role>?, _ showsPersonal: Bool,
    _ target: Parameters<Target>, _ body: RequestBody<Body>, _ replies: Replies<Reply>, _ errors: [APIResponse],
    _ outdates: HubCache?, _ statementLimit: Duration?, _ work: Work, isReading: Bool = false
  ) {
    self.roles = (roles ?? (isReading ? tag.readers : tag.editors)).union([.owner])
    self.showsPersonal = showsPersonal
    self.description = APIOperation(
      method: method, path: path, id: id, tag: tag, security: .key(scope), summary: summary, description: description,
      parameters: target.described + (method == .post && !isReading ? [.idempotencyKey] : []),
      requestBody: body.content,
      bodyLimit: body.limit, responses: [replies.response], errors: errors)
    self.isReading = isReading
    self.outdates = outdates
    self.statementLimit = statementLimit
    self.target = target
    self.body = body
    self.work = work
  }

  /// What the audit log calls it; `nil` for what changes nothing.
  package var audit: AuditAction? { if case .change(let action, _) = work { action } else { nil } }

  /// Does it, unless it asks for what the caller does not see.
  /// - Parameter call: of a transaction, for what changes something.
  package func run(_ call: OperationCall, _ target: Target, _ body: Body) async throws -> Reply {
    // Whom a filter finds, and how many, tells what it asks for: at once, or by the counts of what is saved.
    if !call.seesPersonal { try await call.requireShown(AskedContacts(in: target, body)) }
    switch work {
    case .read(let read): return try await read(call, target, body)
    case .change(let action, let change):
      let changed = try await change(call, target, body)
      for line in changed.lines {
        try await call.record(line.action ?? action, line.target, before: line.before, after: line.after)
      }
      try await call.holdUser(as: roles)
      return changed.reply
    }
  }

  /// Reads a request.
  /// - Throws: what becomes a 400 that names the parameter or the field.
  /// - Returns: does what is asked for.
  fileprivate func prepare(_ values: RequestValues, _ json: [UInt8]) throws -> AnyOperation.Work {
    let (target, body) = (try target.read(values), try body.read(json))
    return { call in try await run(call, target, body) }
  }
}

/// An operation whose types do not matter: for routes, documents and tests.
package struct AnyOperation: Sendable {
  package typealias Work = @Sendable (OperationCall) async throws -> any Encodable & Sendable

  package let description: APIOperation
  /// The store of what it lists; `nil` for what has no table of the usual kind.
  package let store: (any NumberedStore.Type)?
  package let audit: AuditAction?
  package let isReading: Bool
  package let outdates: HubCache?
  package let statementLimit: Duration?
  /// Who may call it in the console.
  package let roles: Set<Role>
  /// Whether only those may who see personal fields.
  package let showsPersonal: Bool
  /// Reads a request, and returns what does what it asks for.
  package let prepare: @Sendable (RequestValues, [UInt8]) throws -> Work

  package init<Target, Body, Reply>(_ operation: Operation<Target, Body, Reply>) {
    description = operation.description
    store = operation.store
    audit = operation.audit
    isReading = operation.isReading
    outdates = operation.outdates
    statementLimit = operation.statementLimit
    roles = operation.roles
    showsPersonal = operation.showsPersonal
    prepare = operation.prepare
  }

  /// Whether a user may call it in the console.
  package func isOpen(to role: Role, seesPersonal: Bool) -> Bool {
    roles.contains(role) && (seesPersonal || !showsPersonal)
  }
}

/// What a hub keeps in memory of what operations change.
package enum HubCache: Sendable, Hashable {
  case accessKeys, pushApps, hybridApps, statusAddresses
}

/// What operations work with, made once by a hub or a command.
package struct OperationParts: Sendable {
  /// What operations read that change nothing.
  package let database: Database
  /// For reads that may take long, so that they do not hold up others.
  package let slowReads: Database
  package let reports: Reports
  package let preflights: Preflights
  /// Counts the contacts that filters mean.
  package let counts: SegmentCounts
  /// Days for which the hub keeps the ledger; `nil` for ever. A customer can have fewer.
  package let retentionDays: Int32?
  /// Seals and opens secrets; `nil` for commands that need none.
  package let vault: Vault?
  /// Where providers of SMS may be.
  package let smsRule: EndpointRule
  /// Where webhooks may lead.
  package let webhookRule: EndpointRule
  /// Where providers of SMS post their status reports. A command reads it from the database that it is given.
  package let statusAddresses: @Sendable (Database) async throws -> SMSStatusAddresses
  /// What hashes whom suppressions name. A command reads it from the database that it is given.
  package let suppressionKey: @Sendable (Database) async throws -> SuppressionKey
  /// Asks an app's push service about its credentials. The answer is `nil` for an app that has none.
  package let checkCredentials: @Sendable (PushApp) async throws -> PushAppCheckReply?
  /// Previews, sends and finds single messages. It throws for a command without a master key.
  package let messages: @Sendable () throws -> MessageService

  package init(
    database: Database, slowReads: Database, vault: Vault?, smsRule: EndpointRule, webhookRule: EndpointRule,
    retentionDays: Int32? = nil,
    statusAddresses: @escaping @Sendable (Database) async throws -> SMSStatusAddresses,
    suppressionKey: @escaping @Sendable (Database) async throws -> SuppressionKey,
    checkCredentials: @escaping @Sendable (PushApp) async throws -> PushAppCheckReply?,
    messages: @escaping @Sendable () throws -> MessageService
  ) {
    self.database = database
    self.slowReads = slowReads
    self.vault = vault
    self.smsRule = smsRule
    self.webhookRule = webhookRule
    self.statusAddresses = statusAddresses
    self.suppressionKey = suppressionKey
    self.checkCredentials = checkCredentials
    self.messages = messages
    self.retentionDays = retentionDays
    reports = Reports(slowReads)
    preflights = Preflights(slowReads, retentionDays: retentionDays)
    counts = SegmentCounts(slowReads)
  }
}

/// One call of an operation: for whom, and on what.
package struct OperationCall: Sendable {
  package let customer: CustomerID
  /// The transaction of what changes something; the pool for what only reads.
  package let database: Database
  package let parts: OperationParts
  /// The only app that the caller's key opens; `nil` for all.
  package let appID: String?
  /// Whether the caller may see personal fields of contacts. Keys and the command line may.
  package let seesPersonal: Bool
  private let change: ManagementChange?
  /// Runs something in a transaction of its own, by whoever makes the call.
  package typealias Noting =
    @Sendable (_ body: @escaping @Sendable (ManagementChange) async throws -> Void) async throws -> Void
  private let noting: Noting?

  /// For an operation that changes nothing, or sends something outside of any transaction.
  /// - Parameters:
  ///   - appID: the only app that the caller's key opens; `nil` for all.
  ///   - noting: writes what was sent into the audit log; `nil` for what only reads.
  package init(
    reading parts: OperationParts, of customer: CustomerID, boundTo appID: String? = nil, seesPersonal: Bool = true,
    noting: Noting? = nil
  ) {
    self.noting = noting
    self.customer = customer
    self.appID = appID
    self.parts = parts
    self.seesPersonal = seesPersonal
    database = parts.database
    change = nil
  }

  /// For an operation that changes something.
  package init(_ change: ManagementChange, _ parts: OperationParts, seesPersonal: Bool = true) {
    customer = change.customer
    appID = nil
    database = change.transaction
    self.seesPersonal = seesPersonal
    self.parts = parts
    self.change = change
    noting = nil
  }

  /// For reads that may take long: those of a change see what it has changed.
  package var slowReads: Database { change == nil ? parts.slowReads : database }

  /// Seals and opens secrets.
  package var vault: Vault {
    guard let vault = parts.vault else { preconditionFailure("a command needs a master key, and does not say so") }
    return vault
  }

  /// The user of the console who makes the change; `nil` for API and command line, and for what only reads.
  package var user: UserID? { change?.user }

  /// The access key that makes the call; `nil` in the console, at the command line, and for what only reads.
  package var key: AccessKeyID? { change?.key }
  /// Who makes the change; `nil` for what only reads.
  package var author: ChangeAuthor? { change?.actor }

  fileprivate func record(
    _ action: AuditAction, _ target: String, before: (any Encodable)?, after: (any Encodable)?
  ) async throws {
    guard let change else { preconditionFailure("\(action.rawValue) is called without a transaction") }
    try await change.record(action, target, before: before, after: after)
  }

  /// Adds a line to the audit log for what was sent already: no transaction waits for that.
  func note(_ action: AuditAction, _ target: String, after: some Encodable & Sendable) async throws {
    guard let noting else { preconditionFailure("\(action.rawValue) is called by nobody") }
    try await noting { change in try await change.record(action, target, after: after) }
  }

  /// Makes sure that a user of the console who makes the change has one of these roles. Keys and the command line pass.
  func holdUser(as roles: Set<Role>) async throws { try await change?.holdUser(as: roles) }
}

/// The reply of a change, and its lines in the audit log. A line of which nothing has changed is not written.
package struct Changed<Reply: Sendable>: Sendable {
  package struct Line: Sendable {
    let target: String
    let before: (any Encodable & Sendable)?
    let after: (any Encodable & Sendable)?
    let action: AuditAction?

    /// - Parameters:
    ///   - target: what was changed, as in `key 7`.
    ///   - before: what the API showed of it; `nil` when it was not there.
    ///   - after: what the API shows of it now. Neither may hold a secret.
    ///   - action: `nil` for the operation's own.
    package init(
      _ target: String, before: (any Encodable & Sendable)? = nil, after: (any Encodable & Sendable)?,
      as action: AuditAction? = nil
    ) {
      self.target = target
      self.before = before
      self.after = after
      self.action = action
    }
  }

  let reply: Reply
  let lines: [Line]

  package init(_ reply: Reply, _ lines: Line...) { self.init(reply, lines) }

  package init(_ reply: Reply, _ lines: [Line]) {
    self.reply = reply
    self.lines = lines
  }

  /// The line shows the reply.
  package init(_ reply: Reply, _ target: String, before: Reply? = nil) where Reply: Encodable {
    self.init(reply, Line(target, before: before, after: reply))
  }
}

/// The filters and audiences of a request, wherever they stand in it. Every operation is asked for them, so none can forget its own.
struct AskedContacts {
  private(set) var filters: [Filter] = []
  private(set) var audiences: [Audience] = []

  /// - Parameter values: what stands in path, query and body.
  init(in values: Any...) { for value in values { add(value) } }

  private mutating func add(_ value: Any) {
    switch value {
    case let filter as Filter: filters.append(filter)
    case let audience as Audience: audiences.append(audience)
    case is String: break
    default: for part in Mirror(reflecting: value).children { add(part.value) }
    }
  }
}
