import Crypto
import CryptoExtras
import FoundationEssentials
import Wire

extension SimulatedFCM {
  /// A Google service account with its key, which can sign in to the simulated FCM.
  public struct ServiceAccount: Sendable {
    public let projectID: String
    public let clientEmail: String
    /// The key's name, which JWTs carry as `kid`.
    public let keyID: String
    /// An RSA key of 2048 bits: PKCS#8 in PEM.
    public let privateKey: String
    /// Where it asks for access tokens.
    public let tokenURL: String

    /// An account with a key that is made once a process, since RSA keys take long to make.
    /// - Parameters:
    ///   - clientEmail: nil for a name in the project.
    ///   - hasOwnKey: makes another key for this account.
    /// - Throws: if no key can be made.
    public init(
      projectID: String = "acme-shop", clientEmail: String? = nil, tokenURL: String, hasOwnKey: Bool = false
    ) throws {
      let key = try hasOwnKey ? _RSA.Signing.PrivateKey(keySize: .bits2048) : Self.sharedKey.get()
      self.projectID = projectID
      self.clientEmail = clientEmail ?? "push@\(projectID).iam.gserviceaccount.com"
      self.tokenURL = tokenURL
      keyID = Array(Insecure.SHA1.hash(data: key.publicKey.derRepresentation)).hexDigits
      privateKey = key.pkcs8PEMRepresentation
    }

    private static let sharedKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// The key file, as Google's console hands it out.
    public var keyFile: String {
      let address = "https://www.googleapis.com"
      let members: JSONValue = [
        "type": "service_account", "project_id": .string(projectID), "private_key_id": .string(keyID),
        "private_key": .string(privateKey + "\n"), "client_email": .string(clientEmail),
        "client_id": "100000000000000000001", "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": .string(tokenURL), "auth_provider_x509_cert_url": .string("\(address)/oauth2/v1/certs"),
        "client_x509_cert_url": .string("\(address)/robot/v1/metadata/x509/\(clientEmail)"),
        "universe_domain": "googleapis.com",
      ]
      return members.indented
    }
  }
}

/// What the simulated FCM keeps of a service account: the public half.
struct RegisteredAccount: Sendable {
  let projectID: String
  let clientEmail: String
  /// Nil if the key file does not name its key.
  let keyID: String?
  let publicKey: _RSA.Signing.PublicKey

  /// - Throws: if this is no key file of a service account.
  init(keyFile: String) throws {
    let file = try JSONCoding.decode(KeyFile.self, from: keyFile.utf8)
    guard file.type == "service_account" else { throw CocoaError(.fileReadCorruptFile) }
    projectID = file.project_id
    clientEmail = file.client_email
    keyID = file.private_key_id
    publicKey = try _RSA.Signing.PrivateKey(pemRepresentation: file.private_key).publicKey
  }

  /// Members have the file's names.
  private struct KeyFile: Decodable {
    var type: String
    var project_id: String
    var private_key_id: String?
    var private_key: String
    var client_email: String
  }
}
