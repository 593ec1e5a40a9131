@testable import Registry

import Foundation
import Postgres
import Support
import Testing
import Wire

/// .p12 files that the openssl command made.
@Suite struct PushCertificateFileTests {
  /// A folder with a certificate as Apple makes one, and its key.
  private struct Files {
    let folder: URL
    /// Days that the certificate is valid.
    static let days = 300

    /// - Parameters:
    ///   - marks: `1` for the development environment, `2` for production.
    ///   - topics: the extension that lists topics, as openssl's configuration has it.
    init(
      appID: String = "com.acme.app", marks: [Int] = [2],
      topics: String = "1.2.840.113635.100.6.3.6=ASN1:SEQUENCE:topics"
    ) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "p12-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let environments = marks.map { "1.2.840.113635.100.6.3.\($0)=ASN1:NULL\n" }.joined()
      let configuration = """
        [req]
        distinguished_name=dn
        x509_extensions=ext
        prompt=no
        [dn]
        UID=\(appID)
        CN=Apple Push Services: \(appID)
        [ext]
        \(environments)\(topics)
        [topics]
        a=UTF8:\(appID)
        b=SEQUENCE:app
        c=UTF8:\(appID).voip
        d=SEQUENCE:voip
        [app]
        a=UTF8:app
        [voip]
        a=UTF8:voip
        """
      try configuration.write(to: folder.appending(path: "openssl.cnf"), atomically: true, encoding: .utf8)
      for name in ["own", "other"] {
        try openssl(
          "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", "openssl.cnf", "-days", "\(Self.days)", "-keyout",
          "\(name).key", "-out", "\(name).pem")
      }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    func openssl(_ arguments: String...) throws { try openssl(arguments) }

    func openssl(_ arguments: [String]) throws {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["openssl"] + arguments
      process.currentDirectoryURL = folder
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "openssl \(arguments)")
    }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }

    /// A .p12 file of own.pem and own.key, unless the arguments say otherwise.
    func p12(_ arguments: [String] = [], password: String = "pass word") throws -> Secret {
      let own = arguments.contains("-inkey") || arguments.contains("-nokeys") ? [] : ["-inkey", "own.key"]
      let certificate = arguments.contains("-nocerts") ? [] : ["-in", "own.pem"]
      try openssl(
        ["pkcs12", "-export", "-passout", "pass:\(password)", "-out", "file.p12"] + own + certificate + arguments)
      return Secret(bytes: try bytes("file.p12"))
    }
  }

  private func withFiles(
    appID: String = "com.acme.app", marks: [Int] = [2], _ body: (Files) async throws -> Void
  ) async throws {
    let files = try Files(appID: appID, marks: marks)
    defer { files.remove() }
    try await body(files)
  }

  private func read(
    _ file: Secret, _ password: String? = "pass word", for purpose: PushCertificateFile.Purpose = .production,
    appID: String = "com.acme.app", now: Date = Date()
  ) throws -> PushCertificateFile {
    try PushCertificateFile(file, password: password.map { Secret($0) }, for: purpose, appID: appID, now: now)
  }

  private func expect(
    _ field: String, _ sentence: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> PushCertificateFile
  ) {
    let error = #expect(throws: RegistryError.self, sourceLocation: sourceLocation) { try body() }
    guard case .credential(let named, let said)? = error else {
      Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(named == field && said.contains(sentence), "\(named): \(said)", sourceLocation: sourceLocation)
  }

  @Test(arguments: [
    [], ["-legacy"], ["-keypbe", "NONE", "-certpbe", "NONE"], ["-legacy", "-certfile", "other.pem"],
    ["-legacy", "-keypbe", "PBE-SHA1-RC2-40", "-certpbe", "PBE-SHA1-3DES"], ["-macalg", "sha384"],
  ])
  func `A .p12 file is read whatever it is encrypted with`(arguments: [String]) async throws {
    try await withFiles { files in
      for password in ["pass word", ""] {
        let file = try read(files.p12(arguments, password: password), password)
        #expect(file.certificate.name == "Apple Push Services: com.acme.app")
        #expect(file.certificate.topics == ["com.acme.app", "com.acme.app.voip"])
        #expect(file.certificate.isForProduction && !file.certificate.isForDevelopment)
        #expect(file.certificate.chain.count == (arguments.contains("-certfile") ? 2 : 1))
        try files.openssl("x509", "-in", "own.pem", "-outform", "der", "-out", "own.der")
        #expect(Array(try #require(file.certificate.chain.first)) == (try files.bytes("own.der")))
        let end = Date().addingTimeInterval(Double(Files.days) * 86_400)
        #expect(abs(file.notAfter.timeIntervalSince(end)) < 86_400)
        try files.openssl("pkey", "-in", "own.key", "-traditional", "-outform", "der", "-out", "own.key.der")
        #expect(Array(file.certificate.privateKey) == (try files.bytes("own.key.der")))
      }
      let base64 = Data(try files.bytes("file.p12")).base64EncodedString(options: .lineLength76Characters)
      #expect(try read(Secret(base64), "").notAfter > Date())
    }
  }

  @Test func `A universal certificate serves either environment`() async throws {
    try await withFiles(marks: [1, 2]) { files in
      for purpose in [PushCertificateFile.Purpose.development, .production] {
        let certificate = try read(files.p12(["-legacy"]), for: purpose).certificate
        #expect(certificate.isForDevelopment && certificate.isForProduction)
      }
    }
  }

  @Test(arguments: [
    ("com.acme.app", "UTF8:com.acme.app.voip"), ("com.acme.app", "SEQUENCE:topics"), ("com.acme.app", "NULL"),
    ("com.acme.app.voip", "NULL"),
  ])
  func `The extension for calls alone lets a certificate send them`(appID: String, value: String) throws {
    let files = try Files(appID: appID, topics: "1.2.840.113635.100.6.3.4=ASN1:\(value)")
    defer { files.remove() }
    let file = try read(files.p12(), appID: appID)
    #expect(file.certificate.topics == (appID == "com.acme.app" ? [appID, "com.acme.app.voip"] : [appID]))
  }

  @Test func `Each wrong file is refused with what it is`() async throws {
    try await withFiles { files in
      let field = "productionCertificate"
      let good = try files.p12(["-legacy"])
      expect("certificatePassword", "It does not open the file in \(field)") { try read(good, "wrong") }
      expect("certificatePassword", "It does not open") { try read(good, nil) }
      expect("certificatePassword", "It does not open") { try read(files.p12(["-nokeys"]), "wrong") }
      expect(field, "“Apple Push Services: com.acme.app” expired on ") {
        try read(good, now: Date().addingTimeInterval(301 * 86_400))
      }
      expect(field, "is for the app com.acme.app, and not for com.acme.other") {
        try read(good, appID: "com.acme.other")
      }
      expect("developmentCertificate", "is for the production environment, and belongs in productionCertificate") {
        try read(good, for: .development)
      }
      expect(field, "holds no private key") { try read(files.p12(["-nokeys"])) }
      expect(field, "a private key and no certificate") { try read(files.p12(["-nocerts"])) }
      // NIOSSLPKCS12Bundle would end the process with this one, and with the two before it.
      expect(field, "belongs to none of its certificates") {
        try read(files.p12(["-nocerts", "-certfile", "other.pem"]))
      }
      try files.openssl("x509", "-in", "own.pem", "-outform", "der", "-out", "own.cer")
      for name in ["own.cer", "own.pem"] {
        expect(field, "This is a certificate without its private key") { try read(Secret(bytes: files.bytes(name))) }
      }
      expect(field, "This is a signing key (.p8), which belongs in signingKey") {
        try read(try #require(NewPushApp.ios().service[.signingKey]))
      }
      let both = try files.bytes("own.pem") + files.bytes("own.key")
      expect(field, "in PEM form") { try read(Secret(bytes: both)) }
      expect(field, "This is empty") { try read(Secret("")) }
      expect(field, "not a .p12 file") { try read(Secret("hello")) }
      expect(field, "too long") { try read(Secret(bytes: [UInt8](repeating: 48, count: 50_000))) }
      for length in [20, 100, 1000, good.bytes.count - 1] {
        expect(field, "damaged or cut off") { try read(Secret(bytes: Array(good.bytes.prefix(length)))) }
      }
    }
    try await withFiles(marks: []) { files in
      expect("productionCertificate", "is no certificate for push") { try read(files.p12()) }
    }
  }

  /// No file may end the process, or be taken for another one.
  @Test func `A file with any byte changed is refused, or is read as the one it was`() async throws {
    try await withFiles { files in
      for arguments in [["-legacy"], ["-legacy", "-keypbe", "NONE", "-certpbe", "NONE"]] {
        let good = try files.p12(arguments)
        let whole = try read(good).certificate
        for place in stride(from: 0, to: good.bytes.count, by: 7) {
          var bytes = good.bytes
          bytes[place] ^= 1 << UInt8(place % 8)
          guard let file = try? read(Secret(bytes: bytes)) else { continue }
          #expect(file.certificate == whole)
        }
      }
    }
  }

  @Test func `A stored certificate opens the push service, until a signing key is there too`() async throws {
    try await withFiles(marks: [1, 2]) { files in
      try await withDatabase { database in
        let customer = try await database.customer()
        let vault = try Vault.fresh()
        let apps = PushApps(database.pool, vault: vault)
        let app = try await apps.add(
          customer,
          NewPushApp(
            appID: "com.acme.app", type: .ios, name: "Acme",
            service: PushServiceFields([
              .productionCertificate: try files.p12(["-legacy"]), .certificatePassword: Secret("pass word"),
            ])))
        let stored = try #require(app.credentials.first)
        #expect(stored.kind == .apnsProductionCertificate && stored.account == "Apple Push Services: com.acme.app")
        #expect(stored.notAfter.map { $0 > Date() } == true && app.warnings.isEmpty && app.missingCredential == nil)
        let opened = try await PushCredentialVault(database.pool, vault: vault).credentials(for: app)
        guard case .apnsCertificates(let development, let production)? = opened else {
          Issue.record("\(String(describing: opened))")
          return
        }
        // It is for both environments.
        #expect(development == production && production != nil)
        #expect("\(try #require(opened))" == "Apple Push Services: com.acme.app, Apple Push Services: com.acme.app")
        let both = try await apps.update(customer, app.id, PushAppUpdate(service: NewPushApp.ios().service))
        #expect(both.credentials.count == 2 && both.certificates.isEmpty)
        guard case .apns? = try await PushCredentialVault(database.pool, vault: vault).credentials(for: both) else {
          Issue.record("the signing key is not used")
          return
        }
      }
    }
  }

  @Test(arguments: [
    (PushServiceFields([.certificatePassword: Secret("x")]), "certificatePassword"),
    (
      PushServiceFields([.productionCertificate: Secret("x"), .certificatePassword: Secret("pässword")]),
      "certificatePassword"
    ),
    (
      PushServiceFields([
        .developmentCertificate: Secret("x"), .certificatePassword: Secret(String(repeating: "x", count: 201)),
      ]),
      "certificatePassword"
    ),
  ])
  func `A password that opens nothing, or cannot, is refused`(_ fields: PushServiceFields, _ field: String) {
    let error = #expect(throws: RegistryError.self) { try fields.checked(for: .ios) }
    guard case .invalid(field, _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `A certificate is warned of thirty days before its end`() {
    let end = Date(timeIntervalSince1970: 1_800_000_000)
    let certificate = PushCredential(
      kind: .apnsProductionCertificate, fingerprint: "", account: nil, notAfter: end, updatedAt: end)
    func warning(_ days: Double) -> String? { certificate.expiryWarning(at: end.addingTimeInterval(-days * 86_400)) }
    #expect(warning(30.01) == nil)
    #expect(warning(30)?.hasPrefix("The productionCertificate expires on 2027-01-15.") == true)
    #expect(warning(0)?.hasPrefix("The productionCertificate expired on 2027-01-15") == true)
  }
}
