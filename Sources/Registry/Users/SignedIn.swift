package import Wire

/// A valid session: who uses the console, for which customer and as what. Role and customer are read anew with each request.
package struct SignedIn: Sendable, Equatable {
  package let user: UserID
  package let email: String
  package let name: String
  /// `nil` while a user of several customers has not chosen one.
  package let customer: CustomerID?
  /// In that customer.
  package let role: Role?
  /// Whether personal fields of that customer's contacts may be shown.
  package let seesPersonal: Bool
  package let session: SessionID
  /// What forms carry: it follows from the session's token, which the database does not know.
  package let csrfToken: String
  /// The password was right, and the code of the authenticator app is still missing.
  package let needsCode: Bool
}
