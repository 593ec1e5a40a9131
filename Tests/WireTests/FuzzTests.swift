import FuzzProperties
import Support
import Testing

/// A moment of what `make fuzz` does for minutes, with the same bytes at every run.
@Suite struct FuzzTests {
  @Test(arguments: [(FuzzedReader.json, 3), (.xml, 2), (.form, 3), (.multipart, 2), (.sms, 5)])
  func `Whatever bytes come, a reader reads or refuses them as it promises`(
    _ reader: FuzzedReader, _ outcomes: Int
  ) throws {
    var generator = SeededGenerator(seed: 30)
    var counts: [String: Int] = [:]
    let damaged = (0..<1500).map { _ in
      generator.tamper(reader.samples.randomElement(using: &generator) ?? [], with: reader.samples)
    }
    for bytes in reader.samples + damaged {
      do {
        counts[try reader.check(bytes), default: 0] += 1
      } catch {
        Issue.record("\(error): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
      }
    }
    // Each outcome has happened often.
    #expect(counts.count == outcomes && counts.values.allSatisfy { $0 > 10 }, "\(counts)")
  }
}
