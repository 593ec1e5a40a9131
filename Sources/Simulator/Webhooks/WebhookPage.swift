import Embedded
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Wire

/// The page that lists posts to webhooks, and the routes that say what the receiver trusts and answers, as JSON.
///
/// - `GET /webhooks`: the page, the newest post first.
/// - `POST /webhooks/secrets` with `{"secret":"whsec_…"}`; `DELETE /webhooks/secrets` forgets all.
/// - `POST /webhooks/answers` with `{"statuses":[500,410]}`: how the next posts are answered; those after them get 204.
struct WebhookPage: Sendable {
  let receiver: SimulatedWebhooks

  /// Most posts on the page.
  private static let length = 100

  private struct SecretBody: ClosedBody {
    enum CodingKeys: String, CodingKey, CaseIterable { case secret }
    var secret: String
  }

  private struct AnswersBody: ClosedBody {
    enum CodingKeys: String, CodingKey, CaseIterable { case statuses }
    var statuses: [Int]
  }

  func add(to router: Router<PhoneRequestContext>) {
    router.get("/webhooks") { _, _ in PhoneRoutes.reply(html, "text/html; charset=utf-8") }
    router.post("/webhooks/secrets") { request, _ in
      guard receiver.trust(try await RuleRoutes.read(SecretBody.self, request).secret) else {
        throw HTTPError(.badRequest, message: "secret must be as a hub shows it, as in whsec_….")
      }
      return Response(status: .noContent)
    }
    router.delete("/webhooks/secrets") { _, _ in
      receiver.distrust()
      return Response(status: .noContent)
    }
    router.post("/webhooks/answers") { request, _ in
      let statuses = try await RuleRoutes.read(AnswersBody.self, request).statuses
      guard statuses.allSatisfy((200...599).contains) else {
        throw HTTPError(.badRequest, message: "statuses must be from 200 to 599.")
      }
      receiver.answer(statuses)
      return Response(status: .noContent)
    }
  }

  private var html: String {
    let posts = receiver.received.suffix(Self.length).reversed().map { post in
      [
        "number": post.number, "at": Timestamp(post.at).description, "path": post.path, "id": post.id,
        "event": post.event ?? "unknown", "verdict": post.verdict.rawValue,
        "isVerified": post.verdict == .verified, "status": post.status == 0 ? "no answer" : "\(post.status)",
        "body": String(decoding: post.body, as: UTF8.self),
      ] as [String: Any]
    }
    return HTMLTemplates.simulator.render(
      "webhooks", ["posts": posts, "hasPosts": !posts.isEmpty, "url": receiver.url, "authority": receiver.authority])
  }
}
