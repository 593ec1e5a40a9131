import Testing
import Wire

@Suite struct MultipartParserTests {
  private static let type = "multipart/form-data; boundary=----b0und"

  private func read(
    _ form: String, _ type: String = type, limits: MultipartParser.Limits = .init()
  ) throws -> [MultipartParser.Event] {
    var parser = try #require(MultipartParser(contentType: type, limits: limits))
    let events = try parser.read(form.replacing("\n", with: "\r\n").utf8)
    try parser.finish()
    return events
  }

  @Test func `Fields and files come with their names, and files with the names that they have elsewhere`() throws {
    let events = try read(
      """
      ------b0und
      Content-Disposition: form-data; name="csrf"

      token
      ------b0und
      content-disposition: form-data; name="key"; filename="C:\\a%22;b\u{E9}.p8"
      Content-Type: application/octet-stream

      one
      two

      ------b0und
      Content-Disposition: form-data; name="none"; filename=""


      ------b0und--

      """)
    let file = MultipartParser.Part(
      name: "key", fileName: "C:\\a\";b\u{E9}.p8", contentType: "application/octet-stream")
    #expect(
      events == [
        .part(.init(name: "csrf")), .bytes(Array("token".utf8)), .part(file), .bytes(Array("one\r\ntwo\r\n".utf8)),
        .part(.init(name: "none", fileName: "")),
      ])
  }

  @Test(arguments: [
    ("multipart/form-data; boundary=a", true), ("Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b\"", true),
    ("multipart/form-data", false), ("multipart/form-data; boundary=", false), ("multipart/mixed; boundary=a", false),
    ("multipart/form-data; boundary=\"a\u{E9}\"", false), ("multipart/form-data; boundary=\"a", false),
    ("multipart/form-data; boundary=a; boundary=b", false), ("application/json", false),
    ("multipart/form-data; boundary=\(String(repeating: "a", count: 70))", true),
    ("multipart/form-data; boundary=\(String(repeating: "a", count: 71))", false),
  ])
  func `A content type needs a boundary of 1 to 70 characters`(_ type: String, _ isRead: Bool) {
    #expect((MultipartParser(contentType: type) != nil) == isRead)
  }

  private static let head = "------b0und\nContent-Disposition: form-data; name=\"a\""

  @Test(arguments: [
    ("", "ends before"), ("x", "does not begin"), ("\n------b0und--", "does not begin"), ("------b0und", "ends before"),
    ("------b0undxy", "something behind"), ("\(head)\n\n1", "ends before"),
    ("\(head)\n\n1\n------b0und", "ends before"),
    ("\(head)\n\n1\n------b0und--x", "goes on"), ("\(head)\n\n1\n------b0und--\n\n", "goes on"),
    ("\(head)\n------b0und--\n\n\n------b0und--", "none"), ("\(head)\n\n------b0und--", "without an empty line"),
    ("------b0und\n\n1\n------b0und--", "ends before"), ("------b0und\nX: y\n\n1\n------b0und--", "without a name"),
    ("------b0und\nContent-Disposition: attachment; name=\"a\"\n\n1\n------b0und--", "not form-data"),
    ("\(head)\nContent-Disposition: form-data; name=\"b\"\n\n1\n------b0und--", "not form-data"),
    ("\(head)\nContent-Transfer-Encoding: base64\n\n1\n------b0und--", "Transfer-Encoding"),
    ("\(head)\n folded\n\n1\n------b0und--", "none"), ("\(head)\nX: \u{1}\n\n1\n------b0und--", "none"),
    ("------b0und\nContent-Disposition: form-data; name=\"\"\n\n1\n------b0und--", "a name of none"),
    (
      "------b0und\nContent-Disposition: form-data; name=\"\(String(repeating: "n", count: 129))\"\n\n1\n------b0und--",
      "a name of"
    ),
  ])
  func `What is no such form is refused with a reason`(_ form: String, _ reason: String) {
    let problem = #expect(throws: MultipartParser.Problem.self) { _ = try read(form) }
    #expect(problem?.problem.contains(reason) == true, "\(problem?.problem ?? "")")
  }

  @Test func `Parts and their headers are limited, and so is what the parser keeps`() throws {
    let form = String(repeating: "\(Self.head)\n\n1\n", count: 3) + "------b0und--"
    #expect(try read(form, limits: .init(parts: 3)).count == 6)
    #expect(throws: MultipartParser.Problem.self) { _ = try read(form, limits: .init(parts: 2)) }
    #expect(throws: MultipartParser.Problem.self) { _ = try read(form, limits: .init(headers: 30)) }

    // A header that never ends is refused before it is whole.
    var parser = try #require(MultipartParser(contentType: Self.type))
    _ = try parser.read("------b0und\r\nX: ".utf8)
    #expect(throws: MultipartParser.Problem.self) {
      for _ in 0..<100 { _ = try parser.read(String(repeating: "x", count: 100).utf8) }
    }
  }

  @Test func `Bytes of a file come as soon as they cannot begin the boundary`() throws {
    var parser = try #require(MultipartParser(contentType: Self.type))
    _ = try parser.read("\(Self.head)\n\n".replacing("\n", with: "\r\n").utf8)
    #expect(try parser.read("abc".utf8) == [.bytes(Array("abc".utf8))])
    #expect(try parser.read("d\r\n----".utf8) == [.bytes(Array("d".utf8))])
    #expect(try parser.read("--x".utf8) == [.bytes(Array("\r\n------x".utf8))])
    #expect(try parser.read("\r".utf8).isEmpty)
    #expect(try parser.read("\n------b0und--".utf8).isEmpty)
    try parser.finish()
  }
}
