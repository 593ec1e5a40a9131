import HTTPTypes
import Operations
import Wire

/// The API's description as a page for people: one HTML document without scripts or resources from elsewhere.
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
    \(HTML.prose(description.description))
    <p>The same description as OpenAPI 3.1 is <a href="/openapi.json">/openapi.json</a>. In the commands below, \
    <code>$PUSHCART_KEY</code> is an access key.</p>
    </header>
    \(APIOperation.Tag.all.map(section).joined(separator: "\n"))
    <section id="schemas">
    <h2>Schemas</h2>
    \(description.schemas.map(schemaSection).joined(separator: "\n"))
    </section>
    </main>
    </body>
    </html>
    """
  }

  private func operations(of tag: APIOperation.Tag) -> [APIOperation] {
    description.operations.filter { $0.tag == tag }
  }

  private var navigation: String {
    let sections = APIOperation.Tag.all.map { tag in
      let links = operations(of: tag).map {
        "<li><a href=\"#\($0.id)\">\(badge($0.method)) \($0.summary.htmlEscaped)</a></li>"
      }
      return """
        <a class="tag" href="#\(anchor(tag))">\(tag.name.htmlEscaped)</a>
        <ul>\(links.joined())</ul>
        """
    }
    return """
      <nav aria-label="Contents">
      <a class="home" href="#">\(description.title.htmlEscaped)</a>
      \(sections.joined(separator: "\n"))
      <a class="tag" href="#schemas">Schemas</a>
      </nav>
      """
  }

  private func section(_ tag: APIOperation.Tag) -> String {
    """
    <section id="\(anchor(tag))">
    <h2>\(tag.name.htmlEscaped)</h2>
    \(HTML.prose(tag.description))
    \(operations(of: tag).map(operationSection).joined(separator: "\n"))
    </section>
    """
  }

  private func anchor(_ tag: APIOperation.Tag) -> String {
    "tag-" + tag.name.lowercasedASCII.replacing(" ", with: "-")
  }

  func badge(_ method: HTTPRequest.Method) -> String {
    "<b class=\"method \(method.rawValue.lowercasedASCII)\">\(method.rawValue)</b>"
  }
}
