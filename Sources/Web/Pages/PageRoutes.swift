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
public struct PageRoutes: RouteSet {
  private let pages: RichPageService
  private let opens: Opens
  private let signer: LinkSigner
  private let replies: PageReplies

  public init(_ pages: RichPageService, opens: Opens, signer: LinkSigner, settings: PageSettings = PageSettings()) {
    self.pages = pages
    self.opens = opens
    self.signer = signer
    replies = PageReplies(settings)
  }

  public func addRoutes(to routes: RouteTable) {
    routes.quick("/c/{token}", answer: show)
    routes.quick("/r/{token}", answer: markRead)
  }

  private func show(_ request: QuickRequest, _ answer: @escaping QuickAnswer) {
    guard let link = signer.verify(String(request.words[0]), .page) else {
      return answer { [replies] in replies.notFound }
    }
    pages.open(link, by: BotDetector.reader(request)) { [replies] page in
      answer { try replies.reply(to: page) { $0.map { replies.page($0.render()) } } }
    }
  }

  private func markRead(_ request: QuickRequest, _ answer: @escaping QuickAnswer) {
    guard let link = signer.verify(String(request.words[0]), .read) else {
      return answer { [replies] in replies.notFound }
    }
    opens.record(Open(link, via: .pushreadurl, by: BotDetector.reader(request))) { [replies] contact in
      answer { try replies.reply(to: contact) { $0 == nil ? nil : replies.read } }
    }
  }
}
