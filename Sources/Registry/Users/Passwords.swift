import Crypto
import CryptoExtras
import Dispatch
import FoundationEssentials
import Locking
import Wire

/// Hashes passwords by scrypt (RFC 7914), off the threads that answer requests, and a few at a time.
///
/// A hash takes 32 MiB and about a quarter of a second of a core. A hub makes two at a time, and refuses what would wait for long.
package final class Passwords: Sendable {
  /// Two hashes at a time.
  private let queues = [DispatchQueue(label: "pushcart.passwords.1"), DispatchQueue(label: "pushcart.passwords.2")]
  private let state = Mutex<(next: Int, waiting: Int)>((0, 0))
  private let cost: Int

  /// Most hashes that are made or wait at a time.
  private static let mostWaiting = 40
  private static let (blockSize, parallelism, saltSize, hashSize) = (8, 3, 16, 32)
  /// Costs of stored hashes that are taken: more would take too much memory.
  private static let costs = 1...18

  /// - Parameter cost: the binary logarithm of scrypt's N. Tests take a small one.
  package init(cost: Int = 15) { self.cost = cost }

  /// The hash of a password with a new salt, with its parameters.
  /// - Parameter password: as `PasswordRule` takes it.
  /// - Throws: `RegistryError.tooManyPasswords`.
  func hash(_ password: String) async throws -> String {
    let salt = (0..<Self.saltSize).map { _ in UInt8.random(in: 0 ... .max) }
    let hash = try await derive(PasswordRule.bytes(of: password), salt, cost)
    return
      "$scrypt$ln=\(cost),r=\(Self.blockSize),p=\(Self.parallelism)$\(Base64URL.text(salt))$\(Base64URL.text(hash))"
  }

  /// Whether a password has this hash. It takes as long if there is no hash.
  /// - Throws: `RegistryError.tooManyPasswords`.
  func verify(_ password: String, _ stored: String?) async throws -> Bool {
    let known = stored.flatMap(StoredHash.init)
    let bytes = PasswordRule.bytes(of: password)
    let hash = try await derive(
      Array(bytes.prefix(PasswordRule.mostBytes)), known?.salt ?? Array(repeating: 0, count: Self.saltSize),
      known?.cost ?? cost)
    guard let known, bytes.count <= PasswordRule.mostBytes else { return false }
    return hash.isEqual(inConstantTime: known.hash)
  }

  private func derive(_ password: [UInt8], _ salt: [UInt8], _ cost: Int) async throws -> [UInt8] {
    let queue = state.withLock { state -> DispatchQueue? in
      guard state.waiting < Self.mostWaiting else { return nil }
      state = ((state.next + 1) % queues.count, state.waiting + 1)
      return queues[state.next]
    }
    guard let queue else { throw RegistryError.tooManyPasswords }
    defer { state.withLock { $0.waiting -= 1 } }
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(
          with: Result {
            try KDF.Scrypt.deriveKey(
              from: password, salt: salt, outputByteCount: Self.hashSize, rounds: 1 << cost, blockSize: Self.blockSize,
              parallelism: Self.parallelism
            ).withUnsafeBytes { Array($0) }
          })
      }
    }
  }

  /// A hash as it is stored.
  private struct StoredHash {
    let cost: Int
    let salt: [UInt8]
    let hash: [UInt8]

    init?(_ text: String) {
      let parts = text.split(separator: "$", omittingEmptySubsequences: false)
      guard parts.count == 5, parts[1] == "scrypt", parts[2].hasPrefix("ln="),
        parts[2].hasSuffix(",r=\(Passwords.blockSize),p=\(Passwords.parallelism)"),
        let cost = Int(parts[2].dropFirst(3).prefix { $0 != "," }), Passwords.costs.contains(cost),
        let salt = Base64URL.decode(Array(parts[3].utf8)), let hash = Base64URL.decode(Array(parts[4].utf8)),
        hash.count == Passwords.hashSize
      else { return nil }
      (self.cost, self.salt, self.hash) = (cost, salt, hash)
    }
  }
}
