import NIOCore
import Testing

@testable import Providers

@Suite struct AddressAnswerTests {
  private static func capacity(_ answers: AddressAnswers, for count: Int, at now: NIODeadline) -> Int {
    var answers = answers
    return answers.capacity(for: count, at: now)
  }

  private static func isSilent(_ answers: AddressAnswers, at now: NIODeadline) -> Bool {
    var answers = answers
    return answers.isSilent(at: now)
  }

  private static func at(_ milliseconds: Int64) -> NIODeadline { .uptimeNanoseconds(1) + .milliseconds(milliseconds) }

  @Test func `An address is silent while too many requests have had no answer for too long`() {
    var answers = AddressAnswers(limit: 4, isUntrusted: false)
    #expect(Self.capacity(answers, for: 100, at: Self.at(0)) == 100)
    let first = answers.begin(3, at: Self.at(0))
    let second = answers.begin(3, at: Self.at(500))
    #expect(!Self.isSilent(answers, at: Self.at(1249)) && Self.capacity(answers, for: 7, at: Self.at(1249)) == 7)
    #expect(Self.isSilent(answers, at: Self.at(1250)) && Self.capacity(answers, for: 7, at: Self.at(1250)) == 0)
    answers.end(3, of: second, isAnswered: true, at: Self.at(1600))
    #expect(!Self.isSilent(answers, at: Self.at(1600)))
    answers.end(2, of: first, isAnswered: nil, at: Self.at(1700))
    #expect(!answers.isIdle)
    answers.end(1, of: first, isAnswered: true, at: Self.at(1800))
    #expect(answers.isForgettable && Self.capacity(answers, for: 7, at: Self.at(1800)) == 7)
  }

  @Test func `A stranger has as many as make it silent, until it answers`() {
    var answers = AddressAnswers(limit: 4, isUntrusted: true)
    #expect(Self.capacity(answers, for: 100, at: Self.at(0)) == 4)
    let first = answers.begin(3, at: Self.at(0))
    #expect(Self.capacity(answers, for: 100, at: Self.at(0)) == 1)
    answers.end(1, of: first, isAnswered: true, at: Self.at(10))
    #expect(Self.capacity(answers, for: 100, at: Self.at(10)) == 100)
  }

  @Test func `A silent address is tried by one request after 1, 2, 4, up to 30 seconds, until it answers`() {
    var answers = AddressAnswers(limit: 4, isUntrusted: true)
    var now = Int64(0)
    let all = answers.begin(4, at: Self.at(now))
    now = 10_000
    answers.end(4, of: all, isAnswered: false, at: Self.at(now))
    for seconds in [1, 2, 4, 8, 16, 30, 30] as [Int64] {
      #expect(Self.isSilent(answers, at: Self.at(now + 999 * seconds)))
      #expect(Self.capacity(answers, for: 9, at: Self.at(now + 999 * seconds)) == 0)
      now += 1000 * seconds
      #expect(Self.capacity(answers, for: 9, at: Self.at(now)) == 1)
      let one = answers.begin(1, at: Self.at(now))
      #expect(Self.capacity(answers, for: 9, at: Self.at(now)) == 0)
      now += 10_000
      answers.end(1, of: one, isAnswered: false, at: Self.at(now))
      #expect(answers.isIdle && !answers.isForgettable)
    }
    now += 30_000
    let last = answers.begin(1, at: Self.at(now))
    answers.end(1, of: last, isAnswered: true, at: Self.at(now))
    #expect(answers.isForgettable && Self.capacity(answers, for: 9, at: Self.at(now)) == 9)
  }

  @Test func `Whatever begins and ends, nothing is in flight once all have ended`() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      var answers = AddressAnswers(limit: 8, isUntrusted: Bool.random(using: &random))
      var open: [(ticket: Int, count: Int)] = []
      var now = Int64(0)
      for _ in 0..<200 {
        now += Int64.random(in: 0...400, using: &random)
        let room = answers.capacity(for: Int.random(in: 1...20, using: &random), at: Self.at(now))
        if room > 0 { open.append((answers.begin(room, at: Self.at(now)), room)) }
        if let place = open.indices.randomElement(using: &random) {
          let ended = Int.random(in: 1...open[place].count, using: &random)
          answers.end(ended, of: open[place].ticket, isAnswered: [true, false, nil].randomElement()!, at: Self.at(now))
          open[place].count -= ended
          if open[place].count == 0 { open.remove(at: place) }
        }
      }
      for (ticket, count) in open { answers.end(count, of: ticket, isAnswered: true, at: Self.at(now)) }
      #expect(answers.isIdle)
    }
  }
}
