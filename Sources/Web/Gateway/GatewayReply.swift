import HTTPTypes
import Hummingbird
import Hybrid
import Operations
import Wire

/// The gateway's replies, byte for byte as CM's gateway writes them.
enum GatewayReply {
  /// The status 200, or 400 where nothing was created, and what became of each message.
  static func json(_ items: [GatewayCheck.Item], _ results: [Result<Int, GatewayRefusal>]) -> Response {
    let created = results.count { (try? $0.get()) != nil }
    var json = JSONWriter(capacity: 128 + 160 * items.count)
    json.open("{")
    json.member("details", "Created \(created) message(s)")
    json.member("errorCode", created == results.count ? 0 : 201)
    json.name("messages")
    json.open("[")
    for (item, result) in zip(items, results) {
      json.open("{")
      json.member("to", item.number.briefly)
      switch result {
      case .success(let parts):
        json.member("status", "Accepted")
        json.member("reference", item.reference?.briefly)
        json.member("parts", parts)
        json.member("messageDetails", nil as String?)
        json.member("messageErrorCode", 0)
      case .failure(let refusal):
        json.member("status", "Rejected")
        json.member("reference", item.reference?.briefly)
        json.member("parts", 0)
        json.member("messageDetails", refusal.details)
        json.member("messageErrorCode", refusal.code)
      }
      json.close("}")
    }
    json.close("]")
    json.close("}")
    return JSONReply.make(created > 0 ? .ok : .badRequest, json: json.bytes)
  }

  /// The refusal of a whole request.
  static func json(_ problem: GatewayProblem) -> Response {
    switch problem {
    case .malformed(let sentence): json(202, sentence)
    case .badCount(let sentence): json(203, sentence)
    }
  }

  static let jsonUnauthenticated = json(101, noAccount)

  /// What the hub could not carry out has its status, and CM's code for errors that pass or for malformed requests.
  static func json(_ failure: HTTPErrorResponse) -> Response {
    json(failure.status.code >= 500 ? 500 : 202, failure.sentence).with(failure)
  }

  static func xml(_ failure: HTTPErrorResponse) -> Response { xmlError(failure.sentence).with(failure) }

  private static func json(_ code: Int, _ details: String) -> Response {
    var json = JSONWriter()
    json.open("{")
    json.member("details", details)
    json.member("errorCode", code)
    json.name("messages")
    json.raw("[]")
    json.close("}")
    return JSONReply.make(.badRequest, json: json.bytes)
  }

  /// Nothing, or the first refusal: then nothing was sent.
  static func xml(_ results: [Result<Int, GatewayRefusal>]) -> Response {
    for case .failure(let refusal) in results { return xmlError(refusal.xmlText) }
    return .text("")
  }

  static func xml(_ problem: GatewayProblem) -> Response { xmlError(problem.sentence) }

  /// - Parameter token: as it came.
  static func xmlUnauthenticated(_ token: String?) -> Response {
    xmlError([0, 36].contains(token?.utf8.count ?? 0) ? noAccount : "Invalid product token.")
  }

  private static let noAccount = "No account found for the given authentication"

  private static func xmlError(_ sentence: String) -> Response { .text("Error: ERROR \(sentence)") }
}

extension Response {
  /// The reply with the status and the headers of what the hub could not carry out.
  fileprivate func with(_ failure: HTTPErrorResponse) -> Response {
    var response = self
    response.status = failure.status
    response.headers.append(contentsOf: failure.headers)
    return response
  }
}
