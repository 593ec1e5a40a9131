import HTTPTypes
import Wire

/// The site's description as a page for people: one HTML document without scripts or anything fetched from elsewhere.
struct ReferencePage {
  let description: APIDescription
  let publicURL: String

  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(description.title.htmlEscaped) API</title>
    <style>\(ReferenceStyle.css)</style>
    </head>
    <body>
    \(navigation)
    <main>
    <header>
    <h1>\(description.title.htmlEscaped) <small>API</small></h1>
    \(HTML.prose(description.about))
    <p>The same as OpenAPI 3.1: <a href="/openapi.json">/openapi.json</a>. In the commands below, \
    <code>$PUSHCART_KEY</code> is an access key.</p>
    </header>
    \(description.topics.map(chapter).joined(separator: "\n"))
    <section class="chapter" id="schemas">
    <h2>Bodies</h2>
    \(description.schemas.map(schemaSection).joined(separator: "\n"))
    </section>
    </main>
    </body>
    </html>
    """
  }

  private func operations(of topic: Operation.Topic) -> [Operation] {
    description.operations.filter { $0.topic == topic }
  }

  private var navigation: String {
    let topics = description.topics.map { chapter in
      let links = operations(of: chapter.topic).map {
        "<li><a href=\"#\($0.id)\">\(badge($0.method)) \($0.summary.htmlEscaped)</a></li>"
      }
      return """
        <a class="topic" href="#\(anchor(chapter.topic))">\(chapter.topic.rawValue.htmlEscaped)</a>
        <ul>\(links.joined())</ul>
        """
    }
    return """
      <nav aria-label="Contents">
      <a class="home" href="#">\(description.title.htmlEscaped)</a>
      \(topics.joined(separator: "\n"))
      <a class="topic" href="#schemas">Bodies</a>
      </nav>
      """
  }

  private func chapter(_ chapter: APIDescription.Chapter) -> String {
    """
    <section class="chapter" id="\(anchor(chapter.topic))">
    <h2>\(chapter.topic.rawValue.htmlEscaped)</h2>
    \(HTML.prose(chapter.about))
    \(operations(of: chapter.topic).map(operationSection).joined(separator: "\n"))
    </section>
    """
  }

  private func anchor(_ topic: Operation.Topic) -> String {
    "topic-" + topic.rawValue.lowercased().replacing(" ", with: "-")
  }

  func badge(_ method: HTTPRequest.Method) -> String {
    "<b class=\"method \(method.rawValue.lowercased())\">\(method.rawValue)</b>"
  }
}
