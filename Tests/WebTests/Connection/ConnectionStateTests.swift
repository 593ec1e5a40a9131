import NIOCore
import Operations
import Support
import Testing

@testable import Web

@Suite struct ConnectionStateTests {
  private typealias State = ConnectionState<Int>

  @Test func `A request is handed over with its head, and its body follows`() {
    var state = State()
    #expect(state.read(.head(1, .length(3))).name == "answer 1")
    #expect(state.read(.body(ByteBuffer(string: "abc"))).name == "body abc")
    #expect(state.read(.end).name == "end")
  }

  @Test func `The next request waits for the reply to the one before`() {
    var state = State()
    #expect(state.read(.head(1, .length(0))).name == "answer 1")
    #expect(state.read(.end).name == "end")
    for number in 2...3 {
      #expect(state.read(.head(number, .length(0))).name == "none")
      #expect(state.read(.end).name == "none")
    }
    #expect(state.reply() == ["none", "answer 2", "end"])
    #expect(state.reply() == ["none", "answer 3", "end"])
    #expect(state.reply() == ["none"])
  }

  @Test(arguments: [
    (RequestFraming.length(65_537), true), (.length(65_536), false), (.unknown, true),
  ])
  func `A reply before the body's end is the last one, unless little is missing`(framing: RequestFraming, isLast: Bool)
  {
    var state = State()
    _ = state.read(.head(1, framing))
    #expect(state.reply() == (isLast ? ["last", "linger"] : ["none"]))
    #expect(state.read(.body(ByteBuffer(string: "a"))).name == "none")
    #expect(state.read(.end).name == (isLast ? "none" : "end"))
    #expect(state.read(.head(2, .length(0))).name == (isLast ? "none" : "answer 2"))
  }

  @Test func `A client that wants no further request gets its reply and no more`() {
    var state = State()
    _ = (state.read(.head(1, RequestFraming(bodyBytes: 0, keepsAlive: false))), state.read(.end))
    #expect(!state.wantsInput)
    _ = state.read(.head(2, .length(0)))
    #expect(state.reply() == ["last", "linger"])
    #expect(state.wantsInput)
    #expect(state.inputEnded().name == "close")
  }

  @Test func `A client that closed its side gets all its replies`() {
    var state = State()
    for number in 1...2 { _ = (state.read(.head(number, .length(0))), state.read(.end)) }
    #expect(state.inputEnded().name == "none")
    #expect(state.reply() == ["none", "answer 2", "end"])
    #expect(state.reply() == ["none", "close"])
  }

  @Test func `A server that stops answers the request in flight and no further one`() {
    var state = State()
    #expect(state.quiesce().name == "close")

    state = State()
    for number in 1...2 { _ = (state.read(.head(number, .length(0))), state.read(.end)) }
    #expect(state.quiesce().name == "none")
    #expect(state.reply() == ["last", "linger"])
  }

  @Test func `Malformed input is refused in its turn`() {
    var state = State()
    #expect(state.read(.malformed(.notHTTP)).name == "refuse")
    #expect(state.reply() == ["last", "linger"])

    state = State()
    _ = (state.read(.head(1, .length(0))), state.read(.end))
    #expect(state.read(.malformed(.notHTTP)).name == "none")
    #expect(state.reply() == ["none", "refuse"])

    state = State()
    _ = state.read(.head(1, .length(5)))
    #expect(state.inputEnded().name == "break")
    #expect(state.reply() == ["last", "close"])
  }

  @Test func `Reading stops while too much waits for a reply`() {
    var state = State()
    for number in 0..<20 { _ = (state.read(.head(number, .length(0))), state.read(.end)) }
    #expect(!state.wantsInput)
    for _ in 0..<5 { _ = state.reply() }
    #expect(state.wantsInput)
  }

  /// Whatever arrives in whatever pieces: requests are handed over in order, one at a time, with the bytes that were sent;
  /// nothing is handed over after the last reply; and all are answered if nobody wants to end.
  @Test(arguments: 0..<300)
  func `No order of events loses, doubles or mixes up a request`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var run = ConnectionRun(mayEnd: seed.isMultiple(of: 2), &generator)
    for _ in 0..<400 { run.step(&generator) }
    run.finish()
    #expect(run.faults == [])
    if !run.ended { #expect(run.answered == run.sent) }
  }
}

/// A client and a server at either end of a `ConnectionState`, taking turns at random.
private struct ConnectionRun {
  private var state = ConnectionState<Int>()
  private let mayEnd: Bool
  private var script: [ConnectionState<Int>.Part] = []
  private var bodies: [String] = []
  private var current: (number: Int, body: String, isWhole: Bool)?
  private(set) var answered = 0
  private(set) var ended = false
  private var isOver = false
  private(set) var faults: [String] = []
  private let requests = 12

  var sent: Int { requests }

  init(mayEnd: Bool, _ generator: inout SeededGenerator) {
    self.mayEnd = mayEnd
    for number in 0..<requests {
      let pieces = (0..<Int.random(in: 0...3, using: &generator)).map { "\(number).\($0);" }
      let length = pieces.reduce(0) { $0 + $1.utf8.count }
      script.append(.head(number, .length(length)))
      script += pieces.map { .body(ByteBuffer(string: $0)) } + [.end]
      bodies.append(pieces.joined())
    }
    script.reverse()
  }

  mutating func step(_ generator: inout SeededGenerator) {
    switch Int.random(in: 0..<(mayEnd ? 62 : 60), using: &generator) {
    case 0..<35: arrive()
    case 35..<60: reply()
    case 60:
      ended = true
      perform(state.quiesce())
    default:
      ended = true
      script = []
      perform(Bool.random(using: &generator) ? state.read(.malformed(.notHTTP)) : state.inputEnded())
    }
  }

  mutating func finish() {
    for _ in 0..<100 {
      while !script.isEmpty { arrive() }
      reply()
    }
  }

  private mutating func arrive() {
    if let part = script.popLast() { perform(state.read(part)) }
  }

  private mutating func reply() {
    guard let request = current else { return }
    if request.isWhole, request.body != bodies[request.number] { faults.append("\(request) is not what was sent") }
    if !bodies[request.number].hasPrefix(request.body) { faults.append("\(request) was made up") }
    current = nil
    answered += 1
    _ = state.replyBegins()
    perform(state.replyEnded())
    while let action = state.resume() { perform(action) }
  }

  private mutating func perform(_ action: ConnectionState<Int>.Action) {
    switch action {
    case .none, .breakBody: break
    case .answer(let number): begin(number)
    case .body(let bytes):
      if current == nil { faults.append("a body without a request") }
      current?.body += String(buffer: bytes)
    case .endBody: current?.isWhole = true
    case .refuse:
      _ = state.replyBegins()
      perform(state.replyEnded())
    case .linger, .close: isOver = true
    }
  }

  private mutating func begin(_ number: Int) {
    if isOver { faults.append("\(number) came after the end") }
    if current != nil { faults.append("\(number) came before the reply to the one before") }
    if number != answered { faults.append("\(number) came in place of \(answered)") }
    current = (number, "", false)
  }
}

extension ConnectionState<Int> {
  /// Writes a reply; returns the names of all that follows from it, after `last` if it says that no other will come.
  fileprivate mutating func reply() -> [String] {
    var names = replyBegins() ? ["last"] : []
    names.append(replyEnded().name)
    while let action = resume() { names.append(action.name) }
    return names
  }
}

extension ConnectionState<Int>.Action {
  fileprivate var name: String {
    switch self {
    case .none: "none"
    case .answer(let number): "answer \(number)"
    case .body(let bytes): "body \(String(buffer: bytes))"
    case .endBody: "end"
    case .breakBody: "break"
    case .refuse: "refuse"
    case .linger: "linger"
    case .close: "close"
    }
  }
}

extension RequestFraming {
  fileprivate static func length(_ bytes: Int) -> RequestFraming { RequestFraming(bodyBytes: bytes, keepsAlive: true) }
  fileprivate static let unknown = RequestFraming(bodyBytes: nil, keepsAlive: true)
}
