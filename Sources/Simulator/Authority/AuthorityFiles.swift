import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Where a certificate authority is kept from one start to the next: a hub that runs goes on trusting the Simulator when that is
/// started again.
struct AuthorityFiles {
  /// The certificate, for clients.
  let certificate: String
  /// Its key beside it, for the owner alone.
  var key: String { "\(certificate).key" }

  /// The authority of an earlier start, or a new one if there is none that still serves.
  /// - Throws: if a new one cannot be written.
  func authority(now: Date = Date()) throws -> CertificateAuthority {
    if let kept = try? CertificateAuthority(pem: text(certificate), keyPEM: text(key)), kept.serves(at: now) {
      return kept
    }
    let authority = try CertificateAuthority(now: now)
    try keep(try authority.keyPEM, in: key)
    try Data(authority.pem.utf8).write(to: URL(filePath: certificate), options: .atomic)
    return authority
  }

  private func text(_ file: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
  }

  /// Writes a file that nobody else can open at any time.
  private func keep(_ text: String, in file: String) throws {
    let draft = "\(file).new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
    let bytes = Array(text.utf8)
    let written = write(descriptor, bytes, bytes.count)
    close(descriptor)
    guard written == bytes.count, rename(draft, file) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}
