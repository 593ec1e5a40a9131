import DequeModule

/// Which of a customer's waiting registrations go into the next statement: a value that decides and does nothing.
///
/// A registration waits until no statement is under way that touches one of its contact and tokens, nor one that came
/// before it and touches them still waits. So each contact and each token sees its registrations in the order they came, no
/// statement touches a row twice, and statements under way at once never wait for each other's rows. Whatever else waits
/// is collected; a statement never waits for its batch to fill.
struct RegistrationQueue {
  /// A registration that waits for its statement.
  struct Waiting {
    let id: Int
    let registration: Registration
    /// Whether the caller wants to be told of the contact and all its devices.
    let tells: Bool
    let keys: [Int]

    init(id: Int, registration: Registration, tells: Bool) {
      self.id = id
      self.registration = registration
      self.tells = tells
      keys = registration.keys
    }
  }

  /// Most devices of one statement.
  static let maximumDevices = 256

  private(set) var waiting: Deque<Waiting> = []
  private(set) var underWay = 0
  private var busy: Set<Int> = []
  private let limit: Int
  /// Statements allowed beyond the limit, since those under way do not end.
  private var extra = 0
  private var hasEnded = false
  private static let maximumExtra = 3

  /// - Parameter limit: most statements under way at once.
  init(limit: Int) { self.limit = limit }

  var isEmpty: Bool { waiting.isEmpty && underWay == 0 }

  mutating func add(_ registration: Waiting) { waiting.append(registration) }

  /// The next statement's registrations, which are under way from now on; `nil` when none may go now.
  /// - Parameter isWanted: whether somebody still waits for the answer to the registration of that id; those that nobody
  ///   waits for are dropped.
  mutating func next(isWanted: (Int) -> Bool) -> [Waiting]? {
    guard underWay < limit + extra, !waiting.isEmpty else { return nil }
    var taken: [Waiting] = []
    var passed: [Waiting] = []
    var seen: Set<Int> = []
    var devices = 0
    while let first = waiting.first {
      guard taken.isEmpty || devices + first.registration.devices.count <= Self.maximumDevices else { break }
      waiting.removeFirst()
      guard isWanted(first.id) else { continue }
      if first.keys.contains(where: { busy.contains($0) || seen.contains($0) }) {
        passed.append(first)
      } else {
        taken.append(first)
        devices += first.registration.devices.count
      }
      seen.formUnion(first.keys)
    }
    for registration in passed.reversed() { waiting.prepend(registration) }
    guard !taken.isEmpty else { return nil }
    underWay += 1
    for registration in taken { busy.formUnion(registration.keys) }
    return taken
  }

  /// Half a second has passed. If no statement has ended in it, one of them waits for a lock that somebody holds, and what
  /// does not touch the same rows need not wait with it.
  mutating func tick() {
    extra = hasEnded || underWay == 0 ? 0 : min(extra + 1, Self.maximumExtra)
    hasEnded = false
  }

  /// The statement of these registrations has ended.
  mutating func end(_ batch: [Waiting]) {
    underWay -= 1
    hasEnded = true
    for registration in batch { busy.subtract(registration.keys) }
  }
}

extension Registration {
  /// Numbers that stand for the contact and each token. Two that are equal by chance only make one registration wait for
  /// another.
  fileprivate var keys: [Int] {
    var hasher = Hasher()
    var id = originalID
    id.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    var keys = [hasher.finalize()]
    for device in devices {
      var hasher = Hasher()
      hasher.combine(device.app)
      hasher.combine(device.token)
      keys.append(hasher.finalize())
    }
    return keys
  }
}
