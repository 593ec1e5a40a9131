import Crypto
import FoundationEssentials
public import Wire

/// What opens an app's push service, as its owner has it from the service's console.
public struct PushServiceFields: Sendable {
  private var values: [CredentialField: Secret]
  /// The account at the provider (SMS).
  public var sms: SMSAccount?

  /// - Parameter values: a file as it was downloaded, or a text. What is nil is not given.
  public init(_ values: [CredentialField: Secret?] = [:], sms: SMSAccount? = nil) {
    self.values = values.compactMapValues(\.self)
    self.sms = sms
  }

  public subscript(field: CredentialField) -> Secret? {
    get { values[field] }
    set { values[field] = newValue }
  }

  /// The text of a field that is no secret.
  func text(_ field: CredentialField) -> String? { values[field]?.text }
}

/// A credential that is to be stored for an app.
struct NewPushCredential {
  let kind: PushCredential.Kind
  /// The secret that is sealed.
  let secret: Secret
  let fingerprint: String
  /// Who signs in with it, as the service's console names it; nil where the app's other fields say so.
  var account: String?
  /// When a certificate expires.
  var notAfter: Date?
}

extension SHA256Digest {
  /// The first 16 hex digits, by which people see whether two credentials are the same.
  var fingerprint: String { Array(prefix(8)).hexDigits }
}

extension PushServiceFields {
  /// Checks what was given for an app of this platform, and gives its texts as they are stored.
  /// - Parameter app: the app that is to be changed; nil for a new one.
  /// - Throws: `RegistryError.invalid` for a field of another platform, one that is no Id, or one that lacks another.
  func checked(for type: AppType, of app: PushApp? = nil) throws(RegistryError) -> PushServiceFields {
    let service = type.service
    if let misplaced = CredentialField.all.first(where: { values[$0] != nil && !service.fields.contains($0) }) {
      throw Self.belongs(misplaced.name, to: misplaced.platforms)
    }
    if sms != nil, service.name != .sms { throw Self.belongs("provider", to: [.sms]) }
    var checked = self
    for field in service.fields where field.form != nil {
      guard let text = text(field) else { continue }
      checked[field] = Secret(try field.checked(text))
    }
    if service.hasOneSignIn { try checkIsOne(of: service.signIns) }
    for signIn in service.signIns { try checkIsWhole(signIn, among: service.signIns, of: app) }
    try checkPassword()
    return checked
  }

  private static func belongs(_ field: String, to types: [AppType]) -> RegistryError {
    let (owners, numbers) = (types.map(\.platform).asList(), types.map { "\($0.rawValue)" }.asList())
    return .invalid(field: field, problem: "belongs to \(owners) apps only, of appType \(numbers)")
  }

  /// - Throws: `RegistryError.invalid` for fields of two ways to sign in, and for those that leave open which way it is.
  private func checkIsOne(of signIns: [SignIn]) throws(RegistryError) {
    let own = signIns.map { $0.own(among: signIns) }
    let meant = own.filter { $0.contains { values[$0] != nil } }.sorted { $0.count < $1.count }
    if meant.count > 1 {
      throw .invalid(
        field: meant[0][0].name,
        problem: "takes the place of \(meant[1].map(\.name).asList()): give one or the other")
    }
    let shared = Set(signIns.flatMap(\.fields)).filter { values[$0] != nil }
    if meant.isEmpty, !shared.isEmpty {
      let ways = own.map { $0.map(\.name).asList() }.joined(separator: ", or with ")
      throw .invalid(
        field: own[0][0].name, problem: "is missing: \(shared.map(\.name).sorted().asList()) comes with \(ways)")
    }
  }

  /// - Throws: `RegistryError.invalid` if fields of it are there and others are not. What is stored by itself counts.
  private func checkIsWhole(_ signIn: SignIn, among signIns: [SignIn], of app: PushApp?) throws(RegistryError) {
    let isStoredTogether = if case .account = signIn.form { true } else { false }
    let parts = signIn.fields.map { field in
      (field.name, values[field] != nil || !isStoredTogether && app?.holds(field, of: signIn) == true)
    }
    let isMeant =
      isStoredTogether ? signIn.own(among: signIns).contains { values[$0] != nil } : parts.contains(where: \.1)
    if isMeant, let missing = parts.first(where: { !$0.1 }) {
      throw .invalid(field: missing.0, problem: "is missing: \(parts.map(\.0).asList()) come together")
    }
  }

  private func checkPassword() throws(RegistryError) {
    guard let password = values[.certificatePassword] else { return }
    func refuse(_ problem: String) -> RegistryError { .invalid(field: "certificatePassword", problem: problem) }
    guard password.bytes.count <= 200 else { throw refuse("has more than 200 characters") }
    guard password.bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
      throw refuse("holds a character other than visible ASCII: export the .p12 file again, with another password")
    }
    guard values[.developmentCertificate] != nil || values[.productionCertificate] != nil else {
      throw refuse("is there without a developmentCertificate or productionCertificate that it opens")
    }
  }

  /// The credentials in them.
  /// - Parameters:
  ///   - appID: what a certificate has to be for.
  ///   - type: the app's platform, which says whose service account it is.
  /// - Throws: `RegistryError.credential` for a file that is something else.
  func credentials(for appID: String, _ type: AppType) throws(RegistryError) -> [NewPushCredential] {
    var credentials: [NewPushCredential] = []
    for signIn in type.service.signIns {
      if let credential = try credential(signIn, appID, type.service) { credentials.append(credential) }
    }
    return credentials
  }

  private func credential(
    _ signIn: SignIn, _ appID: String, _ service: PushService
  ) throws(RegistryError) -> NewPushCredential? {
    let secret = signIn.fields.last.flatMap { values[$0] }
    switch signIn.form {
    case .signingKey:
      guard let secret else { return nil }
      let file = try SigningKeyFile(secret)
      return NewPushCredential(kind: signIn.kind, secret: file.key, fingerprint: file.fingerprint)
    case .certificate(let isForDevelopment):
      guard let secret else { return nil }
      let file = try PushCertificateFile(
        secret, password: values[.certificatePassword], for: isForDevelopment ? .development : .production, appID: appID
      )
      return NewPushCredential(
        kind: signIn.kind, secret: file.stored, fingerprint: file.fingerprint, account: file.certificate.name,
        notAfter: file.notAfter)
    case .vapidKey:
      guard let secret else { return nil }
      let file = try VAPIDKeyFile(secret)
      return NewPushCredential(
        kind: signIn.kind, secret: file.stored, fingerprint: file.fingerprint, account: file.publicKey)
    case .account(let form):
      guard signIn.fields.allSatisfy({ values[$0] != nil }) else { return nil }
      let file = try AccountFile(form, of: service, signIn.fields, values)
      return NewPushCredential(
        kind: signIn.kind, secret: file.stored, fingerprint: file.fingerprint, account: file.account)
    case .ownRequest:
      guard let sms else { return nil }
      guard let json = try? JSONCoding.encode(sms) else { preconditionFailure("texts are always JSON") }
      return NewPushCredential(
        kind: signIn.kind, secret: Secret(bytes: Array(json)),
        fingerprint: SHA256.hash(data: Data(sms.signIn.utf8)).fingerprint, account: sms.description)
    }
  }
}

extension SignIn {
  /// The fields that no other way to sign in has.
  fileprivate func own(among signIns: [SignIn]) -> [CredentialField] {
    fields.filter { field in signIns.count { $0.fields.contains(field) } == 1 }
  }
}
