/// Somebody who signs in to the console. They may work for several customers.
public struct UserID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A sign-in of a user that has not ended.
public struct SessionID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What a user does for a customer. Each operation says which roles may do it in the console.
public enum Role: String, Sendable, Hashable, Codable, CaseIterable, SchemaProviding {
  /// Everything, users included.
  case owner
  /// Contacts, content and sendouts.
  case marketer
  /// Reads sendouts and reports; personal fields only where that is granted.
  case analyst
  /// Apps, keys and settings.
  case `operator`
}

/// Body of `POST /api/v1/users` and `PATCH /api/v1/users/{id}`.
public struct UserRequest: APIRequest, Equatable {
  public var email: String?
  public var name: String?
  public var role: Role?
  public var seesPersonal: Bool?
  public var disabled: Bool?

  public init(
    email: String? = nil, name: String? = nil, role: Role? = nil, seesPersonal: Bool? = nil, disabled: Bool? = nil
  ) {
    self.email = email
    self.name = name
    self.role = role
    self.seesPersonal = seesPersonal
    self.disabled = disabled
  }

  public static let schemaName: String? = "UserRequest"
  public static let schemaDescription = "A user to add."
  public static let example = UserRequest(email: "mia@example.com", name: "Mia Jansen", role: .marketer)

  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, required: ["email", "role"], absent: ["disabled"], example: example)
  }
  public static let change = BodyForm(
    "UserChange", "What to change about a user. A field that is absent or null stays as it is.", absent: ["email"],
    example: UserRequest(name: "Mia Jansen", role: .analyst, seesPersonal: false, disabled: false))

  public static var fieldTable: FieldTable { UserReply.fieldTable }
}

/// A user, as one customer sees them. The reply that adds or resets one has the path of their link, too.
public struct UserReply: APIObject, NumberedThing, Equatable {
  public var userId: UserID
  public var email: String
  public var name: String
  public var role: Role
  public var seesPersonal: Bool
  public var disabled: Bool
  public var hasPassword: Bool
  public var totp: Bool
  public var singleSignOn: Bool
  public var createdAt: Timestamp
  public var lastSignInAt: Timestamp?
  public var linkExpiresAt: Timestamp?
  public var link: String?

  public static let noun = "user"
  public var number: UserID { userId }
  public static let schemaName: String? = "User"
  public static let schemaDescription = "Somebody who signs in to the console."
  public static let example = UserReply(
    userId: UserID(3), email: "mia@example.com", name: "Mia Jansen", role: .marketer, seesPersonal: true,
    disabled: false, hasPassword: true, totp: false, singleSignOn: false, createdAt: .example, lastSignInAt: .example)

  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, absent: ["link"], example: example)
  }
  public static let invited = BodyForm(
    "InvitedUser", "A user and the link that sets their password.", required: ["link"],
    example: UserReply(
      userId: UserID(3), email: "mia@example.com", name: "Mia Jansen", role: .marketer, seesPersonal: true,
      disabled: false, hasPassword: false, totp: false, singleSignOn: false, createdAt: .example,
      linkExpiresAt: .example, link: "/console/welcome/Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU"))

  public static let fieldTable: FieldTable = [
    "userId": "The user's number.",
    "email": FieldDescription("The e-mail address that the user signs in with, in any case.", limits: 3...254),
    "name": FieldDescription("A name for people. The e-mail address if a request has none.", limits: 1...200),
    "role":
      """
    What the user may do: `owner` everything, `marketer` contacts, content and sendouts, `analyst` reads sendouts and reports, \
    `operator` apps, keys and settings.
    """,
    "seesPersonal": "Whether the user sees personal fields of contacts. If absent, all but an analyst do.",
    "disabled": "Whether the user is kept from signing in for this customer.",
    "hasPassword": "Whether the user has set a password.",
    "totp": "Whether the user signs in with a code of an authenticator app, too.",
    "singleSignOn": "Whether the user signs in by the hub's OpenID provider.",
    "createdAt": "When the user was added.",
    "lastSignInAt": "When the user last signed in. Absent if they never did.",
    "linkExpiresAt": "Until when the user's link sets a password. Absent if there is none that works.",
    "link":
      """
    The path where the user sets a password, below the console's address. It works once within 24 hours and is shown only once.
    """,
  ]
}

/// A session, as its user sees it in the console.
public struct SessionReply: Codable, Sendable, Equatable {
  public var sessionId: SessionID
  public var createdAt: Timestamp
  /// To a minute.
  public var seenAt: Timestamp
  public var address: String?
  public var userAgent: String?
}
