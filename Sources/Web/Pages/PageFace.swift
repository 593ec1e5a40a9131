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
      routes.on("/c/{token}", method: method) { request, context in try await show(request, context) }
    }
    routes.quick("/r/", "token", answer: markRead)
  }

  private func show(_ request: Request, _ context: SiteContext) async throws -> Response {
    guard let token = context.parameters["token"], let link = signer.verify(String(token), .page) else {
      return replies.notFound
    }
    do {
      let page = try await pages.open(link, by: KnownMachines.reader(request.method, .fields(request.headers)))
      return page.map(replies.page) ?? replies.notFound
    } catch {
      return try unavailable(error)
    }
  }

  private func markRead(_ request: QuickRequest, _ answer: @escaping @Sendable (Result<Response, any Error>) -> Void) {
    guard let link = signer.verify(String(request.word), .read) else { return answer(.success(replies.notFound)) }
    let reader = KnownMachines.reader(request.method, request.headers)
    opens.record(Open(link, via: .pushreadurl, by: reader)) { result in
      switch result {
      case .success(let contact): answer(.success(contact == nil ? replies.notFound : replies.read))
      case .failure(let error): answer(Result { try unavailable(error) })
      }
    }
  }

  /// - Throws: `error`, unless it is one that passes.
  private func unavailable(_ error: any Error) throws -> Response {
    guard ErrorReplies.refusal(for: error)?.status == .serviceUnavailable else { throw error }
    return replies.unavailable
  }
}
