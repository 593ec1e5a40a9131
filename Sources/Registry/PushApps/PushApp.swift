public import FoundationEssentials
public import Wire

/// An app on one platform. What opens its push service is not part of it: see `PushCredentialVault`.
public struct PushApp: Sendable, Equatable {
  public let id: PushAppID
  public let customer: CustomerID
  /// Bundle id or package name; the customer may have the same one once per platform.
  public let appID: String
  public let type: AppType
  public let kind: PushAppKind
  /// For people.
  public let name: String
  /// Apple's Team Id (iOS).
  public let teamID: String?
  /// Apple's Key Id of the signing key (iOS).
  public let keyID: String?
  /// Whom push services can contact about the app: a `mailto:` or `https:` address (Web); nil for the hub's own.
  public let contact: String?
  /// Whether requests with a device key must carry `X-Pushcart-Identity`, to this and every other app of the customer.
  public let identityRequired: Bool
  /// What requests with a device key may write, to this and every other app of the customer; `nil` for everything.
  public let deviceFields: DeviceKeyFields?
  /// What is stored to open its push service, without the secrets themselves.
  public let credentials: [PushCredential]
  /// What sending found; `nil` when all is well. `alarm` has more.
  let raisedAlarm: Alarm?
  /// What was raised for its push service's sandbox.
  let raisedSandboxAlarm: Alarm?
  /// What its push service said of its credentials when it was last asked; nil if it was not since they changed.
  public let lastCheck: PushAppReply.LastCheck?
  public let createdAt: Date
  /// When the app or one of its credentials last changed; later with each change.
  public let updatedAt: Date

  public struct Alarm: Sendable, Equatable {
    public let reason: String
    public let since: Date
  }

  /// The app id of a customer's provider of SMS.
  public static let smsAppID = "sms"

  /// Whether such a credential is stored for it.
  public func has(_ kind: PushCredential.Kind) -> Bool { credentials.contains { $0.kind == kind } }

  /// The push certificates that it sends with: none if there is a signing key, which is used instead.
  public var certificates: [PushCredential] {
    has(.apnsSigningKey)
      ? [] : credentials.filter { [.apnsDevelopmentCertificate, .apnsProductionCertificate].contains($0.kind) }
  }

  /// The public key that pages give to `subscribe`: 65 bytes in base64url (Web).
  public var vapidPublicKey: String? { credentials.first { $0.kind == .vapidKey }?.account }

  /// Which field is missing before anything can be sent to it; `nil` if none is, or if no push service sends to its platform.
  public var missingCredential: String? {
    let service = type.service
    return service.signIns.contains { has($0.kind) } ? nil : service.neededField
  }

  /// Whether the field of that way to sign in is stored.
  func holds(_ field: CredentialField, of signIn: SignIn) -> Bool {
    switch field {
    case .teamID: teamID != nil
    case .keyID: keyID != nil
    default: has(signIn.kind)
    }
  }

  /// Why the app needs somebody's attention; `nil` when all is well.
  public var alarm: Alarm? { alarm(at: Date()) }

  /// What is wrong in its push service's sandbox. A success in production does not end it, nor the other way round.
  public var sandboxAlarm: Alarm? { alarm(at: Date(), isSandbox: true) }

  /// What is wrong at some moment: what sending found, or else that the environment's certificate expires within 30 days. The latter is
  /// not stored, so no success clears it.
  public func alarm(at now: Date, isSandbox: Bool = false) -> Alarm? {
    if let raised = isSandbox ? raisedSandboxAlarm : raisedAlarm { return raised }
    let kind = isSandbox ? PushCredential.Kind.apnsDevelopmentCertificate : .apnsProductionCertificate
    guard let certificate = certificates.first(where: { $0.kind == kind }), let notAfter = certificate.notAfter,
      let warning = certificate.expiryWarning(at: now)
    else { return nil }
    return Alarm(reason: warning, since: max(notAfter - PushCredential.expiryNotice, certificate.updatedAt))
  }

  /// What is odd about the app though it may be right, each a sentence.
  public var warnings: [String] {
    var warnings: [String] = []
    if let teamID, teamID.utf8.count != 10 {
      warnings.append("teamId has \(teamID.utf8.count) characters, and Apple's Team Ids usually 10.")
    }
    if let keyID, keyID.utf8.count != 10 {
      warnings.append("keyId has \(keyID.utf8.count) characters, and Apple's Key Ids usually 10.")
    }
    if let missingCredential {
      warnings.append("There is no \(missingCredential), so nothing can be sent to this app yet.")
    }
    warnings += certificates.compactMap { $0.expiryWarning(at: Date()) }
    if identityRequired, !has(.identitySecret) {
      warnings.append(
        "identity is required but there is no identity secret, so every request with a device key is refused.")
    }
    return warnings
  }

  /// What one of a customer's apps means for the others, or they for it: what the strictest requires counts for the device keys
  /// of all.
  public static func identityWarnings(of id: PushAppID, among apps: [PushApp]) -> [String] {
    guard let app = apps.first(where: { $0.id == id }) else { return [] }
    func names(_ apps: [PushApp]) -> String { Set(apps.map(\.appID)).sorted().joined(separator: ", ") }
    let (requiring, others) = (apps.filter(\.identityRequired), apps.filter { !$0.identityRequired })
    if app.identityRequired, !others.isEmpty {
      return [
        "Device keys of \(names(others)) need X-Pushcart-Identity, too: all apps of a customer share its contacts."
      ]
    }
    if !app.identityRequired, !requiring.isEmpty {
      return [
        "Device keys need X-Pushcart-Identity though identity is off here, because \(names(requiring)) requires it."
      ]
    }
    return []
  }
}

/// A push app to be added.
public struct NewPushApp: Sendable {
  public var appID: String
  public var type: AppType
  public var kind: PushAppKind
  public var name: String
  public var service: PushServiceFields
  public var identityRequired: Bool
  /// Names as `DeviceKeyFields` takes them; `nil`, or `["all"]`, for no limit.
  public var deviceFields: [String]?

  public init(
    appID: String, type: AppType, kind: PushAppKind = .app, name: String,
    service: PushServiceFields = PushServiceFields(), identityRequired: Bool = false, deviceFields: [String]? = nil
  ) {
    self.kind = kind
    self.identityRequired = identityRequired
    self.deviceFields = deviceFields
    self.appID = appID
    self.type = type
    self.name = name
    self.service = service
  }
}

/// What is to change about a push app; `nil` leaves a field as it is. appId and type never change: devices hang on them.
public struct PushAppUpdate: Sendable {
  public var name: String?
  public var service: PushServiceFields
  public var identityRequired: Bool?
  /// Names as `DeviceKeyFields` takes them; `["all"]` for no limit.
  public var deviceFields: [String]?

  public init(
    name: String? = nil, service: PushServiceFields = PushServiceFields(), identityRequired: Bool? = nil,
    deviceFields: [String]? = nil
  ) {
    self.identityRequired = identityRequired
    self.deviceFields = deviceFields
    self.name = name
    self.service = service
  }
}

/// What is known of a stored credential but the secret itself.
public struct PushCredential: Sendable, Equatable {
  public typealias Kind = PushCredentialKind

  public let kind: Kind
  /// First 16 hex digits of the SHA-256 of the public key, by which people see whether two files are the same.
  public let fingerprint: String
  /// Who signs in with it, as the push service's console names it; `nil` where the app's other fields say so.
  public let account: String?
  /// When a certificate expires; `nil` for keys.
  public let notAfter: Date?
  public let updatedAt: Date

  /// How long before its end a certificate is warned of: 30 days, in seconds.
  public static let expiryNotice: TimeInterval = 30 * 86_400

  /// Whether it is a certificate that APNs takes no more.
  public func isExpired(at now: Date) -> Bool { notAfter.map { $0 <= now } ?? false }

  /// That it has expired or will within 30 days, in a sentence; `nil` otherwise.
  public func expiryWarning(at now: Date) -> String? {
    guard let notAfter, notAfter.timeIntervalSince(now) <= Self.expiryNotice else { return nil }
    let field = kind == .apnsDevelopmentCertificate ? "developmentCertificate" : "productionCertificate"
    let day = notAfter.formatted(.iso8601.year().month().day())
    return isExpired(at: now)
      ? "The \(field) expired on \(day), so APNs refuses all pushes with it. Upload a renewed one."
      : "The \(field) expires on \(day). Renew it in Apple's developer account, and upload it."
  }
}

/// What the fields of a push app may hold.
enum PushAppRules {
  static let name = TextRule("name", maximum: 200)

  /// Bundle ids and package names; Windows adds `ms-app://…`. An iOS app's is sent to APNs in a header, as topic.
  static func appID(_ text: String, _ type: AppType) throws(RegistryError) -> String {
    let rule = TextRule("appId", maximum: 200)
    let text = try rule.require(text)
    let punctuation = type == .windows ? ".-_:/" : ".-_"
    guard text.utf8.allSatisfy({ $0.isLetterOrDigit || punctuation.utf8.contains($0) }) else {
      throw rule.refuse("holds a character other than letters, digits, dots, hyphens and underscores")
    }
    // Spreadsheets take a cell that begins with a hyphen for a formula, and commands take it for an option.
    guard text.utf8.first?.isLetterOrDigit == true else {
      throw rule.refuse("begins with neither a letter nor a digit")
    }
    return text
  }

  /// Softphones are on phones, and PushKit is Apple's.
  static func check(_ kind: PushAppKind, _ type: AppType) throws(RegistryError) {
    switch kind {
    case .softphone where !type.service.takesSoftphones:
      throw .invalid(field: "kind", problem: "is softphone, which is for \(PushAppKind.softphonePlatforms)")
    case .pushkit where type != .ios: throw .invalid(field: "kind", problem: "is pushkit, which is for iOS alone")
    case .app, .softphone, .pushkit: return
    }
  }
}
