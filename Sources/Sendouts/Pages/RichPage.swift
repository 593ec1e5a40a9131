import Content
import Delivery
import Registry

/// A rich page, rendered for one recipient.
public struct RichPage: Sendable, Equatable {
  /// Media type with its parameters.
  public let contentType: String
  /// In UTF-8.
  public let body: [UInt8]
}

/// What the pages of a sendout are made from.
struct PageTemplateContext: Sendable {
  let source: PageSource
  let template: PageTemplate
}

/// A page that was opened and may be shown.
public struct OpenedPage: Sendable {
  let paper: PageTemplateContext
  let recipient: Recipient
  let link: PushLink
  let links: PublicLinks

  public func render() -> RichPage {
    let (source, template) = (paper.source, paper.template)
    var context = PageContext(recipient, app: source.app, sendout: source.sendout)
    if template.namesLinks || source.message.namesLinks {
      context.url = links.page(link)
      context.pushreadurl = links.read(link)
    }
    source.message.fill(&context)
    return RichPage(contentType: template.format.contentType, body: template.bytes(for: context))
  }
}
