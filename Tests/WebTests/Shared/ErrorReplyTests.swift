import Delivery
import HTTPTypes
import Operations
import Postgres
import Registry
import Sendouts
import Testing
import Web
import Wire

@Suite struct ErrorReplyTests {
  @Test(arguments: [
    (DeliveryError.opensOverflow as any Error, HTTPErrorResponse.busy), (CancellationError(), .busy),
    (PostgresError.timedOut(statement: "s"), .timedOut),
    (PostgresError.server(ServerError(sqlState: "40P01", message: "deadlock", statement: "s")), .busy),
    (PostgresError.unavailable("away"), .unavailable), (PostgresError.busy("full"), .busy),
    (PostgresError.connectionLost(statement: "s"), .unavailable),
    (PostgresError.unknownOutcome(statement: "s"), .outcomeUnknown),
  ])
  func `Only a database that is away is told to be away`(error: any Error, refusal: HTTPErrorResponse) {
    #expect(ErrorReplies.response(for: error) == refusal)
  }

  @Test func `A filter that takes too long is told as such, with what to do`() {
    let reply = ErrorReplies.response(for: RegistryError.filterTooSlow(instead: "Set exact to true."))
    #expect(reply?.status == .unprocessableContent)
    #expect(
      reply?.sentence == "filter took the database longer than it may, so nothing was done. Set exact to true.")
  }

  /// As they are printed, of services with one way to sign in and with two.
  private static let commands: [AppType: [String]] = [
    .ios: [
      "app update 3 --customer 7 --team-id ID --key-id ID --signing-key FILE",
      "app update 3 --customer 7 --production-certificate FILE --certificate-password-file FILE",
    ],
    .huawei: [
      "app update 3 --customer 7 --client-id ID --client-secret-file FILE",
      "app update 3 --customer 7 --service-account FILE",
    ],
    .web: ["app update 3 --customer 7 --vapid-private-key-file FILE"],
    .sms: ["sms set --customer 7 --provider cm --product-token-file FILE --sender NAME"],
  ]

  @Test(arguments: AppType.allCases)
  func `An app without credentials is refused with the commands that add them`(type: AppType) {
    let command = type == .sms ? "sms set --customer 7" : "app update 3 --customer 7"
    let commands = type.service.signIns.compactMap(\.options).map { "\(command) \($0)" }
    #expect(!commands.isEmpty && commands == Self.commands[type] ?? commands)
    let error = SendoutError.appWithoutCredentials(CustomerID(7), PushAppID(3), appID: "a.b", type, field: "thing")
    let path = type == .sms ? "PUT /api/v1/sms" : "PATCH /api/v1/apps/3"
    let choices = commands.map { "pushcart \($0)" }.joined(separator: ", or by ")
    #expect(
      ErrorReplies.response(for: error)
        == .conflict(
          "App a.b (\(type.platform)) has no thing, so nothing can be sent to it. Add its credentials by \(path), or by \(choices)."
        ))
  }
}
