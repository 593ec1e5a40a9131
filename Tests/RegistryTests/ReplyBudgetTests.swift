import Registry
import Testing
import Wire

@Suite struct ReplyBudgetTests {
  @Test func `A customer's large replies have a limit, the first may be of any size, and small ones are not counted`()
    throws
  {
    let budget = ReplyBudget()
    let (customer, other) = (CustomerID(1), CustomerID(2))
    #expect(try budget.reserve(ReplyBudget.large, for: customer) == nil)
    var first = try budget.reserve(20 << 20, for: customer)
    #expect(first != nil)
    #expect(throws: (any Error).self) { try budget.reserve(1 << 20, for: customer) }
    #expect(try budget.reserve(1 << 10, for: customer) == nil)
    // All together have a limit, too.
    let second = try budget.reserve(8 << 20, for: other)
    #expect(throws: (any Error).self) { try budget.reserve(8 << 20, for: CustomerID(3)) }
    first = nil
    #expect(try budget.reserve(8 << 20, for: customer) != nil)
    #expect(second != nil)
  }
}
