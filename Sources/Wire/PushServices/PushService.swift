/// What the hub knows of a push service without sending to it: what an app's owner gives, and what the operator can set.
///
/// The register, the API, the command line, the settings and their documents come from it. How the service is sent to is in its folder of
/// Providers, and its stand-in is in its folder of the Simulator.
public struct PushService: Sendable {
  public let name: PushServiceName
  /// What an app of its platforms can have, in the order of the API.
  public let fields: [CredentialField]
  /// How an app signs in. Each is complete by itself.
  public let signIns: [SignIn]
  /// Whether an app has one way to sign in, which takes the place of another.
  public internal(set) var hasOneSignIn = true
  /// The field that is asked for where an app has none.
  public let neededField: String
  /// Whether apps of its platforms can be softphones.
  public internal(set) var takesSoftphones = false
  /// Files of its console, which people give in the wrong place.
  public internal(set) var files: [KnownFile] = []
  /// What the API says of adding an app, in sentences; empty where apps are not added.
  public let guide: String
  /// Options of `pushcart app add` behind the customer, as examples; empty where apps are not added.
  public let examples: [String]
  /// How long the service keeps a message without a `ttl`, such as `four weeks at FCM`; nil where another decides.
  let usualLifetime: String?
  /// What a message can change for the service alone, if these are members of its own messages; nil if `MessageOverrides` has a
  /// property for it.
  let overriddenMembers: String?
  public let settings: [ServiceSetting]
  /// As subscriptions to data trees name it; nil if it carries none of their notifications.
  public internal(set) var dataTree: MessagingService?

  /// For people.
  public var title: String {
    switch name {
    case .apns: "Apple's APNs"
    case .fcm: "Firebase Cloud Messaging"
    case .hms: "Huawei's Push Kit"
    case .wns: "Windows' WNS"
    case .webpush: "Web Push"
    case .sms: "the provider of SMS"
    }
  }

  public static let all = PushServiceName.allCases.map(\.service)

  /// The newest first.
  public var platforms: [AppType] { AppType.allCases.reversed().filter { $0.service.name == name } }
}

/// A way in which an app signs in to its push service.
public struct SignIn: Sendable {
  /// The kind of credential that is stored.
  public let kind: PushCredentialKind
  /// The fields that come together.
  public let fields: [CredentialField]
  public let form: Form
  /// Options for people whose app has no credentials yet; nil for none.
  public let options: String?

  /// How the fields are read and checked.
  public enum Form: Sendable {
    /// APNs' signing key.
    case signingKey
    /// APNs' certificate for one environment.
    case certificate(isForDevelopment: Bool)
    /// The key pair of an app of the web.
    case vapidKey
    /// Ids, or a key file of RSA, which are stored together.
    case account(AccountForm)
    /// An account that has a request of its own.
    case ownRequest
  }

  /// - Parameter options: an empty text for those of the fields.
  init(_ kind: PushCredentialKind, _ fields: [CredentialField], _ form: Form, options: String? = "") {
    self.kind = kind
    self.fields = fields
    self.form = form
    self.options = options?.isEmpty == true ? fields.map(\.usage).joined(separator: " ") : options
  }
}

/// How an account of a push service is read, stored and opened.
public struct AccountForm: Sendable {
  public enum Source: Sendable {
    /// The fields themselves. Their last one is a secret of one word.
    case fields
    /// A key file in JSON, with these members and an RSA key.
    case keyFile([FileMember])
  }

  /// A member of a key file.
  public struct FileMember: Sendable {
    public let name: String
    /// Punctuation that it may have beside letters and digits, and the words for these; nil for any text.
    public let form: (punctuation: String, words: String)?

    public init(_ name: String, _ form: (punctuation: String, words: String)? = nil) {
      self.name = name
      self.form = form
    }
  }

  public let source: Source
  /// Ends the sentence about a file that is something else.
  public let advice: String
  /// The fields or members that name who signs in.
  public let shown: [String]
  /// Makes the account of what was stored, by the names of fields or members.
  public let open: @Sendable (Members) -> PushServiceCredentials

  /// The member of a key file that is an RSA key in PEM.
  public static let privateKey = "private_key"

  /// What is stored of an account.
  public struct Members: Sendable {
    private let values: [String: String]
    public init(_ values: [String: String]) { self.values = values }
    subscript(name: String) -> String { values[name] ?? "" }
    subscript(field: CredentialField) -> String { self[field.name] }
  }
}

/// A JSON file that a push service's console makes.
public struct KnownFile: Sendable {
  /// A member that no other file has; or else the value of `type`.
  public internal(set) var members: [String] = []
  public internal(set) var type: String?
  /// Whether it is the key file of a service account.
  public internal(set) var isKeyFile = false
  /// What it is, as the beginning of a sentence.
  public let finding: String
}

/// What a stored credential is, as in the table `push_credential`.
public struct PushCredentialKind: RawRepresentable, Sendable, Hashable, Codable, CaseIterable, SchemaProviding {
  public let rawValue: String

  init(_ rawValue: String) { self.rawValue = rawValue }

  public init?(rawValue: String) {
    guard Self.allCases.contains(where: { $0.rawValue == rawValue }) else { return nil }
    self.rawValue = rawValue
  }

  /// What `X-Pushcart-Identity` is computed with.
  public static let identitySecret = Self("identity_secret")
  /// The one before it, which is accepted too.
  public static let previousIdentitySecret = Self("previous_identity_secret")

  public static let allCases =
    PushService.all.flatMap(\.signIns).map(\.kind).reduce(into: [PushCredentialKind]()) { kinds, kind in
      if !kinds.contains(kind) { kinds.append(kind) }
    } + [identitySecret, previousIdentitySecret]
}

/// A setting of the operator about a push service.
public struct ServiceSetting: Sendable {
  public enum Kind: Sendable {
    /// `https://host[:port]`
    case address
    /// `https://host[:port]/path`
    case addressWithPath
    /// Where devices' endpoints or customers' addresses may lead.
    case hosts(any WritableKeyPath<EndpointRules, EndpointRule> & Sendable)
  }

  /// Its key in the settings file and, behind `--`, its flag.
  public let name: String
  public let kind: Kind
  public let help: String
  /// The default, as help and docs/settings.md show it.
  public let fallback: String
  /// The value without the setting; nil if there is none.
  public let value: String?

  /// - Parameter shownFallback: of a setting whose default is no value.
  init(_ name: String, _ kind: Kind, _ help: String, fallback: String? = nil, shownFallback: String = "") {
    self.name = name
    self.kind = kind
    self.help = help
    self.fallback = fallback ?? shownFallback
    value = fallback
  }

  /// Its name in the environment.
  public var variable: String { "PUSHCART_" + name.uppercased().replacing("-", with: "_") }
}

extension ServiceSetting: Hashable {
  public static func == (one: Self, other: Self) -> Bool { one.name == other.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension [String] {
  /// `Firebase, Android and Web`
  public func asList(_ word: String = "and") -> String {
    guard let last else { return "" }
    return count == 1 ? last : "\(dropLast().joined(separator: ", ")) \(word) \(last)"
  }
}
