import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
public import Registry
public import Subscriptions
public import Wire

/// Webcom's REST for back ends: data trees of apps, and the subscriptions to what changes in them.
///
/// The secret of an app is an access key of scope `datasync`, which is bound to it. The key decides the customer.
public struct DataTreeRoutes: RouteSet {
  let authenticator: Authenticator
  let tree: DataTree
  let subscriptions: SubscriptionStore
  let webhooks: WebhookStore
  let rule: EndpointRule
  let changes: IdempotentEndpoint

  /// - Parameter rule: where webhooks may lead.
  public init(
    authenticator: Authenticator, tree: DataTree, subscriptions: SubscriptionStore, webhooks: WebhookStore,
    rule: EndpointRule, replies: IdempotentReplies
  ) {
    self.authenticator = authenticator
    self.tree = tree
    self.subscriptions = subscriptions
    self.webhooks = webhooks
    self.rule = rule
    changes = IdempotentEndpoint(replies: replies)
  }

  private static let base = "/datasync/v2/{app}"

  public func addRoutes(to routes: RouteTable) {
    let data = "\(Self.base)/data"
    routes.tree(.get, data, bound: .ownApp, use: read)
    routes.tree(.put, data, bound: .ownApp, use: put)
    routes.tree(.patch, data, bound: .ownApp, use: patch)
    routes.tree(.post, data, bound: .ownApp, use: post)
    routes.tree(.delete, data, bound: .ownApp, use: remove)
    routes.add(.get, "\(Self.base)/subscriptions", bound: .ownApp, use: listSubscriptions)
    routes.add(.post, "\(Self.base)/subscriptions", bound: .ownApp, use: subscribe)
    routes.add(.delete, "\(Self.base)/subscriptions/{subscriptionId}", bound: .ownApp, use: unsubscribe)
    routes.add(.get, "\(Self.base)/settings", bound: .ownApp, use: showSettings)
    routes.add(.put, "\(Self.base)/settings/webhooks", bound: .ownApp, use: saveWebhooks)
  }

  /// What the secret opens, and the app of the path.
  private func access(_ request: Request, _ context: WebRequestContext) async throws -> (Access, app: String) {
    let access = try await authenticator.access(request, needs: .datasync)
    let app = try context.part("app")
    guard access.opens(appID: app) else { throw HTTPErrorResponse.boundElsewhere }
    return (access, app)
  }

  /// As `access`, of a request that may have no options.
  private func accessWithoutOptions(
    _ request: Request, _ context: WebRequestContext
  ) async throws -> (Access, app: String) {
    let access = try await access(request, context)
    _ = try QueryParameters(request, known: [])
    return access
  }

  // MARK: Data

  private func read(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await access(request, context)
    let options = try TreeOptions(request)
    let value = try await tree.read(
      access.customer, app: app, at: try Self.path(request), isShallow: options.isShallow)
    let tag = value.tag.map { "\"\($0)\"" }
    if let differs = options.condition?.differs, value.json != Array("null".utf8),
      !WriteCondition(differs: differs).holds(exists: true, tag: value.tag)
    {
      return Response(status: .notModified, headers: tag.map { [.eTag: $0] } ?? [:])
    }
    var response = Self.reply(value.json, options.print, holding: value.memory)
    if let tag { response.headers[.eTag] = tag }
    return response
  }

  private func put(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await access(request, context)
    let (path, options) = (try Self.path(request), try TreeOptions(request))
    let value = try await Self.value(request)
    try await tree.write(.put(value), access.customer, app: app, at: path, if: options.condition)
    return Self.reply(value.json, options.print)
  }

  private func patch(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await access(request, context)
    let (path, options) = (try Self.path(request), try TreeOptions(request))
    let value = try await Self.value(request)
    guard case .object(let children) = value else {
      throw HTTPErrorResponse.badRequest("The body must be an object: the children to replace.")
    }
    try await tree.write(.patch(children), access.customer, app: app, at: path, if: options.condition)
    return Self.reply(value.json, options.print)
  }

  private func post(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await access(request, context)
    let (path, options) = (try Self.path(request), try TreeOptions(request))
    guard options.condition == nil else {
      throw HTTPErrorResponse.badRequest(
        "If-Match and If-None-Match mean nothing where the hub makes the child's name.")
    }
    let child = DataTreeChild(name: Self.childName(at: Date()))
    try await tree.write(
      .put(try await Self.value(request)), access.customer, app: app, at: try path.child(child.name))
    return Self.reply(Array(try JSONReply.encode(child)), options.print)
  }

  private func remove(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await access(request, context)
    let (path, options) = (try Self.path(request), try TreeOptions(request))
    try await tree.write(.put(.null), access.customer, app: app, at: path, if: options.condition)
    return Self.reply(Array("null".utf8), options.print)
  }

  /// - Parameter memory: of a large value, which is shown as it is.
  private static func reply(
    _ json: [UInt8], _ print: TreeOptions.Print?, holding memory: (any AnyObject & Sendable)? = nil
  ) -> Response {
    if print == .silent { return Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
    let shown = print == .pretty && memory == nil ? PrettyJSON.bytes(json) : json
    return JSONReply.make(bytes: ByteBuffer(bytes: shown), holding: memory)
  }

  private static func value(_ request: Request) async throws -> JSONValue {
    let bytes = try await request.jsonBytes(upTo: DataTree.longestValue)
    return try JSONValue(json: Array(bytes.readableBytesView), rules: DataTreePath.rules)
  }

  /// The place that the path names behind `/data`, name by name: what the router made of it has lost empty ones.
  private static func path(_ request: Request) throws -> DataTreePath {
    var parts = request.uri.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(5)
    if parts == [""] { parts = [] }
    return try DataTreePath(
      names: try parts.map { part in
        guard let name = PercentEncoding.decode(part.utf8) else {
          throw HTTPErrorResponse.badRequest("path: the path is not percent-encoded UTF-8.")
        }
        return name
      })
  }

  /// 12 digits of milliseconds and 12 random ones, hexadecimal: later names sort after earlier ones.
  private static func childName(at moment: Date) -> String {
    let time = UInt64(max(0, moment.timeIntervalSince1970 * 1000)) & 0xFFFF_FFFF_FFFF
    let chance = UInt64.random(in: 0..<1 << 48)
    return [time, chance].map { number in
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 12 - digits.utf8.count) + digits
    }.joined()
  }

  // MARK: Subscriptions

  private func listSubscriptions(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await access(request, context)
    let page = try QueryParameters(request, known: ["after", "limit"]).page(SubscriptionID.self)
    return try authenticator.reply(try await subscriptions.list(access.customer, app: app, page), to: access)
  }

  private func subscribe(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await accessWithoutOptions(request, context)
    let body = try await request.json(SubscriptionRequest.self)
    return try JSONReply.make(.ok, try await subscriptions.add(access.customer, app: app, body))
  }

  private func unsubscribe(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await accessWithoutOptions(request, context)
    let id: SubscriptionID = try context.number("subscriptionId")
    return try JSONReply.make(.ok, try await subscriptions.remove(access.customer, app: app, id))
  }

  // MARK: Settings

  private func showSettings(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await accessWithoutOptions(request, context)
    return try JSONReply.make(
      .ok, DataTreeSettings(webhooks: try await webhooks.settings(access.customer, app: app).shown))
  }

  private func saveWebhooks(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (access, app) = try await accessWithoutOptions(request, context)
    let settings = try await request.json(WebhookSettings.self)
    return try await changes.change(access, context) { change in
      try await change.saveWebhooks(settings, app: app, in: webhooks, rule: rule)
    }
  }
}
