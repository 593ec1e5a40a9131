import Hummingbird
import Operations
import Registry

/// Sign-in by an OpenID provider: to it, and back from it.
extension ConsoleRoutes {
  func addOpenID(_ openID: OpenIDSignIn, to routes: RouteTable) {
    get("/console/sign-in/openid", routes) { visit in
      let next = visit.next(visit.query("next"))
      do {
        let begun = try await openID.begin(next: next.utf8.count > Self.longestNext ? nil : next)
        return ConsoleReply.see(
          begun.url, setting: [visit.setting(.openID, begun.cookie, for: OpenIDSignIn.lifetime)])
      } catch {
        guard let refusal = ErrorReplies.response(for: error) else { throw error }
        return askAgain(next: next, refusal, visit)
      }
    }
    get(OpenIDSignIn.callbackPath, routes) { visit in
      var reply: Response
      do {
        let answer = OpenIDSignIn.Answer(
          state: visit.query("state"), code: visit.query("code"), issuer: visit.query("iss"),
          error: visit.query("error"))
        let ended = try await openID.finish(answer, cookie: visit[.openID], from: visit.client)
        reply = entered(ended.session, visit, to: visit.next(ended.next))
      } catch {
        reply = try problem(error, visit, nil)
      }
      reply.headers.append(visit.setting(.openID, ""))
      return reply
    }
  }

  /// Bytes of a page's address that come along: a cookie has 4 KiB.
  private static var longestNext: Int { 1000 }
}
