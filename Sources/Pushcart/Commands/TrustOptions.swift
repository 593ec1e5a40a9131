import ArgumentParser
import Simulator

/// Who may sign in at the Simulator.
struct TrustOptions: ParsableArguments {
  @Option(
    name: .customLong("trust"),
    help: ArgumentHelp("Signing key of APNs to trust; can be repeated.", valueName: "team/key=file"))
  var signingKeys: [TrustedSigningKey] = []

  @Option(
    name: .customLong("service-account"),
    help: ArgumentHelp("Key file of Google's or Huawei's service account to trust; can be repeated.", valueName: "file")
  )
  var serviceAccounts: [String] = []

  @Option(
    name: .customLong("huawei-client"),
    help: ArgumentHelp(
      "Client of Push Kit to trust, and the file of its secret; can be repeated.", valueName: "client-id=file"))
  var huaweiClients: [TrustedClient] = []

  @Option(
    name: .customLong("windows-package"),
    help: ArgumentHelp(
      "Package of WNS to trust, and the file of its secret; can be repeated.", valueName: "package-sid=file"))
  var windowsPackages: [TrustedClient] = []

  @Option(
    name: .customLong("windows-client"),
    help: ArgumentHelp(
      "Client at Microsoft Entra to trust, and the file of its secret; can be repeated.",
      valueName: "tenant-id/client-id=file"))
  var windowsClients: [TrustedTenantClient] = []

  @Option(
    name: .customLong("product-token-file"),
    help: ArgumentHelp("File of a product token of CM to trust; can be repeated.", valueName: "file"))
  var productTokenFiles: [String] = []

  @Option(
    name: .customLong("twilio-account"),
    help: ArgumentHelp(
      "Account of Twilio to trust, and the file of its Auth Token; can be repeated.", valueName: "account-sid=file"))
  var twilioAccounts: [TrustedClient] = []

  /// Whether none is given, so that everybody may sign in.
  var isEmpty: Bool {
    signingKeys.isEmpty && serviceAccounts.isEmpty && huaweiClients.isEmpty && windowsPackages.isEmpty
      && windowsClients.isEmpty && productTokenFiles.isEmpty && twilioAccounts.isEmpty
  }

  /// - Throws: `CommandFailure` that names the file.
  func register(with simulator: PushSimulator) throws {
    for key in signingKeys { try key.register(with: simulator.apns) }
    for file in serviceAccounts { try Self.registerServiceAccount(file, with: simulator) }
    for client in huaweiClients { simulator.hms.register(clientID: client.id, secret: try client.secret) }
    for package in windowsPackages { simulator.wns.register(packageSID: package.id, secret: try package.secret) }
    for client in windowsClients {
      simulator.wns.register(
        tenantID: client.tenantID, clientID: client.client.id, secret: try client.client.secret)
    }
    for file in productTokenFiles { simulator.sms.register(productToken: try InputFile(file).word) }
    for account in twilioAccounts { simulator.sms.register(accountSID: account.id, authToken: try account.secret) }
  }

  /// The file itself tells whose account it is.
  private static func registerServiceAccount(_ file: String, with simulator: PushSimulator) throws {
    let text = try InputFile(file).text
    do {
      try simulator.fcm.register(keyFile: text)
    } catch {
      do {
        try simulator.hms.register(keyFile: text)
      } catch {
        throw CommandFailure(
          "The file \(file) is not a service account's key. Give the .json file that Google's or Huawei's console issued."
        )
      }
    }
  }
}

/// A team's signing key that the Simulator checks signatures with: `TEAM/KEY=FILE.p8`.
struct TrustedSigningKey: ExpressibleByArgument {
  let teamID: String
  let keyID: String
  let file: String

  init?(argument: String) {
    let sides = argument.split(separator: "=", maxSplits: 1)
    guard sides.count == 2 else { return nil }
    let names = sides[0].split(separator: "/", omittingEmptySubsequences: false)
    guard names.count == 2, names.allSatisfy({ !$0.isEmpty }) else { return nil }
    teamID = String(names[0])
    keyID = String(names[1])
    file = String(sides[1])
  }

  /// - Throws: `CommandFailure` that names the file.
  func register(with apns: SimulatedAPNs) throws {
    let text = try InputFile(file).text
    do {
      try apns.trust(teamID: teamID, keyID: keyID, signingKey: text)
    } catch {
      throw CommandFailure("The file \(file) is not a signing key. Give the .p8 file that Apple issued.")
    }
  }
}

/// What signs in with a secret: `ID=FILE`.
struct TrustedClient: ExpressibleByArgument {
  let id: String
  private let file: String

  init?(argument: String) {
    let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2, sides.allSatisfy({ !$0.isEmpty }) else { return nil }
    id = String(sides[0])
    file = String(sides[1])
  }

  /// - Throws: `CommandFailure` that names the file.
  var secret: String { get throws { try InputFile(file).word } }
}

/// A client of a tenant at Microsoft Entra: `TENANT/CLIENT=FILE`.
struct TrustedTenantClient: ExpressibleByArgument {
  let tenantID: String
  let client: TrustedClient

  init?(argument: String) {
    let parts = argument.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains("="),
      let client = TrustedClient(argument: String(parts[1]))
    else { return nil }
    tenantID = String(parts[0])
    self.client = client
  }
}

extension InputFile {
  /// The one word that the file holds, such as a secret.
  /// - Throws: `CommandFailure` that names the file.
  fileprivate var word: String {
    get throws {
      let words = try text.split(whereSeparator: \.isWhitespace)
      guard words.count == 1 else { throw CommandFailure("The file \(path) does not hold one word, as a secret is.") }
      return String(words[0])
    }
  }
}
