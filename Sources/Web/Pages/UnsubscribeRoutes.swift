public import Content
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
public import Registry
import Wire

/// `/u/{token}`: where people end marketing, and begin it again. The token in the address is the only credential.
///
/// A GET only shows, as scanners of messages fetch every link. A POST with the body `List-Unsubscribe=One-Click` suppresses, be it the page's
/// button or a program (RFC 8058); `subscribe=again` takes that back. Both can be repeated. No cookie and no script is needed.
public struct UnsubscribeRoutes: RouteSet {
  private let suppressions: Suppressions
  private let customers: Customers
  private let signer: LinkSigner
  private let replies: PageReplies
  private let rate: RateLimit<ContactLink>

  /// Most bytes of a POST, which programs may send as a form of several parts.
  static let bodyLimit = 16 * 1024

  public init(
    _ suppressions: Suppressions, customers: Customers, signer: LinkSigner, settings: PageSettings = PageSettings()
  ) {
    self.suppressions = suppressions
    self.customers = customers
    self.signer = signer
    var settings = settings
    // Nobody's page shows this one in a frame, and has people press its button.
    settings.frameAncestors = "'none'"
    replies = PageReplies(settings, formAction: "'self'")
    rate = RateLimit(settings.requestsPerLink)
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/u/{token}", bound: .noKey, use: show)
    routes.add(.post, "/u/{token}", bound: .noKey, use: change)
  }

  @Sendable private func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await answer(context) { link in try await suppressions.subscription(of: link.contact, link.customer) }
  }

  @Sendable private func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await answer(context) { link in
      let body = Array(try await request.bytes(upTo: Self.bodyLimit).readableBytesView)
      guard let isSubscribed = Self.asksToSubscribe(body, request.headers[.contentType]) else {
        throw HTTPErrorResponse.noSubscriptionChoice
      }
      return try await suppressions.change(link.contact, link.customer, isSubscribed: isSubscribed)
    }
  }

  private func answer(
    _ context: WebRequestContext, _ subscription: (ContactLink) async throws -> Suppressions.Subscription
  ) async throws -> Response {
    guard let token = context.parameters["token"], let link = signer.verify(contact: String(token)) else {
      return replies.notFound
    }
    if let error = rate.refusal(of: link) { return replies.tooManyRequests(error) }
    do {
      let page = UnsubscribePage(try await subscription(link), of: try await customers.find(link.customer)?.name)
      return replies.page(page.html, status: page.status)
    } catch {
      guard ErrorReplies.response(for: error)?.status == .serviceUnavailable else { throw error }
      return replies.unavailable
    }
  }

  /// Whether a body asks for marketing, or for none; `nil` for any other body.
  static func asksToSubscribe(_ body: [UInt8], _ contentType: String?) -> Bool? {
    if FormFields.isType(contentType) {
      guard let form = try? FormFields(body) else { return nil }
      if form["List-Unsubscribe"] == "One-Click" { return false }
      return form["subscribe"] == "again" ? true : nil
    }
    // A form of several parts, as RFC 8058 allows.
    guard contentType?.lowercasedASCII.hasPrefix("multipart/form-data") == true else { return nil }
    let isOneClick =
      body.contains("name=\"List-Unsubscribe\"".utf8) && body.contains("\r\n\r\nOne-Click\r\n".utf8)
    return isOneClick ? false : nil
  }
}

extension HTTPErrorResponse {
  static let noSubscriptionChoice = badRequest(
    "The body must be List-Unsubscribe=One-Click, or subscribe=again, as a form.")
}
