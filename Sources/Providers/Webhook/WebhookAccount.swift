import Wire

/// A customer's webhooks: addresses of back ends, which get what a phone's app would get as a JSON object.
///
/// There is no service in between that would sign in, so nothing can be checked, and no address says anything of another.
struct WebhookAccount: PushAccount {
  let customer: CustomerID
  /// The value of `X-webcom-webhook-token`.
  let token: String?
  let poster: Poster

  var service: String { WebhookDescription.name }
  var environments: [PushEnvironment] { [.production] }
  var outageEvidence: OutageEvidence { .none }

  /// - Parameter push: its token is the address.
  func prepare(_ push: OutgoingPush) -> PreparedPush {
    poster.prepare(
      JSONPost(
        to: push.token, push.message.literalData?.json ?? push.message.fieldsAsJSON,
        headers: token.map { [("x-webcom-webhook-token", $0)] } ?? []))
  }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    request.preview(authorization: "none", size: request.body.count, limit: Poster.limit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    poster.send(requests, of: customer, while: isWanted)
  }

  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    .unasked(reason: "webhooks have no credentials")
  }
}
