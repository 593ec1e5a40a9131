import Delivery
import Postgres
import Registry
import Testing
import Web

@Suite struct ErrorReplyTests {
  @Test(arguments: [
    (DeliveryError.opensOverflow as any Error, HTTPErrorResponse.busy), (CancellationError(), .busy),
    (PostgresError.timedOut(statement: "s"), .busy),
    (PostgresError.server(ServerError(sqlState: "40P01", message: "deadlock", statement: "s")), .busy),
    (PostgresError.unavailable("away"), .unavailable), (PostgresError.busy("full"), .busy),
    (PostgresError.connectionLost(statement: "s"), .unavailable),
    (PostgresError.unknownOutcome(statement: "s"), .outcomeUnknown),
  ])
  func `Only a database that is away is told to be away`(error: any Error, refusal: HTTPErrorResponse) {
    #expect(ErrorReplies.response(for: error) == refusal)
  }
}
