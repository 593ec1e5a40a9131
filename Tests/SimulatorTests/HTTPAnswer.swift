import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Wire

/// What a server answered to an independent client.
struct HTTPAnswer {
  var status: Int
  var headers: HTTPHeaders
  var text: String

  /// The body as JSON; null if it is none.
  var json: JSONValue { (try? JSONValue(json: Array(text.utf8))) ?? .null }
  var retryAfter: String? { header("retry-after") }

  func header(_ name: String) -> String? { headers.first(name: name) }
}

extension HTTPClient {
  /// Sends a request, and reads the whole answer.
  func ask(
    _ method: HTTPMethod, _ url: String, _ headers: [(String, String)] = [], _ body: [UInt8]? = nil
  ) async throws -> HTTPAnswer {
    var request = HTTPClientRequest(url: url)
    request.method = method
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
    let response = try await execute(request, timeout: .seconds(600))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
    return HTTPAnswer(status: Int(response.status.code), headers: response.headers, text: text)
  }
}
