import HTTPTypes
import Hummingbird
import Operations
public import Registry
public import Sendouts
import Wire

/// Carma's lists, as back ends feed and read them (protocol notes, section 12). Query parameters that the hub does not know are ignored, as
/// Carma's clients send some to all routes.
public struct CarmaListRoutes: RouteSet {
  let authenticator: Authenticator
  let replies: IdempotentReplies
  let listed: ListedContacts
  let lists: ContactLists
  let sendouts: SendoutStore
  let suppressionKey: SuppressionKey

  /// Most sendouts that are shown as campaigns.
  static let mostCampaigns = 200
  /// The reason of suppressions that updates of contacts ask for.
  static let reason = "unsubscribed by Carma's API"

  public init(
    authenticator: Authenticator, replies: IdempotentReplies, listed: ListedContacts, lists: ContactLists,
    sendouts: SendoutStore, suppressionKey: SuppressionKey
  ) {
    self.authenticator = authenticator
    self.replies = replies
    self.listed = listed
    self.lists = lists
    self.sendouts = sendouts
    self.suppressionKey = suppressionKey
  }

  public func addRoutes(to routes: RouteTable) {
    let path = "/rest/{customerId}/lists"
    routes.addToLists(.get, path, authenticator, use: list)
    routes.addToLists(.get, "\(path)/{listId}", authenticator, use: show)
    for kind in ListedContacts.Kind.allCases {
      routes.addToLists(.get, "\(path)/{listId}/contacts/\(kind.rawValue)", authenticator) {
        try await contacts(kind, $0, $1, $2)
      }
    }
    routes.addToLists(.get, "\(path)/{listId}/contacts/{originalId}", authenticator, use: contact)
    routes.addToLists(.put, "\(path)/{listId}/contacts/{originalId}/update", authenticator, use: update)
    routes.addToLists(.get, "/rest/{customerId}/properties", authenticator, use: properties)
    routes.addToLists(.get, "/rest/{customerId}/campaigns", authenticator, use: campaigns)
  }

  private func list(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let type = try query(request, ["typeId"]).integer("typeId", in: 1...2) ?? CarmaList.normalType
    guard type == CarmaList.normalType else { return try authenticator.reply([CarmaList](), to: access) }
    let counts = try await listed.counts(access.customer)
    let all = try await lists.all(access.customer).map { list in
      CarmaList(list, contacts: counts.map { $0[list.listId] ?? 0 })
    }
    return try authenticator.reply(all, to: access)
  }

  private func show(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (list, breakdown) = try await listed.show(access.customer, try context.number("listId"))
    return try JSONReply.make(.ok, CarmaList(list, contacts: breakdown?.all.contacts, breakdown))
  }

  private func contacts(
    _ kind: ListedContacts.Kind, _ access: Access, _ request: Request, _ context: WebRequestContext
  ) async throws -> Response {
    let list: ListID = try context.number("listId")
    let asked = query(request, ["pageSize", "lastId", "includeProperties", "email"])
    let most = ListedContacts.mostOfPage
    let page = try await listed.page(
      access.customer, list, kind, after: try asked.integer("lastId", in: -1...Int64.max) ?? -1,
      limit: try asked.integer("pageSize", in: 1...most) ?? most, email: asked.value("email"),
      hasProperties: try asked.flag("includeProperties") ?? true)
    return try authenticator.reply(page.map { CarmaContact($0, on: list) }, to: access)
  }

  private func contact(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await reply(access, try context.number("listId"), try context.part("originalId"))
  }

  private func update(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (list, originalID): (ListID, String) = (try context.number("listId"), try context.part("originalId"))
    let makes = try query(request, ["force"]).flag("force") ?? false
    let bytes = try await request.jsonBytes()
    let body = try bytes.withUnsafeReadableBytes { try CarmaContactBody(json: $0) }
    guard body.originalId.map({ $0.hasSameBytes(as: originalID) }) ?? true else {
      throw HTTPErrorResponse.badRequest("originalId differs from that in the path.")
    }
    let author = ChangeAuthor.key(access.key, address: context.clientAddress.description)
    try await replies.change(access.customer, by: author) { change in
      try await ContactStore(change.transaction).merge(
        access.customer, originalID, body.request, on: list, makes: makes)
      guard body.unsubscribed == true || body.mobileUnsubscribed == true else { return }
      let (before, after) = try await Suppressions(change.transaction, key: suppressionKey).add(
        access.customer, .contact(originalID: originalID), .marketing, reason: Self.reason)
      if before == nil {
        try await change.record(.addSuppression, "suppression \(after.suppressionId)", after: after)
      }
    }
    return try await reply(access, list, originalID)
  }

  private func reply(_ access: Access, _ list: ListID, _ originalID: String) async throws -> Response {
    try JSONReply.make(
      .ok, CarmaContact(try await listed.find(access.customer, list, originalID), on: list))
  }

  private func properties(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let found = try await listed.properties(access.customer)
    return try authenticator.reply(found.map { CarmaProperty(name: $0.name, isInteger: $0.isInteger) }, to: access)
  }

  private func campaigns(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let page = try await sendouts.list(access.customer, PageRequest(limit: Self.mostCampaigns))
    return try authenticator.reply(page.items.map { CarmaCampaign($0) }, to: access)
  }

  /// The parameters of these names; of one given twice the last one.
  private func query(_ request: Request, _ names: Set<String>) -> QueryParameters {
    var values: [String: String] = [:]
    for (name, value) in request.uri.queryParameters where names.contains(String(name)) && !value.isEmpty {
      values[String(name)] = String(value)
    }
    return QueryParameters(values)
  }
}

extension RouteTable {
  /// Adds a route about lists, for keys of scope `backend` that open all apps.
  func addToLists(
    _ method: HTTPRequest.Method, _ path: String, _ authenticator: Authenticator,
    use handler: @escaping @Sendable (Access, Request, WebRequestContext) async throws -> Response
  ) {
    add(method, RouterPath(path), bound: .refused) { request, context in
      try await handler(
        try await authenticator.unboundAccess(request, context, needs: .backend), request, context)
    }
  }
}

extension CarmaContact {
  fileprivate init(_ listed: ListedContact, on list: ListID) {
    self.init(listed.contact, on: list, unsubscribedAt: listed.unsubscribedAt, bouncedAt: listed.bouncedAt)
  }
}
