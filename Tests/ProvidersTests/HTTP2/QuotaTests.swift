import NIOCore
import NIOPosix
import Support
import Locking
import Testing
import Wire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@testable import Providers

/// What customers take at addresses that they name.
@Suite struct QuotaTests {
  private static func holder(_ customer: Int64) -> QuotaHolder {
    QuotaHolder(customer: CustomerID(customer), service: "webhook")
  }

  private static let loop = MultiThreadedEventLoopGroup.singleton.next()

  @Test func `Nobody has more than its share, nor more than it leaves free`() {
    var count = SharedCount<Int>(most: 6, total: 20)
    #expect(count.take(upTo: 100, for: 1) == 6)
    #expect(count.take(upTo: 1, for: 1) == 0)
    #expect(count.take(upTo: 100, for: 2) == 6)
    #expect(count.take(upTo: 100, for: 3) == 4)
    #expect(count.take(upTo: 100, for: 4) == 2)
    #expect(count.take(upTo: 100, for: 5) == 1)
    count.release(6, of: 1)
    #expect(count.held(by: 1) == 0 && count.used == 13)
    #expect(count.take(upTo: 100, for: 1) == 3)
  }

  /// Random customers and addresses: shares never exceed, whoever holds nothing finds something, and nothing is lost.
  @Test(arguments: 0..<20)
  func `Places are bounded whoever asks`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let most = Int.random(in: 2...40, using: &generator)
    var count = SharedCount<Int>(most: most, total: most * Int.random(in: 2...8, using: &generator))
    var held: [Int: Int] = [:]
    for _ in 0..<2000 {
      let holder = Int.random(in: 0..<30, using: &generator)
      if Bool.random(using: &generator) {
        let room = count.capacity(for: holder)
        let taken = count.take(upTo: Int.random(in: 1...most, using: &generator), for: holder)
        #expect(taken <= room && (taken > 0) == (room > 0))
        held[holder, default: 0] += taken
        if taken > 0 { #expect(count.held(by: holder) <= count.total - count.used) }
      } else if let own = held[holder], own > 0 {
        let given = Int.random(in: 1...own, using: &generator)
        count.release(given, of: holder)
        held[holder] = own - given
      }
      #expect(held.allSatisfy { $0.value <= most && $0.value == count.held(by: $0.key) })
      #expect(count.used == held.values.reduce(0, +) && count.used <= count.total)
    }
  }

  @Test func `One customer's address that hangs leaves places to its others, and to others`() {
    let quotas = Quotas(.init(places: 8, allPlaces: 64))
    let leases = Mutex<[PlaceLease]>([])
    func take(_ count: Int, _ customer: Int64, _ address: String) -> Int {
      let taken = Mutex(0)
      quotas.take(count, of: Self.holder(customer), at: address, timeout: .hours(1), on: Self.loop) { lease in
        taken.withLock { $0 += lease.count }
        leases.withLock { $0.append(lease) }
      } giveUp: { _, _ in
      }
      return taken.withLock { $0 }
    }
    #expect(take(100, 1, "a") == 4)
    #expect(take(100, 1, "b") == 2)
    #expect(take(100, 1, "c") == 1)
    #expect(take(100, 2, "a") == 4)
  }

  @Test func `What waits for a place gets it once it is free, or gives up`() async {
    let quotas = Quotas(.init(places: 4, allPlaces: 64))
    let first = Mutex<PlaceLease?>(nil)
    let (outcomes, told) = AsyncStream.makeStream(of: Int.self)
    quotas.take(2, of: Self.holder(1), at: "a", timeout: .hours(1), on: Self.loop) { lease in
      first.withLock { $0 = lease }
    } giveUp: { _, _ in
    }
    // Its lease ends with the closure.
    quotas.take(3, of: Self.holder(1), at: "a", timeout: .seconds(600), on: Self.loop) {
      told.yield($0.count)
    } giveUp: { _, _ in
    }
    quotas.take(1, of: Self.holder(1), at: "a", timeout: .zero, on: Self.loop) { _ in
    } giveUp: { count, _ in
      told.yield(-count)
    }
    var iterator = outcomes.makeAsyncIterator()
    #expect(await iterator.next() == -1)
    first.withLock { $0?.end(1) }
    #expect(await iterator.next() == 1)
    first.withLock { $0 = nil }
    #expect(await iterator.next() == 1)
    #expect(await iterator.next() == 1)
    #expect(quotas.places(of: Self.holder(1)) == 0)
  }

  @Test func `Names that a customer's resolver does not answer take nobody else's threads`() async throws {
    let isReleased = Atomic(false)
    let lookUps = LookUps(threads: 8, timeout: .milliseconds(50)) { host, port, _ in
      if host.hasPrefix("slow") { while !isReleased.load(ordering: .acquiring) { usleep(10_000) } }
      return (try? [SocketAddress(ipAddress: "192.0.2.1", port: port)]) ?? []
    }
    let loop = Self.loop
    let slow = (1...20).map { lookUps.addresses(of: "slow\($0)", 443, AF_INET, for: Self.holder(1), on: loop) }
    // On a busy machine, one may take longer than it is waited for.
    try await waitUntil {
      try await lookUps.addresses(of: "quick", 443, AF_INET, for: Self.holder(2), on: loop).get().count == 1
    }
    // Those that ask are told in time, whatever their threads do.
    for one in slow { #expect(try await one.get().isEmpty) }
    #expect(try await lookUps.addresses(of: "192.0.2.7", 443, AF_INET, for: Self.holder(1), on: loop).get().count == 1)
    isReleased.store(true, ordering: .releasing)
    try await waitUntil {
      try await lookUps.addresses(of: "quick", 443, AF_INET, for: Self.holder(1), on: loop).get().count == 1
    }
  }
}
