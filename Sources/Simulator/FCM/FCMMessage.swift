import Wire

/// The body of a `messages:send`, read as FCM reads it.
struct FCMMessage: Sendable {
  /// The fields of `message`, in snake_case.
  private(set) var fields: [UTF8String: JSONValue] = [:]
  private(set) var validateOnly = false
  /// Why the body is refused.
  private(set) var refusal: SimulatedFCM.Refusal?

  init(_ body: [UInt8]) {
    let json: OrderedJSON
    do { json = try OrderedJSON(body) } catch {
      let problem = "Invalid JSON payload received. \(error.sentence)."
      refusal = .badRequest([FCMViolation(description: problem)], isFromFCM: false)
      return
    }
    var reader = FCMBodyReader()
    let root = reader.read(json, as: FCMMessageSchema.body, at: "")
    if case .object(let fields) = root?["message"] { self.fields = fields }
    validateOnly = root?["validate_only"] == true
    if !reader.violations.isEmpty {
      refusal = .badRequest(reader.violations, isFromFCM: false)
    } else {
      refusal = targetRefusal ?? dataRefusal ?? timeToLiveRefusal ?? sizeRefusal
    }
  }

  /// The registration token or the installation's id; empty for topics and conditions.
  var token: String { (fields["token"] ?? fields["fid"])?.string ?? "" }
}

// MARK: - What the fields may hold

extension FCMMessage {
  private var targetRefusal: SimulatedFCM.Refusal? {
    let targets = FCMMessageSchema.targets.filter { fields[$0] != nil }
    guard let target = targets.first else { return bad("message", "Recipient of the message is not set.") }
    if targets.count > 1 {
      let problem =
        "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(targets[1])'"
      return .badRequest([FCMViolation(field: "message", description: problem)], isFromFCM: false)
    }
    let value = fields[target]?.string ?? ""
    switch target {
    case "token":
      // FCM promises no form. Blanks and control characters have never been part of a token.
      let isPlausible =
        !value.isEmpty && value.utf8.count <= 4096 && value.utf8.allSatisfy { (0x21...0x7E).contains($0) }
      return isPlausible ? nil : .invalidToken
    case "topic":
      let isTopic = value.wholeMatch(of: /(\/topics\/)?(private\/)?[a-zA-Z0-9\-_.~%]+/) != nil
      return isTopic ? nil : bad("message.topic", "Invalid topic name")
    default: return value.isEmpty ? bad("message.\(target)", "The \(target) is empty.") : nil
    }
  }

  /// Reserved keys.
  private var dataRefusal: SimulatedFCM.Refusal? {
    for (path, data) in [("message.data", fields["data"]), ("message.android.data", fields["android"]?["data"])] {
      guard case .object(let members) = data else { continue }
      for key in members.keys.sorted().map(\.text) {
        let isReserved = ["from", "message_type"].contains(key) || key.hasPrefix("google") || key.hasPrefix("gcm")
        if isReserved { return bad(path, "Invalid data payload key: \(key)") }
      }
    }
    return nil
  }

  private var timeToLiveRefusal: SimulatedFCM.Refusal? {
    guard let text = fields["android"]?["ttl"]?.string, let seconds = Double(text.dropLast()) else { return nil }
    if (0...2_419_200).contains(seconds), !text.hasPrefix("-") { return nil }
    return bad("message.android.ttl", "TTL must be between 0 and 2419200 seconds.")
  }

  /// Keys and values of the data and the notification that an Android phone gets, in bytes.
  private var sizeRefusal: SimulatedFCM.Refusal? {
    let android = fields["android"]
    let size =
      Self.size(android?["data"] ?? fields["data"])
      + Self.size(Self.merged(fields["notification"], android?["notification"]))
    let limit = fields["topic"] == nil && fields["condition"] == nil ? 4096 : 2048
    return size > limit ? bad("message", "Message is too big: \(size) bytes, and at most \(limit) are allowed.") : nil
  }

  private static func size(_ object: JSONValue?) -> Int {
    guard case .object(let members) = object else { return 0 }
    return members.reduce(0) { $0 + $1.key.text.utf8.count + ($1.value.string?.utf8.count ?? 0) }
  }

  private func bad(_ field: String, _ problem: String) -> SimulatedFCM.Refusal {
    .badRequest([FCMViolation(field: field, description: problem)], isFromFCM: true)
  }

  /// A notification with what Android has of its own for it.
  static func merged(_ notification: JSONValue?, _ android: JSONValue?) -> JSONValue {
    var merged: [UTF8String: JSONValue] = [:]
    for case .object(let members) in [notification, android] { merged.merge(members) { _, own in own } }
    return .object(merged)
  }
}

extension JSONValue {
  var string: String? { if case .string(let text) = self { text } else { nil } }
}
