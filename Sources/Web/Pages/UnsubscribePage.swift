import Embedded
import HTTPTypes
import Hummingbird
import Mustache
import NIOCore
import Registry

/// The page of an `unsubscribeUrl`, in the states that it has.
struct UnsubscribePage: Sendable {
  /// Parsed once.
  private static let template: MustacheTemplate = {
    guard let file = EmbeddedFile.pages.first(where: { $0.name == "unsubscribe.html" }),
      let template = try? MustacheTemplate(string: HTMLTemplates.prepared(file.text))
    else { preconditionFailure("Templates/pages/unsubscribe.html is missing, or does not parse") }
    return template
  }()

  let status: HTTPResponse.Status
  private let title: String
  private let text: String
  /// The words on the button that ends marketing, and on the one that begins it again; `nil` for none.
  private var unsubscribe: String?
  private var subscribe: String?
  /// The customer's name.
  private let sender: String?

  /// - Parameter sender: the customer's name.
  init(_ subscription: Suppressions.Subscription, of sender: String?) {
    self.sender = sender
    switch subscription {
    case .subscribed:
      (status, title) = (.ok, "Do you want no more offers?")
      text = "You get news and offers as push messages. Messages that you need, such as receipts, still come."
      unsubscribe = "Unsubscribe"
    case .unsubscribed(let canReturn):
      (status, title) = (.ok, "You are unsubscribed")
      text = "You get no more news and offers."
      subscribe = canReturn ? "Subscribe again" : nil
    case .gone:
      (status, title) = (.gone, "There is nothing to unsubscribe")
      text = "You are not known here any more, so you get no messages."
    }
  }

  var html: String {
    let values: [String: Any?] = [
      "title": title, "text": text, "sender": sender, "unsubscribe": unsubscribe, "subscribe": subscribe,
    ]
    return Self.template.render(HTMLTemplates.escaped(values.compactMapValues(\.self)) ?? [:])
  }
}
