package import Wire

/// How users sign in to the console by an OpenID provider: what `PUSHCART_OIDC_*` say.
package struct OpenIDSettings: Sendable {
  /// The provider's issuer, exactly as its documents and tokens have it.
  package var issuer: String
  package var clientID: String
  /// `nil` for a client that PKCE alone proves.
  package var clientSecret: Secret?
  /// Separated by blanks; `openid` is among them.
  package var scopes = Self.usualScopes
  /// The claim that holds roles, or the way to it through objects, as in `realm_access.roles`.
  package var rolesClaim = Self.usualRolesClaim
  /// What the claim's values give. Of several for a customer, the first counts.
  package var grants: [OpenIDGrant] = []
  /// The provider's name, for the button.
  package var name = Self.usualName
  /// Whether e-mail addresses are believed that the provider does not call verified.
  package var trustsEmail = false
  /// Whether passwords open nothing.
  package var isOnly = false
  /// How long the provider may take for its documents, while people wait for them.
  package var documentsTimeout = Duration.seconds(5)

  package static let usualScopes = "openid email profile"
  package static let usualRolesClaim = "roles"
  package static let usualName = "OpenID Connect"

  package init(issuer: String, clientID: String) {
    self.issuer = issuer
    self.clientID = clientID
  }
}

/// What one value of the claim gives: a role for a customer.
package struct OpenIDGrant: Sendable, Equatable {
  package let value: String
  package let role: Role
  package let customer: CustomerID

  package init(value: String, role: Role, customer: CustomerID) {
    self.value = value
    self.role = role
    self.customer = customer
  }

  /// Reads `push-admins=owner:1, push-sales=marketer:1`; `nil` for anything else. A value may hold whatever is no comma.
  package static func list(_ text: String) -> [OpenIDGrant]? {
    var grants: [OpenIDGrant] = []
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let sign = item.lastIndex(of: "=") else { return nil }
      let value = item[..<sign].trimmed
      let given = item[item.index(after: sign)...].trimmed.split(separator: ":", omittingEmptySubsequences: false)
      guard !value.isEmpty, given.count == 2, let role = Role(rawValue: String(given[0])),
        let customer = CustomerID(String(given[1]))
      else { return nil }
      grants.append(OpenIDGrant(value: String(value), role: role, customer: customer))
    }
    return grants
  }
}
