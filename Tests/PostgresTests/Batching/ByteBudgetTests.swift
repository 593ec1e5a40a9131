import Postgres
import Testing

@Suite struct ByteBudgetTests {
  @Test func `A key has a share, and all have a limit, until bytes are released`() throws {
    let budget = ByteBudget<String>(key: 100, all: 250)
    func isRefused(_ bytes: Int, _ key: String) -> Bool {
      do {
        _ = try budget.reserve(bytes, for: key)
        return false
      } catch {
        return true
      }
    }
    var held = [try budget.reserve(60, for: "a"), try budget.reserve(40, for: "a")]
    #expect(isRefused(1, "a"))
    #expect(!isRefused(100, "b"))
    held.append(try budget.reserve(100, for: "b"))
    #expect(isRefused(51, "c"))
    #expect(!isRefused(50, "c"))
    held.removeFirst()
    #expect(!isRefused(60, "a") && isRefused(61, "a"))
    held.removeAll()
    #expect(!isRefused(100, "a"))
  }

  @Test func `What is larger than a share is refused only while there is something else`() throws {
    let budget = ByteBudget<Int>(key: 10, all: 20)
    let large = try budget.reserve(50, for: 1)
    #expect(throws: PostgresError.self) { try budget.reserve(1, for: 2) }
    withExtendedLifetime(large) {}
  }
}
