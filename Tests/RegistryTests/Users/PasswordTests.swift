import Testing
import Wire

@testable import Registry

@Suite struct PasswordTests {
  private let passwords = Passwords(cost: 4)

  @Test func `A password has its own hash, and no other password has it`() async throws {
    let hash = try await passwords.hash("correct horse battery")
    #expect(hash.hasPrefix("$scrypt$ln=4,r=8,p=3$") && !hash.contains("horse"))
    #expect(try await passwords.verify("correct horse battery", hash))
    for wrong in ["", "correct horse batter", "correct horse battery ", "Correct horse battery"] {
      #expect(try await !passwords.verify(wrong, hash), "\(wrong)")
    }
    #expect(try await passwords.hash("correct horse battery") != hash)
  }

  @Test func `The hash of a hub with another cost is still good`() async throws {
    let hash = try await Passwords(cost: 5).hash("correct horse battery")
    #expect(try await passwords.verify("correct horse battery", hash))
  }

  @Test(arguments: [
    nil, "", "x", "$scrypt$", "$scrypt$ln=4,r=8,p=3$$", "$scrypt$ln=40,r=8,p=3$AAAA$AAAA",
    "$scrypt$ln=4,r=1,p=1$AAAA$AAAA",
    "$2b$10$N9qo8uLOickgx2ZMRZoMye",
  ])
  func `Without a hash that can be read, no password is right`(hash: String?) async throws {
    #expect(try await !passwords.verify("correct horse battery", hash))
  }

  @Test func `A password is the same however a keyboard composes it`() async throws {
    let hash = try await passwords.hash("Stra\u{00DF}encaf\u{00E9} am Eck")
    #expect(try await passwords.verify("Stra\u{00DF}encafe\u{0301} am Eck", hash))
    #expect(try await !passwords.verify("Stra\u{00DF}encafe am Eck", hash))
  }

  @Test func `No more than 200 bytes are looked at`() async throws {
    let long = String(repeating: "correct horse ", count: 14) + "abcd"
    #expect(long.utf8.count == 200)
    let hash = try await passwords.hash(long)
    #expect(try await passwords.verify(long, hash))
    #expect(try await !passwords.verify(long + "e", hash))
    #expect(try await !passwords.verify(String(repeating: long, count: 1000), hash))
  }

  @Test func `Many passwords at a time are hashed by turns, and too many are refused`() async throws {
    let passwords = Passwords(cost: 12)
    let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<200 {
        group.addTask {
          do {
            return try await !passwords.verify("correct horse battery", nil)
          } catch RegistryError.tooManyPasswords {
            return false
          }
        }
      }
      return try await group.reduce(into: [Bool]()) { $0.append($1) }
    }
    #expect(outcomes.count { $0 } >= 40)
    #expect(try await !passwords.verify("correct horse battery", nil))
  }

  @Test(arguments: [
    "correct horse battery", "Fünf Möwen über Kiel", "ttbmqL8#rVxw", "密码是一个很长的句子啊啊对", "blue-lamp-river-42",
    String(repeating: "correct horse ", count: 14) + "abcd",
  ])
  func `A password that nobody guesses is taken`(password: String) throws {
    try PasswordRule.check(password, email: "mia@example.com", name: "Mia Jansen")
  }

  @Test(arguments: [
    ("", "is too short"), ("tooshort123", "is too short"), (String(repeating: "å", count: 11), "is too short"),
    (String(repeating: "correct horse ", count: 14) + "abcde", "is longer than 200 bytes"),
    ("correct\u{7}horse battery", "holds a control character"),
    ("aaaaaaaaaaaa", "is too easy to guess"), ("abababababab", "is too easy to guess"),
    ("abcdefghijklmnop", "is too easy to guess"), ("123456789012", "is too easy to guess"),
    ("password12345", "is too easy to guess"), ("Password1234!", "is too easy to guess"),
    ("mia@example.com", "is too easy to guess"), ("MIA@EXAMPLE.COM1", "is too easy to guess"),
    ("Mia Jansen 1234", "is too easy to guess"), ("JansenJansenMia", "is too easy to guess"),
    ("pushcart-admin1", "is too easy to guess"), ("qwertyuiop123", "is too easy to guess"),
  ])
  func `A password that is too short, too long or obvious is refused with the reason`(password: String, problem: String)
  {
    let error = #expect(throws: RegistryError.self) {
      try PasswordRule.check(password, email: "mia@example.com", name: "Mia Jansen")
    }
    guard case .invalid("password", let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.hasPrefix(problem), "\(reason)")
  }
}
