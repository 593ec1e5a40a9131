import NIOHPACK

/// A received request, its headers read once.
struct APNsRequest: Sendable {
  var environment: SimulatedAPNs.Environment
  var method = ""
  var path = ""
  var authorization: String?
  var id: String?
  var topic: String?
  var collapseID: String?
  var priority: String?
  var pushType: String?
  var expiration: String?
  var hasDuplicates = false
  var payload: [UInt8]

  init(_ incoming: IncomingRequest, environment: SimulatedAPNs.Environment) {
    self.environment = environment
    payload = incoming.body
    for (name, value, _) in incoming.headers {
      switch name {
      case ":method": method = value
      case ":path": path = value
      case "authorization": keep(value, in: \.authorization)
      case "apns-id": keep(value, in: \.id)
      case "apns-topic": keep(value, in: \.topic)
      case "apns-collapse-id": keep(value, in: \.collapseID)
      case "apns-priority": keep(value, in: \.priority)
      case "apns-push-type": keep(value, in: \.pushType)
      case "apns-expiration": keep(value, in: \.expiration)
      default: break
      }
    }
  }

  private mutating func keep(_ value: String, in field: WritableKeyPath<APNsRequest, String?>) {
    if self[keyPath: field] != nil { hasDuplicates = true }
    self[keyPath: field] = value
  }

  static let pathPrefix = "/3/device/"

  /// The device token in lower case, as the path has it; empty for any other path.
  var token: String {
    path.hasPrefix(Self.pathPrefix) ? path.dropFirst(Self.pathPrefix.count).lowercased() : ""
  }
}
