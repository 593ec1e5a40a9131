import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Testing
import Wire

@testable import Web

@Suite struct MultipartFormTests {
  private static let start = "--b\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\ntoken\r\n"
  private static let file = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n"

  private func request(_ body: RequestBody) -> Request {
    Request(
      head: HTTPRequest(
        method: .post, scheme: nil, authority: nil, path: "/",
        headerFields: [.contentType: "multipart/form-data; boundary=b"]), body: body)
  }

  private func request(_ text: String) -> Request { request(RequestBody(buffer: ByteBuffer(string: text))) }

  @Test func `A file's bytes come before the rest of it was sent`() async throws {
    let (portions, sending) = AsyncStream.makeStream(of: ByteBuffer.self)
    var parts = try MultipartForm(request(RequestBody(asyncSequence: portions)), upTo: 1000).makeAsyncIterator()
    sending.yield(ByteBuffer(string: Self.start + Self.file + "line 1\n"))
    let token = try #require(try await parts.field(upTo: 10))
    #expect(token.name == "csrf" && token.value == "token")
    #expect(try await parts.next() == .part(.init(name: "file", fileName: "a.csv")))
    #expect(try await parts.next() == .bytes(Array("line 1\n".utf8)))
    sending.yield(ByteBuffer(string: "line 2"))
    #expect(try await parts.next() == .bytes(Array("line 2".utf8)))
    sending.yield(ByteBuffer(string: "\r\n--b--\r\n"))
    sending.finish()
    #expect(try await parts.next() == nil)
  }

  @Test(arguments: [1, 2, 3, 7, 61])
  func `A file behind short fields comes as it is, whatever the pieces of the form`(piece: Int) async throws {
    let file = (1...200).map { "\($0);\r\n--a \r\n-" }.joined()
    let field = "--b\r\nContent-Disposition: form-data; name=\"mode\"\r\n\r\nadd\r\n"
    let whole = Array("\(Self.start)\(field)\(Self.file)\(file)\r\n\(Self.file)other\r\n--b--\r\n".utf8)
    let (portions, sending) = AsyncStream.makeStream(of: ByteBuffer.self)
    for start in stride(from: 0, to: whole.count, by: piece) {
      sending.yield(ByteBuffer(bytes: whole[start...].prefix(piece)))
    }
    sending.finish()
    let form = try MultipartForm(request(RequestBody(asyncSequence: portions)), upTo: whole.count)
    var parts = form.makeAsyncIterator()
    let (fields, part) = try await parts.fields(upTo: 10)
    #expect(fields.map(\.name) == ["csrf", "mode"] && fields.map(\.value) == ["token", "add"])
    var bytes: [UInt8] = []
    for try await chunk in UploadedFile(try #require(part), parts, length: nil) { bytes += chunk }
    #expect(String(decoding: bytes, as: UTF8.self) == file)
  }

  @Test func `A file that breaks off is not taken for a whole one`() async throws {
    var parts = try MultipartForm(request(Self.start + Self.file + "x\r\n--b"), upTo: 1000).makeAsyncIterator()
    let part = try #require(try await parts.fields(upTo: 10).file)
    await #expect(throws: HTTPErrorResponse.self) {
      for try await _ in UploadedFile(part, parts, length: nil) {}
    }
  }

  @Test func `What breaks off, is too large or is no form is refused`() async throws {
    let whole = Self.start + Self.file + "x\r\n--b--\r\n"
    #expect(try await MultipartForm(request(whole), upTo: whole.utf8.count).texts().map(\.value) == ["token", "x"])
    for (text, limit, status) in [
      (whole, whole.utf8.count - 1, 413), (Self.start + Self.file, 1000, 400), ("x" + whole, 1000, 400),
    ] {
      let error = await #expect(throws: HTTPErrorResponse.self) {
        try await MultipartForm(request(text), upTo: limit).texts()
      }
      #expect(error?.status.code == status, "\(error?.sentence ?? "")")
    }
    let short = await #expect(throws: HTTPErrorResponse.self) {
      var parts = try MultipartForm(request(whole), upTo: 1000).makeAsyncIterator()
      _ = try await parts.field(upTo: 4)
    }
    #expect(short?.sentence == "csrf has more than 4 bytes.")
  }

  @Test func `A file that is no text is in base64, and one that was not chosen is left out`() async throws {
    var body = ByteBuffer(string: Self.file)
    body.writeBytes([0xFF, 0x00])
    body.writeString("\r\n\(Self.file.replacing("a.csv", with: ""))\r\n--b--")
    let texts = try await MultipartForm(request(RequestBody(buffer: body)), upTo: 1000).texts()
    #expect(texts.map(\.name) == ["file"] && texts.map(\.value) == ["/wA="])
  }
}
