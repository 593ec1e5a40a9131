public import Content
public import Delivery
import HTTPTypes
import Hummingbird
import NIOCore
import Registry
public import Sendouts

/// What a phone fetches without any credentials but the token in the link: the rich page at `/c/{token}`, and `/r/{token}`,
/// which says that a push was read.
///
/// A token that this hub did not sign, one of a push that is gone, and a page of a phone that changed hands all get the same
/// plain 404.
public struct PageFace: Face {
  private let pages: RichPages
  private let opens: Opens
  private let signer: LinkSigner
  private let replies: PageReplies

  public init(_ pages: RichPages, opens: Opens, signer: LinkSigner, settings: PageSettings = PageSettings()) {
    self.pages = pages
    self.opens = opens
    self.signer = signer
    replies = PageReplies(settings)
  }

  public func addRoutes(to routes: RouteTable) {
    for method in [HTTPRequest.Method.get, .head] {
      routes.on("/c/{token}", method: method) { request, context in
        try await answer(request, context, .page) { try await show($0, to: $1) }
      }
      routes.on("/r/{token}", method: method) { request, context in
        try await answer(request, context, .read) { try await markRead($0, by: $1) }
      }
    }
  }

  private func answer(
    _ request: Request, _ context: SiteContext, _ kind: PushLink.Kind,
    _ body: (PushLink, Open.Reader) async throws -> Response
  ) async throws -> Response {
    guard let token = context.parameters["token"], let link = signer.verify(String(token), kind) else {
      return replies.notFound
    }
    do {
      return try await body(link, KnownMachines.reader(of: request))
    } catch {
      guard ErrorReplies.refusal(for: error)?.status == .serviceUnavailable else { throw error }
      return replies.unavailable
    }
  }

  private func show(_ link: PushLink, to reader: Open.Reader) async throws -> Response {
    try await pages.open(link, by: reader).map(replies.page) ?? replies.notFound
  }

  private func markRead(_ link: PushLink, by reader: Open.Reader) async throws -> Response {
    try await opens.record(Open(link, via: .pushreadurl, by: reader)) == nil ? replies.notFound : replies.read
  }
}
