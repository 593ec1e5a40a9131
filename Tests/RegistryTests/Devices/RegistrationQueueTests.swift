import FoundationEssentials
@testable import Registry
import Testing
import Wire

@Suite struct RegistrationQueueTests {
  @Test func `A lone registration goes at once`() throws {
    var queue = RegistrationQueue(limit: 1)
    queue.add(try waiting(1, "a", ["t"]))
    #expect(queue.takeNext() == [1])
    #expect(queue.takeNext() == nil)
  }

  @Test func `What arrives meanwhile is collected into the next statement`() throws {
    var queue = RegistrationQueue(limit: 1)
    queue.add(try waiting(1, "a", ["t1"]))
    let first = queue.next { _ in true }
    for id in 2...5 { queue.add(try waiting(id, "c\(id)", ["t\(id)"])) }
    #expect(queue.takeNext() == nil)
    queue.end(try #require(first))
    #expect(queue.takeNext() == [2, 3, 4, 5])
  }

  @Test func `No more statements are under way than the limit`() throws {
    var queue = RegistrationQueue(limit: 2)
    for id in 1...3 {
      queue.add(try waiting(id, "c\(id)", ["t\(id)"]))
      #expect(queue.takeNext() == (id < 3 ? [id] : nil))
    }
  }

  @Test func `A statement takes at most 256 devices, but one registration whatever its size`() throws {
    var queue = RegistrationQueue(limit: 9)
    for id in 1...3 { queue.add(try waiting(id, "c\(id)", (1...100).map { "t\(id)-\($0)" })) }
    #expect(queue.takeNext() == [1, 2])
    #expect(queue.takeNext() == [3])
  }

  @Test func `Registrations of one contact go one after another in the order they came`() throws {
    var queue = RegistrationQueue(limit: 2)
    for id in 1...3 { queue.add(try waiting(id, "same", ["t\(id)"])) }
    queue.add(try waiting(4, "other", ["t4"]))
    let first = try #require(queue.next { _ in true })
    #expect(first.map(\.id) == [1, 4])
    #expect(queue.takeNext() == nil)
    queue.end(first)
    #expect(queue.takeNext() == [2])
  }

  @Test func `Registrations of one token go one after another, in either spelling`() throws {
    var queue = RegistrationQueue(limit: 2)
    queue.add(try waiting(1, "a", ["ABCD"]))
    queue.add(try waiting(2, "b", ["abcd"]))
    let first = try #require(queue.next { _ in true })
    #expect(first.map(\.id) == [1])
    #expect(queue.takeNext() == nil)
    queue.end(first)
    #expect(queue.takeNext() == [2])
  }

  @Test func `A registration that waits holds back those behind it that touch the same`() throws {
    var queue = RegistrationQueue(limit: 2)
    queue.add(try waiting(1, "a", ["t1"]))
    let first = try #require(queue.next { _ in true })
    queue.add(try waiting(2, "a", ["t2"]))
    queue.add(try waiting(3, "b", ["t2"]))
    queue.add(try waiting(4, "c", ["t4"]))
    #expect(queue.takeNext() == [4])
    queue.end(first)
    #expect(queue.takeNext() == [2])
  }

  @Test func `What nobody waits for any more is dropped`() throws {
    var queue = RegistrationQueue(limit: 2)
    for id in 1...4 { queue.add(try waiting(id, "c\(id)", ["t\(id)"])) }
    #expect(queue.next { $0.isMultiple(of: 2) }?.map(\.id) == [2, 4])
    #expect(queue.waiting.isEmpty)
  }

  @Test func `When no statement ends for a while, others may go beside it, but not for ever more`() throws {
    var queue = RegistrationQueue(limit: 1)
    for id in 1...9 {
      queue.add(try waiting(id, "c\(id)", (1...200).map { "t\(id)-\($0)" }))
    }
    let stuck = try #require(queue.next { _ in true })
    #expect(queue.takeNext() == nil)
    for id in 2...4 {
      queue.tick()
      #expect(queue.takeNext() == [id])
    }
    queue.tick()
    #expect(queue.takeNext() == nil)
    queue.end(stuck)
    queue.tick()
    #expect(queue.takeNext() == nil)
  }

  @Test func `A queue is empty once everything has ended`() throws {
    var queue = RegistrationQueue(limit: 2)
    #expect(queue.isEmpty)
    queue.add(try waiting(1, "a", ["t"]))
    #expect(!queue.isEmpty)
    let batch = try #require(queue.next { _ in true })
    #expect(!queue.isEmpty)
    queue.end(batch)
    #expect(queue.isEmpty)
  }

  private func waiting(_ id: Int, _ originalID: String, _ tokens: [String]) throws -> RegistrationQueue.Waiting {
    var body = PushDevicesBody()
    body.originalId = originalID
    body.deviceInfo = tokens.map { token in
      var device = PushDevicesBody.DeviceInfo()
      device.deviceToken = token
      return device
    }
    let app = PushApp(
      id: PushAppID(1), customer: CustomerID(1), appID: "com.acme.app", type: .ios, name: "Acme", teamID: nil,
      keyID: nil, credentials: [], alarm: nil, createdAt: .distantPast, updatedAt: .distantPast)
    return RegistrationQueue.Waiting(id: id, registration: try Registration(body, apps: [app]), tells: false)
  }
}

extension RegistrationQueue {
  fileprivate mutating func takeNext() -> [Int]? { next { _ in true }?.map(\.id) }
}
