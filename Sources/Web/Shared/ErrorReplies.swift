import Content
import Delivery
import Hummingbird
import NIOCore
import Registry
import Sendouts

/// The one place that gives every room's errors a status and a sentence.
enum ErrorReplies {
  /// - Returns: `nil` for an error that nobody expected: the caller answers 500 and logs it.
  static func refusal(for error: any Error) -> Refusal? {
    switch error {
    case let refusal as Refusal: refusal
    case let error as DecodingError: Refusal.badRequest(sentence(for: error))
    case is NIOTooManyBytesError: .tooLarge(limit: Limits.body)
    case let error as HTTPError: refusal(for: error)
    case is CancellationError: .unavailable
    default: nil
    }
  }

  private static func refusal(for error: HTTPError) -> Refusal {
    error.status == .notFound
      ? .notFound("There is nothing at this path.")
      : Refusal(error.status, error.body ?? error.status.reasonPhrase, headers: error.headers)
  }

  /// Names the field, never its value.
  private static func sentence(for error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing."
    case .valueNotFound(_, let context): "\(path(context.codingPath)) must not be null."
    case .typeMismatch(_, let context): "\(path(context.codingPath)) is of the wrong type."
    case .dataCorrupted(let context):
      context.codingPath.isEmpty
        ? "The body is not well-formed JSON." : "\(path(context.codingPath)): \(context.debugDescription)"
    @unknown default: "The body cannot be read."
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    keys.reduce("") { path, key in
      key.intValue.map { "\(path)[\($0)]" } ?? (path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)")
    }
  }
}
