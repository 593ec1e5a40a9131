public import FoundationEssentials
import NIOHPACK

extension SimulatedAPNs {
  /// A request that arrived whole, and what it was answered.
  public struct Arrival: Sendable {
    /// 1, 2, 3, … since the start.
    public internal(set) var number = 0
    public let environment: Environment
    /// Which connection brought it: 1, 2, 3, …
    public let connection: Int
    /// Its stream on that connection: 1, 3, 5, …
    public let stream: Int
    public let at: Date
    /// The device token in lower case.
    public let token: String
    public let payload: [UInt8]
    public let reply: Reply
    let headers: HPACKHeaders

    /// The first value of a header; names are in lower case.
    public func header(_ name: String) -> String? { headers.first(name: name) }

    /// Whether a phone would get it: answered 200, at once or late.
    public var isAccepted: Bool {
      var reply = reply
      while case .after(_, let then) = reply { reply = then }
      return reply == .accept
    }
  }
}
