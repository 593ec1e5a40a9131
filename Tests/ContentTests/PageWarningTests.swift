import Content
import Testing

/// What a template's author is told when it is saved.
@Suite struct PageWarningTests {
  private static let script = "Scripts and handlers such as onclick never run: pages are shown without them."

  @Test(arguments: [
    "<script>alert(1)</script>", "<SCRIPT src='https://a.b/c.js'></SCRIPT>", "<a href='javascript:x()'>x</a>",
    "<p onclick=\"x()\">", "<img src=a\n  onerror = 'x'>", "<body\tOnLoad=x>",
  ])
  func `A script never runs`(body: String) {
    #expect(PageTemplate.warnings(body, format: .html) == [Self.script])
    #expect(PageTemplate.warnings(body, format: .json) == [] && PageTemplate.warnings(body, format: .text) == [])
  }

  @Test(arguments: [
    "", "<p>Hi {{firstName}}</p>", "<p>from now on = later</p>", "a < b onclick=1", "<p on>x</p>", "<p one>x = 1</p>",
    "<style>p { color: red }</style><img src='https://a.b/c.png'>", "<", "< on", "<p o", "<p on",
  ])
  func `What works is not warned of`(body: String) {
    #expect(PageTemplate.warnings(body, format: .html) == [])
  }

  @Test func `Each thing that pages cannot do is told once`() {
    let body = "<form><form><iframe><video><link rel=stylesheet href=x><script></script><script></script>"
    #expect(PageTemplate.warnings(body, format: .xml).count == 4)
  }
}
