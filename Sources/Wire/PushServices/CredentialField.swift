/// A field of an app's credentials: a member of requests, and an option of `pushcart app`.
///
/// Services whose fields have the same name share them. Each says in a few words what the field is to it, and the text for people is
/// made of these.
public struct CredentialField: Sendable {
  /// How the command line takes it. What is no text is a secret.
  public enum Input: Sendable {
    /// As it stands. Examples name it by this word.
    case text(String)
    /// As a file with one of these extensions; any if empty.
    case file([String])
    /// As the first line of a file.
    case line
  }

  /// What a text may be.
  public enum Form: Sendable {
    /// Letters, digits and this punctuation. Blanks do not matter.
    case id(maximum: Int, punctuation: String = "", prefix: String = "", problem: String)
    /// A `mailto:` or `https:` address.
    case contact
  }

  /// In JSON, such as `clientId`.
  public let name: String
  /// Without its hyphens, such as `client-id`.
  public let option: String
  public let input: Input
  public internal(set) var form: Form?
  public internal(set) var limits: ClosedRange<Int64>?
  /// What a form calls it.
  public internal(set) var label = ""
  /// Where people find the value, in the words of the service's console.
  public internal(set) var origin = ""
  /// What help and description begin with where services share the field. What each service says follows this, whatever services come
  /// before it.
  var openings = (help: "", description: "")
  /// What the field is, for help and for the API, each without its full stop.
  var help = ""
  var description = ""
  /// When the field is given, behind its platforms.
  var condition = ""
  /// Further sentences. Of a secret, nil for that it is never shown.
  var note: String?

  /// This field as one of the services that share it has it.
  /// What is nil is as all services have it.
  func of(
    _ form: Form? = nil, label: String? = nil, origin: String, help: String? = nil, description: String? = nil
  ) -> CredentialField {
    var field = self
    (field.form, field.origin) = (form ?? self.form, origin)
    (field.label, field.help) = (label ?? self.label, help ?? self.help)
    field.description = description ?? self.description
    return field
  }

  /// Whether it is never shown.
  public var isSecret: Bool { if case .text = input { false } else { true } }

  /// Such as `--client-id ID`.
  var usage: String {
    let word = if case .text(let word) = input { word } else { "FILE" }
    return "--\(option) \(word)"
  }
}

extension CredentialField: Hashable {
  public static func == (one: Self, other: Self) -> Bool { one.name == other.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension CredentialField {
  /// The fields of all services, in the order of requests.
  public static let all = PushService.all.flatMap(\.fields).reduce(into: [CredentialField]()) { fields, field in
    if !fields.contains(field) { fields.append(field) }
  }

  /// What the services that have the field say of it.
  private var uses: [(field: CredentialField, platforms: [AppType])] {
    PushService.all.compactMap { service in service.fields.first { $0 == self }.map { ($0, service.platforms) } }
  }

  /// The platforms whose apps have it.
  public var platforms: [AppType] { uses.flatMap(\.platforms) }

  /// For the command line.
  public var helpText: String {
    let phrases = uses.reduce(into: [(phrase: String, platforms: [AppType])]()) { phrases, use in
      if let known = phrases.firstIndex(where: { $0.phrase == use.field.help }) {
        phrases[known].platforms += use.platforms
      } else {
        phrases.append((use.field.help, use.platforms))
      }
    }
    return openings.help
      + phrases.map { "\($0.phrase) (\($0.platforms.map(\.platform).joined(separator: ", ")))" }.joined(
        separator: ", or ")
      + "."
  }

  /// For the API.
  var fieldDescription: FieldDescription {
    let phrases = uses.map(\.field.description).reduce(into: [String]()) { phrases, phrase in
      if !phrases.contains(phrase) { phrases.append(phrase) }
    }
    // Phrases that differ name their platforms themselves.
    let owners =
      phrases.count > 1 || !openings.description.isEmpty
      ? "" : "\(platforms.map(\.platform).asList()) only\(condition)."
    let note = note ?? (isSecret ? "It is never shown again." : "")
    let sentences = ["\(openings.description)\(phrases.joined(separator: "; ")).", owners, note]
    return FieldDescription(sentences.filter { !$0.isEmpty }.joined(separator: " "), limits: limits)
  }

  // MARK: - Fields that several services have

  public static let serviceAccount = CredentialField(
    name: "serviceAccount", option: "service-account", input: .file(["json"]),
    label: "Key file of the service account",
    openings: ("Key file of a service account: ", "The text of a service account's key file: "))
  public static let clientID = CredentialField(
    name: "clientId", option: "client-id", input: .text("ID"), limits: 1...100, label: "Client ID",
    openings: ("Id of the client that signs in: ", "The id of the client that signs in: "))
  public static let clientSecret = CredentialField(
    name: "clientSecret", option: "client-secret-file", input: .file([]), limits: 1...256, label: "Client Secret",
    help: "File with the secret of the client or package",
    description: "The secret of the client, or of the package")
}
