import Logging

struct PhoneServer: Sendable {
  let port: Int
  init(_ apns: SimulatedAPNs, host: String, port: Int, logger: Logger) async throws { self.port = port }
  func stop() async {}
}
