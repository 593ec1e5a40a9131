import NIOCore
import Support
import Testing

@testable import Web

@Suite struct ConnectionStateTests {
  private typealias State = HTTP1ConnectionState<Int>

  @Test func `A request that is here whole is handed over whole`() {
    var state = State()
    #expect(state.read(.head(1, .length(3))).name == "none")
    #expect(state.read(.body(ByteBuffer(string: "ab"))).name == "none")
    #expect(state.read(.body(ByteBuffer(string: "c"))).name == "none")
    #expect(state.read(.end).name == "answer 1 abc")
    #expect(state.readEnded().name == "none")
  }

  @Test func `A request whose body is still coming is handed over with the beginning`() {
    var state = State()
    _ = state.read(.head(1, .length(3)))
    _ = state.read(.body(ByteBuffer(string: "ab")))
    #expect(state.readEnded().name == "stream 1 ab")
    #expect(state.read(.body(ByteBuffer(string: "c"))).name == "feed c")
    #expect(state.read(.end).name == "end")
  }

  @Test func `The next request waits for the reply to the one before`() {
    var state = State()
    for number in 1...3 {
      _ = state.read(.head(number, .length(0)))
      #expect(state.read(.end).name == (number == 1 ? "answer 1 " : "none"))
    }
    for number in 2...3 {
      #expect(state.reply() == ["none", "none", "answer \(number) "])
    }
    #expect(state.reply() == ["none"])
  }

  @Test(arguments: [
    (RequestFraming.length(65_537), true), (.length(65_536), false), (.unknown, true),
  ])
  func `A reply before the body's end is the last one, unless little is missing`(framing: RequestFraming, isLast: Bool)
  {
    var state = State()
    _ = state.read(.head(1, framing))
    _ = state.readEnded()
    #expect(state.reply() == (isLast ? ["last", "leave"] : ["none"]))
    #expect(state.read(.end).name == "none")
    _ = state.read(.head(2, .length(0)))
    #expect(state.read(.end).name == (isLast ? "none" : "answer 2 "))
  }

  @Test(arguments: [
    (true, true, true, ReplyEnding.length), (true, true, false, .length), (true, false, true, .chunked),
    (true, false, false, .lastOfAll), (false, true, true, .lastOfAll), (false, false, true, .lastOfAll),
  ])
  func `A reply ends as its client understands it`(
    keepsAlive: Bool, saysLength: Bool, takesChunks: Bool, ending: ReplyEnding
  ) {
    var state = State()
    _ = state.read(.head(1, RequestFraming(bodyBytes: 0, keepsAlive: keepsAlive, takesChunks: takesChunks)))
    _ = state.read(.end)
    #expect(state.replyBegins(saysLength: saysLength) == ending)
    #expect((state.replyEnded().name == "close") == (ending == .lastOfAll))
  }

  @Test func `What is sent after the last reply is taken up to a limit`() {
    var state = State()
    _ = state.read(.head(1, .unknown))
    _ = state.readEnded()
    _ = (state.replyBegins(), state.replyEnded())
    let megabyte = ByteBuffer(repeating: 0, count: 1024 * 1024)
    for _ in 0..<8 { #expect(state.read(.body(megabyte)).name == "none") }
    #expect(state.read(.body(megabyte)).name == "close")
  }

  @Test func `A client that wants no further request, or sends none, is closed after the reply`() {
    var state = State()
    _ = state.read(.head(1, RequestFraming(bodyBytes: 0, keepsAlive: false)))
    _ = state.read(.end)
    #expect(state.reply() == ["last", "close"])

    state = State()
    for number in 1...2 { _ = (state.read(.head(number, .length(0))), state.read(.end)) }
    #expect(state.inputEnded().name == "none")
    #expect(state.reply() == ["none", "none", "answer 2 "])
    #expect(state.reply() == ["none", "close"])
  }

  @Test func `A server that ends answers what it has, and no more`() {
    var state = State()
    #expect(state.quiesce().name == "close")

    state = State()
    for number in 1...2 { _ = (state.read(.head(number, .length(0))), state.read(.end)) }
    #expect(state.quiesce().name == "none")
    #expect(state.reply() == ["last", "leave"])
  }

  @Test func `What is no HTTP is refused in its turn`() {
    var state = State()
    #expect(state.read(.garbage).name == "refuse")
    #expect(state.reply() == ["last", "leave"])

    state = State()
    _ = (state.read(.head(1, .length(0))), state.read(.end))
    #expect(state.read(.garbage).name == "none")
    #expect(state.reply() == ["none", "refuse"])

    state = State()
    _ = (state.read(.head(1, .length(5))), state.read(.body(ByteBuffer(string: "a"))))
    #expect(state.read(.garbage).name == "broken 1 a")

    state = State()
    _ = (state.read(.head(1, .length(5))), state.readEnded())
    #expect(state.inputEnded().name == "break")
    #expect(state.reply() == ["last", "close"])
  }

  @Test func `Reading stops while too much waits for a reply`() {
    var state = State()
    for number in 0..<20 { _ = (state.read(.head(number, .length(0))), state.read(.end)) }
    #expect(!state.hasRoom)
    for _ in 0..<5 { _ = state.reply() }
    #expect(state.hasRoom)
  }

  /// Whatever arrives in whatever pieces: requests are handed over in order, one at a time, with the bytes that were sent;
  /// nothing is handed over after the last reply; and all are answered if nobody wants to end.
  @Test(arguments: 0..<300)
  func `No order of events loses, doubles or mixes up a request`(seed: Int) {
    var dice = SeededGenerator(seed: UInt64(seed))
    var run = ConnectionRun(mayEnd: seed.isMultiple(of: 2), &dice)
    for _ in 0..<400 { run.step(&dice) }
    run.finish()
    #expect(run.faults == [])
    if !run.ended { #expect(run.answered == run.sent) }
  }
}

/// A client and a server at either end of a `HTTP1ConnectionState`, taking turns by chance.
private struct ConnectionRun {
  private var state = HTTP1ConnectionState<Int>()
  private let mayEnd: Bool
  private var script: [HTTP1ConnectionState<Int>.Part] = []
  private var bodies: [String] = []
  private var current: (number: Int, body: String, isWhole: Bool)?
  private(set) var answered = 0
  private(set) var ended = false
  private var isOver = false
  private(set) var faults: [String] = []
  private let requests = 12

  var sent: Int { requests }

  init(mayEnd: Bool, _ dice: inout SeededGenerator) {
    self.mayEnd = mayEnd
    for number in 0..<requests {
      let pieces = (0..<Int.random(in: 0...3, using: &dice)).map { "\(number).\($0);" }
      let length = pieces.reduce(0) { $0 + $1.utf8.count }
      script.append(.head(number, .length(length)))
      script += pieces.map { .body(ByteBuffer(string: $0)) } + [.end]
      bodies.append(pieces.joined())
    }
    script.reverse()
  }

  mutating func step(_ dice: inout SeededGenerator) {
    switch Int.random(in: 0..<(mayEnd ? 62 : 60), using: &dice) {
    case 0..<30: arrive()
    case 30..<40: perform(state.readEnded())
    case 40..<60: reply()
    case 60:
      ended = true
      perform(state.quiesce())
    default:
      ended = true
      script = []
      perform(Bool.random(using: &dice) ? state.read(.garbage) : state.inputEnded())
    }
  }

  mutating func finish() {
    for _ in 0..<100 {
      while !script.isEmpty { arrive() }
      perform(state.readEnded())
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
    while let action = state.goOn() { perform(action) }
  }

  private mutating func perform(_ action: HTTP1ConnectionState<Int>.Action) {
    switch action {
    case .none: break
    case .answer(let number, let body): begin(number, body, isWhole: true)
    case .answerStream(let number, let body), .answerBroken(let number, let body): begin(number, body, isWhole: false)
    case .feed(let bytes):
      if current == nil { faults.append("a body for nobody") }
      current?.body += String(buffer: bytes)
    case .endBody: current?.isWhole = true
    case .breakBody: break
    case .refuse:
      _ = state.replyBegins()
      perform(state.replyEnded())
    case .leave, .close: isOver = true
    }
  }

  private mutating func begin(_ number: Int, _ body: ByteBuffer, isWhole: Bool) {
    if isOver { faults.append("\(number) came after the end") }
    if current != nil { faults.append("\(number) came before the reply to the one before") }
    if number != answered { faults.append("\(number) came in place of \(answered)") }
    current = (number, String(buffer: body), isWhole)
  }
}

extension HTTP1ConnectionState<Int> {
  /// Writes a reply; gives the names of all that follows from it, after `last` if it says that no other will come.
  fileprivate mutating func reply() -> [String] {
    var names = replyBegins() == .lastOfAll ? ["last"] : []
    names.append(replyEnded().name)
    while let action = goOn() { names.append(action.name) }
    return names
  }
}

extension HTTP1ConnectionState<Int>.Action {
  fileprivate var name: String {
    switch self {
    case .none: "none"
    case .answer(let number, let body): "answer \(number) \(String(buffer: body))"
    case .answerStream(let number, let body): "stream \(number) \(String(buffer: body))"
    case .answerBroken(let number, let body): "broken \(number) \(String(buffer: body))"
    case .feed(let bytes): "feed \(String(buffer: bytes))"
    case .endBody: "end"
    case .breakBody: "break"
    case .refuse: "refuse"
    case .close: "close"
    case .leave: "leave"
    }
  }
}

extension RequestFraming {
  fileprivate static func length(_ bytes: Int) -> RequestFraming { RequestFraming(bodyBytes: bytes, keepsAlive: true) }
  fileprivate static let unknown = RequestFraming(bodyBytes: nil, keepsAlive: true)
}
