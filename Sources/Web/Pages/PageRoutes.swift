public import Content
public import Delivery
import HTTPTypes
import Hummingbird
import NIOCore
import Registry
public import Sendouts

/// How rich pages are served.
public struct PageSettings: Sendable {
  /// Who may show a page in a frame, as `frame-ancestors` of Content-Security-Policy takes it: `'none'`, or origins
  /// such as `http://localhost:8081`.
  public var frameAncestors = "'none'"
  /// Most requests a second with the links of one push; 0 for any number.
  public var requestsPerLink = 1000

  public init() {}
}

/// Serves phones, whose only credential is the token in the link: the rich page at `/c/{token}`, and `/r/{token}`, which
/// reports that a push was read.
///
/// Three cases get the same reply: a token that no key of this hub signed, a push that is gone, and a phone that changed hands. It is a plain
/// 404. A push of a contact that was erased is gone for good: 410.
public struct PageRoutes: RouteSet {
  private let pages: RichPageService
  private let opens: Opens
  private let signer: LinkSigner
  private let replies: PageReplies
  private let rate: RateLimit<PushLink>

  public init(_ pages: RichPageService, opens: Opens, signer: LinkSigner, settings: PageSettings = PageSettings()) {
    self.pages = pages
    self.opens = opens
    self.signer = signer
    replies = PageReplies(settings)
    rate = RateLimit(settings.requestsPerLink)
  }

  public func addRoutes(to routes: RouteTable) {
    for method in [HTTPRequest.Method.get, .head] {
      routes.fast(method, "/c/{token}", bound: .noKey, use: show)
      routes.fast(method, "/r/{token}", bound: .noKey, use: markRead)
    }
  }

  private func show(_ request: inout FastRequest, _ answer: @escaping FastCompletion) {
    guard let link = verified(request, .page, answer) else { return }
    pages.open(link, by: BotDetector.reader(request)) { [replies] page in
      answer { try replies.reply(to: page) { $0.map { replies.page($0.render()) } } }
    }
  }

  private func markRead(_ request: inout FastRequest, _ answer: @escaping FastCompletion) {
    guard let link = verified(request, .read, answer) else { return }
    opens.record(Open(link, via: .pushreadurl, by: BotDetector.reader(request))) { [replies] contact in
      answer { try replies.reply(to: contact) { $0 == nil ? nil : replies.read } }
    }
  }

  /// The push that the request's link is for; nil if the request is answered already: the link is none, or is used too often.
  private func verified(_ request: FastRequest, _ kind: PushLink.Kind, _ answer: @escaping FastCompletion) -> PushLink?
  {
    guard let link = signer.verify(String(request.parameters[0]), kind) else {
      answer { [replies] in replies.notFound }
      return nil
    }
    if let error = rate.refusal(of: link) {
      answer { [replies] in replies.tooManyRequests(error) }
      return nil
    }
    return link
  }
}
