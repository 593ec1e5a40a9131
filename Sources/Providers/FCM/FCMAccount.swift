import Wire

/// An app's account at FCM: a service account of its Firebase project. It cannot send yet.
struct FCMAccount: PushAccount {
  let credentials: GoogleServiceAccount

  var service: String { "FCM" }
  var environments: [PushEnvironment] { [.production] }

  func prepare(_ push: OutgoingPush) -> PreparedPush { .refused(.credentialsRefused(reason: "NotImplemented")) }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    AsyncStream { $0.finish() }
  }

  func check(_ environment: PushEnvironment) async -> CredentialVerdict { .unreachable(reason: "NotImplemented") }
}
